"""Shared memory of a block of the papers' kernels of edit distance: it grows with their errors as in the thesis."""

import re

import pytest

from tests.test_cuda_compile import ROOT, assembled
from wfa_kernels.cuda.edit_wfa import LIMITS, packed_bytes, static_shared_bytes
from workflow.scripts import papers

#: Tables that tell it, in the order of the kernels, and letters of their pairs.
TABLES = {"thesis_tab4": 1000, "thesis_tab5": 150}


def printed(table):
    """KiB of a block of each kernel."""
    found = papers.read(ROOT / "config" / "papers" / f"{table}.csv")
    rows = [values for (row, _), values in found.items() if row == "Shared memory per block"]
    return [value.number for values in rows for value in values.values()]


@pytest.mark.parametrize("table", TABLES)
def test_a_block_grows_by_the_factors_of_the_papers_tables(table):
    """The papers' program lays its memory out in its own way: from one kernel to the next it is not far from ours."""
    ours = [(static_shared_bytes(limit, True) + packed_bytes(TABLES[table])) / 1024 for limit in LIMITS]
    theirs = printed(table)
    assert ours == sorted(set(ours)) and theirs == sorted(set(theirs)) and len(theirs) == len(ours)
    factors = [[larger / smaller for smaller, larger in zip(kib, kib[1:], strict=False)] for kib in (ours, theirs)]
    assert factors[0] == pytest.approx(factors[1], rel=0.04)
    assert all(own < 1.1 * paper for own, paper in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(
    "name",
    [
        "E128_True",
        *(pytest.param(f"E{limit}_True", marks=pytest.mark.slow) for limit in LIMITS[:-1]),
        *(pytest.param(f"E{limit}_False", marks=pytest.mark.slow) for limit in LIMITS),
    ],
)
def test_kernels_take_what_their_design_counts_on(name, tmp_path):
    """By the assembler; the design adds a little, since parts are laid out at multiples of 8 or 16 bytes."""
    limit, traced = int(name[1:].partition("_")[0]), name.endswith("True")
    compiled = int(re.search(r"(\d+) bytes smem", assembled(name, (9, 0), tmp_path)).group(1))
    counted = static_shared_bytes(limit, traced)
    assert counted - 24 <= compiled <= counted
