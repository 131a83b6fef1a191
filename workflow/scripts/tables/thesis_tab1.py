"""thesis Tab 1 (ewfa Tab 1): edit distance of 10M pairs, 150/300/1000 nt at 2/5/10 % error."""

from workflow.scripts import table_floor
from workflow.scripts.table import PACKED, Column, Layout, Row, with_unlisted_tools
from workflow.scripts.table_cli import command
from workflow.scripts.tools import TOOL_NAMES

PAIRS = 10_000_000
FAST, PAPER, FROM_PACKED = "wavebench-edit:fast", "wavebench-edit:paper", f"wavebench-edit:fast{PACKED}"
PACKED_LABEL = "wavebench, fast design (GPU), from input packed to 2 bits beforehand: another quantity"
BLOCKS = {
    "Distance only, CPU (not in the paper)": ("CPU", ("score",)),
    "Distance only, GPU": ("GPU", ("score",)),
    "Full alignment, CPU": ("CPU", ("cigar",)),
    "Full alignment, GPU": ("GPU", ("cigar",)),
}
DISTANCE_GPU, ALIGNMENT_CPU, ALIGNMENT_GPU = list(BLOCKS)[1:]
#: Tools without an adapter of their own carry the id under which an external program can be configured.
ROWS = (
    Row(DISTANCE_GPU, "NVBio DP", "NVBio-DP (distance only, GPU)", "GPU", "score", "nvbio:dp"),
    Row(DISTANCE_GPU, "NVBio BPM", "NVBio-BPM (distance only, GPU)", "GPU", "score", "nvbio:bpm"),
    Row(DISTANCE_GPU, "eWFA-GPU", "eWFA-GPU (distance only, GPU)", "GPU", "score", "ewfa-gpu"),
    Row(DISTANCE_GPU, TOOL_NAMES[PAPER], "", "GPU", "score", PAPER),
    Row(DISTANCE_GPU, TOOL_NAMES[FAST], "", "GPU", "score", FAST),
    Row(DISTANCE_GPU, PACKED_LABEL, "", "GPU", "score", FROM_PACKED),
    table_floor.row(DISTANCE_GPU, "score"),
    Row(ALIGNMENT_CPU, "Edlib", "Edlib (full alignment, CPU)", "CPU", "cigar", "edlib"),
    Row(ALIGNMENT_CPU, "O(ND)", "O(ND) (full alignment, CPU)", "CPU", "cigar", "wavebench-ond:cpu"),
    Row(ALIGNMENT_CPU, "BPM", "BPM (full alignment, CPU)", "CPU", "cigar", "wavebench-bpm:cpu"),
    Row(ALIGNMENT_CPU, "eWFA", "eWFA (full alignment, CPU)", "CPU", "cigar", "wavebench-wfa:cpu"),
    Row(ALIGNMENT_GPU, "GASAL2", "GASAL2 (full alignment, GPU)", "GPU", "cigar", "gasal2"),
    Row(ALIGNMENT_GPU, "wmCudaTile", "wmCudaTile (full alignment, GPU)", "GPU", "cigar", "wmcudatile"),
    Row(ALIGNMENT_GPU, "eWFA-GPU", "eWFA-GPU (full alignment, GPU)", "GPU", "cigar", "ewfa-gpu"),
    Row(ALIGNMENT_GPU, TOOL_NAMES[PAPER], "", "GPU", "cigar", PAPER),
    Row(ALIGNMENT_GPU, TOOL_NAMES[FAST], "", "GPU", "cigar", FAST),
    Row(ALIGNMENT_GPU, PACKED_LABEL, "", "GPU", "cigar", FROM_PACKED),
    table_floor.row(ALIGNMENT_GPU, "cigar"),
)
COLUMNS = tuple(
    Column(f"{length} nt", f"e = {percent} %", f"{length} nt e={percent}%", f"uniform_{length}_e{percent}", PAIRS,
           length_bp=length, error=percent / 100)
    for length in (150, 300, 1000)
    for percent in (2, 5, 10)
)  # fmt: skip


def make_layout(experiment, real_data, measurements):
    return Layout(
        id="thesis_tab1",
        title="thesis Tab 1 (ewfa Tab 1): edit distance, simulated reads",
        caption="Time of 10M pairs of 150, 300 and 1000 nt at 2, 5 and 10 % nominal error, transfers included on a "
        "GPU. Data: uniform random pairs, simulated. GASAL2 computes gap-affine with penalties set to edit distance. A "
        "time from input that was packed to 2 bits beforehand leaves out packing and copies a quarter of the bytes: no "
        "other row's time is to be compared with it. pack_pairs() has put down the lengths and places of the pairs "
        "beforehand, too. Its own floor is the longer of the way in (2 bits a letter, and the lengths) and the way out "
        "(4 bytes for each run of a CIGAR, 4 for where it ends and 4 for the score) at the measured bandwidths; its "
        "kernels are those of the row above, whose rate tells of both. The original eWFA-GPU was measured elsewhere, "
        "with CIGARs only.",
        rows=with_unlisted_tools(ROWS, experiment, BLOCKS),
        columns=COLUMNS,
        metric="edit",
        penalties="",
        paper="thesis",
        paper_host={"CPU": "IBM Power9, 20 cores of 4 threads", "GPU": "NVIDIA V100 16 GB, NVLink"},
        paper_threads=80,
        kernel_rates=True,
    )


main = command(make_layout)
if __name__ == "__main__":
    main()
