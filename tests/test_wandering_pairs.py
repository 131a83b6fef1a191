"""Every exact kernel on pairs whose best path goes far aside (wandering_pairs)."""

import numpy as np
import pytest

from tests import gpu_cells, naive, wandering_pairs
from wfa_kernels import Affine, Edit, align
from wfa_kernels.cuda import device

COSTS = [
    *((Edit(), algorithm) for algorithm in ("auto", "wfa", "bits", "bpm", "ond")),
    *((Affine(*triple), algorithm) for triple in ((2, 3, 1), (5, 4, 2)) for algorithm in ("auto", "wfa", "bits")),
]


@pytest.mark.parametrize(
    ("count", "seed"), [(400, 1), pytest.param(8000, 2, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize(("penalties", "algorithm"), COSTS)
def test_scores_and_cigars_are_right(penalties, algorithm, count, seed):
    pairs = wandering_pairs.batch(count, seed)
    expected = [naive.affine_score(*pairs.pair(row), *penalties.triple) for row in range(count)]
    for scope in ("score", "cigar"):
        found = align(pairs, penalties, scope, device="cpu", algorithm=algorithm)
        np.testing.assert_array_equal(found.scores, expected)
    costs = gpu_cells.costs_of(pairs, found.cigars, found.cigar_offsets, penalties.triple)
    np.testing.assert_array_equal(costs, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("design", ["fast", "paper"])
@pytest.mark.parametrize("penalties", [Edit(), Affine(2, 3, 1), Affine(4, 6, 2), Affine(5, 4, 2)], ids=str)
def test_a_gpu_gives_the_cpus_answers(penalties, design):
    """Many at once, which begin with bands, and few, which begin with strips; each time by what the last ones told."""
    assert device.available() and not device.simulated(), device.describe()
    for count, seed in ((20_000, 3), (200, 4), (20_000, 3)):
        gpu_cells.check(wandering_pairs.batch(count, seed), penalties, ("pageable",), design)
