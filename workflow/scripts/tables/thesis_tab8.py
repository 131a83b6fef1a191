"""thesis Tab 8: gap-affine, simulated: 100M x 150, 10M x 1K, 100K x 10K at 2/5/10 % error, time and recall."""

from workflow.scripts import affine_tables
from workflow.scripts.table import Column
from workflow.scripts.table_cli import command

SIZES = ((150, "100M x 150bp", 100_000_000), (1000, "10M x 1Kbp", 10_000_000), (10_000, "100K x 10Kbp", 100_000))
COLUMNS = tuple(
    Column(printed, f"e = {percent} %", f"{printed} e={percent}%", f"uniform_{length}_e{percent}", pairs,
           length_bp=length, error=percent / 100)
    for length, printed, pairs in SIZES
    for percent in (2, 5, 10)
)  # fmt: skip


def make_layout(experiment, real_data, measurements):
    return affine_tables.layout(
        experiment,
        id="thesis_tab8",
        title="thesis Tab 8: gap-affine alignment, simulated reads",
        caption="Time and recall R (share of pairs whose CIGAR, re-scored under the affine penalties, is optimal; of "
        "distances, whose score is) at 2, 5 and 10 % nominal error. Data: uniform random pairs, simulated. Penalties "
        f"here: mismatch, gap open, gap extend = {', '.join(map(str, experiment['penalties']))}; the thesis does not "
        "print its own. Edlib and CudaAligner optimise edit distance.",
        columns=COLUMNS,
    )


main = command(make_layout)
if __name__ == "__main__":
    main()
