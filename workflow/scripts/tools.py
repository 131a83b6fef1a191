"""Names of the tools in tables, figures and the report."""

#: By tool id.
TOOL_NAMES = {
    "edlib": "Edlib",
    "rapidfuzz": "RapidFuzz",
    "rapidfuzz:pool": "RapidFuzz (own thread pool)",
    "parasail:striped": "Parasail (striped)",
    "parasail:scan": "Parasail (scan)",
    "parasail:diag": "Parasail (diag)",
    "wfa2-lib:unidirectional": "WFA2-lib",
    "wfa2-lib:biwfa": "WFA2-lib (BiWFA)",
    "edlib-native": "Edlib, native",
    "ksw2": "KSW2",
    "parasail-native:striped": "Parasail, native (striped)",
    "parasail-native:scan": "Parasail, native (scan)",
    "parasail-native:diag": "Parasail, native (diag)",
    "seqan": "SeqAn",
    "wfa2-lib-native:unidirectional": "WFA2-lib, native",
    "wfa2-lib-native:biwfa": "WFA2-lib, native (BiWFA)",
    "wavebench-auto:cpu": "wavebench (CPU)",
    "wavebench-wfa:cpu": "wavebench WFA (CPU)",
    "wavebench-wfa:pool": "wavebench WFA (CPU, own thread pool)",
    "wavebench-wfa:band": "wavebench WFA, static band of 32 (CPU, heuristic)",
    "wavebench-wfa:reduction": "wavebench WFA, wavefront reduction 10, 50 (CPU, heuristic)",
    "wavebench-bits:cpu": "wavebench bit planes (CPU)",
    "wavebench-bpm:cpu": "wavebench BPM (CPU)",
    "wavebench-ond:cpu": "wavebench O(ND) (CPU)",
    "wavebench-affine:fast": "wavebench, fast design (GPU)",
    "wavebench-affine:paper": "wavebench, WFA-GPU's design (GPU)",
    "wavebench-affine:paper-band": "wavebench, WFA-GPU's design, static band of 32 (GPU, heuristic)",
    "wavebench-affine:paper-reduction": "wavebench, WFA-GPU's design, wavefront reduction 10, 50 (GPU, heuristic)",
    "wavebench-edit:fast": "wavebench, fast design (GPU)",
    "wavebench-edit:paper": "wavebench, eWFA-GPU's design (GPU)",
}


def tool_id(record):
    """``tool`` or ``tool:variant`` of a measurement."""
    return f"{record['tool']}:{record['variant']}" if record["variant"] else record["tool"]
