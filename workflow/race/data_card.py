"""What a data set is, in some numbers: they stay with a race of it, where the pairs themselves do not."""

import json


def data_card(pairs):
    """JSON-able dict of a PairBatch that holds pairs: its model and source, how many they are, cells of their matrices,
    lengths, and what its file says was realised in it (errors; of mapped reads what became of them; of a whole file,
    not of its first pairs).
    """
    note = pairs.metadata
    card = {"model": note.get("model", ""), "source": note.get("source", ""), "pairs": len(pairs)}
    card["cells"] = float(pairs.cells)
    for name, lengths in (("text", pairs.text_lengths), ("pattern", pairs.pattern_lengths)):
        card |= {f"{name}_min_bp": int(lengths.min()), f"{name}_mean_bp": float(lengths.mean())}
        card[f"{name}_max_bp"] = int(lengths.max())
    return card | {"realised": json.loads(note.get("realised") or "{}")}
