"""Made-up pairs for the tests of the race."""

import numpy as np

from wfa_kernels import PairBatch


def random_pairs(n, length, seed=1):
    """n pairs of about the given length with a few edits."""
    rng = np.random.default_rng(seed)
    patterns, texts = [], []
    for _ in range(n):
        pattern = rng.choice(list(b"ACGT"), length).astype(np.uint8)
        text = pattern.copy()
        text[rng.integers(0, length, 3)] = ord("A")
        patterns.append(pattern.tobytes())
        texts.append(np.delete(text, rng.integers(0, length)).tobytes())
    return PairBatch.from_strings(patterns, texts, {"model": "uniform", "length_bp": str(length), "error": "0.05"})
