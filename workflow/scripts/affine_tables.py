"""What thesis Tab 8 and Tab 9 share: their rows, machine and penalties."""

from workflow.scripts.table import Layout, Row, with_unlisted_tools
from workflow.scripts.tools import TOOL_NAMES

PAPER_HOST = {"CPU": "Intel Xeon W-2155, 10 cores", "GPU": "NVIDIA GeForce RTX 3080 10 GB"}
PAPER_THREADS = 10
FAST, PAPER = "wavebench-affine:fast", "wavebench-affine:paper"
#: Ours on a GPU, heuristics last.
GPU_TOOLS = (FAST, PAPER, f"{PAPER}-band", f"{PAPER}-reduction")
#: Tools that the thesis lacks join the block of their scope.
BLOCKS = {
    "GPU": ("GPU", ("cigar", "score")),
    "CPU": ("CPU", ("cigar",)),
    "CPU, distance only (not in the thesis)": ("CPU", ("score",)),
}
#: Tools without an adapter of their own carry the id under which an external program can be configured.
ROWS = (
    Row("GPU", "GASAL2", "GASAL2 (GPU)", "GPU", "cigar", "gasal2"),
    Row("GPU", "ADEPT (local)", "ADEPT (GPU)", "GPU", "cigar", "adept"),
    Row("GPU", "NVBio", "NVBio (GPU)", "GPU", "cigar", "nvbio"),
    Row("GPU", "CudaAligner (edit distance)", "CudaAligner (GPU, edit distance only)", "GPU", "cigar", "cudaaligner"),
    Row("GPU", "WFA-GPU", "WFA-GPU (GPU)", "GPU", "cigar", "wfa-gpu"),
    *(Row("GPU", TOOL_NAMES[tool], "", "GPU", "cigar", tool) for tool in GPU_TOOLS),
    Row("GPU", "WFA-GPU (distance)", "WFA-GPU(distance) (GPU)", "GPU", "score", "wfa-gpu"),
    *(Row("GPU", f"{TOOL_NAMES[tool]} (distance)", "", "GPU", "score", tool) for tool in GPU_TOOLS),
    Row("CPU", "SeqAn", "Seqan (CPU)", "CPU", "cigar", "seqan"),
    Row("CPU", "Parasail (striped)", "Parasail(strip) (CPU)", "CPU", "cigar", "parasail:striped"),
    Row("CPU", "Parasail (scan)", "Parasail(scan) (CPU)", "CPU", "cigar", "parasail:scan"),
    Row("CPU", "Parasail (diag)", "Parasail(diag) (CPU)", "CPU", "cigar", "parasail:diag"),
    Row("CPU", "Edlib (edit distance)", "Edlib (CPU, edit distance only)", "CPU", "cigar", "edlib"),
    Row("CPU", "KSW2", "KSW2 (CPU)", "CPU", "cigar", "ksw2"),
    Row("CPU", "WFA (WFA2-lib)", "WFA (CPU)", "CPU", "cigar", "wfa2-lib-native:unidirectional"),
)


def layout(experiment, **own):
    """The Layout of one of the two tables. experiment: its YAML as a dict. own: id, title, caption and columns."""
    return Layout(
        rows=with_unlisted_tools(ROWS, experiment, BLOCKS),
        metric="affine",
        penalties=",".join(map(str, experiment["penalties"])),
        paper="thesis",
        paper_host=PAPER_HOST,
        paper_threads=PAPER_THREADS,
        recall="recall_affine",
        kernel_rates=True,
        **own,
    )
