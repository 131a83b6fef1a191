"""Letters copied to page-locked memory: which of them, and whose they are then."""

import numpy as np

from wfa_kernels import PairBatch
from wfa_kernels.cuda import pinned


def test_only_the_letters_of_the_pairs_are_copied(monkeypatch):
    sizes = []
    monkeypatch.setattr(pinned, "pinned_array", lambda count, dtype: sizes.append(count) or np.empty(count, dtype))
    whole = PairBatch.from_strings(["GATTACA", "ACGT", "T"], ["GAATA", "ACGGT", "C"])
    found = pinned.pin(whole[1:2])
    assert sizes == [4, 5]
    assert found.patterns() == whole[1:2].patterns() and found.texts() == whole[1:2].texts()
    assert not np.shares_memory(found.pattern, whole.pattern)
