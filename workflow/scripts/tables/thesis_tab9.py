"""thesis Tab 9: gap-affine alignment of reads of six technologies, time and recall; real data where configured."""

from workflow.scripts import affine_tables
from workflow.scripts.table_cli import command
from workflow.scripts.technologies import columns


def make_layout(experiment, real_data, measurements):
    return affine_tables.layout(
        experiment,
        id="thesis_tab9",
        title="thesis Tab 9: gap-affine alignment, reads of six technologies",
        caption="Time and recall R (share of pairs whose CIGAR, re-scored under the affine penalties, is optimal; of "
        "distances, whose score is), for the thesis' counts of pairs (100M, 100M, 10M, 10M, 10M, 10M; of Moleculo it "
        "prints 100M, which does not fit its times, 10M does), and for 10M of PacBio CLR, which it lacks. A column "
        "says whether our reads are real or simulated stand-ins with the technology's lengths and errors; the "
        "thesis' reads are real. Penalties here: mismatch, gap open, gap extend = "
        f"{', '.join(map(str, experiment['penalties']))}; the thesis does not print its own. The thesis' recall of "
        "Nanopore is lost in its text.",
        columns=columns(experiment, real_data, measurements),
    )


main = command(make_layout)
if __name__ == "__main__":
    main()
