"""thesis Tab 8: gap-affine, simulated: 100M x 150, 10M x 1K, 100K x 10K at 2/5/10 % error, time and recall."""

from workflow.scripts.affine_tables import BLOCKS, PAPER_HOST, PAPER_THREADS, ROWS
from workflow.scripts.table import Column, Layout, with_unlisted_tools
from workflow.scripts.table_cli import command

SIZES = ((150, "100M x 150bp", 100_000_000), (1000, "10M x 1Kbp", 10_000_000), (10_000, "100K x 10Kbp", 100_000))
COLUMNS = tuple(
    Column(printed, f"e = {percent} %", f"{printed} e={percent}%", f"uniform_{length}_e{percent}", pairs,
           length_bp=length, error=percent / 100)
    for length, printed, pairs in SIZES
    for percent in (2, 5, 10)
)  # fmt: skip


def make_layout(experiment, real_data, measurements):
    return Layout(
        id="thesis_tab8",
        title="thesis Tab 8: gap-affine alignment, simulated reads",
        caption="Time and recall R (share of pairs whose CIGAR, re-scored under the affine penalties, is optimal) at "
        "2, 5 and 10 % nominal error. Data: uniform random pairs, simulated. Penalties here: mismatch, gap open, gap "
        f"extend = {', '.join(map(str, experiment['penalties']))}; the thesis does not print its own. Edlib and "
        "CudaAligner optimise edit distance.",
        rows=with_unlisted_tools(ROWS, experiment, BLOCKS),
        columns=COLUMNS,
        metric="affine",
        penalties=",".join(map(str, experiment["penalties"])),
        paper="thesis",
        paper_host=PAPER_HOST,
        paper_threads=PAPER_THREADS,
        recall="recall_affine",
    )


main = command(make_layout)
if __name__ == "__main__":
    main()
