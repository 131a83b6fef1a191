"""CIGARs: what is no CIGAR, and runs that are longer than one element holds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import naive
from tests.synthetic_pairs import random_pairs
from wfa_kernels import CigarError, pack_strings
from wfa_kernels.cigar import MATCH, MAX_RUN, MISMATCH

ROOT = Path(__file__).resolve().parents[1]
#: Of the program below.
RUN = 3


@pytest.mark.parametrize(
    "bad", ["3=2X\n", "\n", "0=", "3", "=", "3M", f"{MAX_RUN + 1}=", f"{'9' * 5000}=", "3=-2X", "*3=", "3=*"]
)
def test_what_is_no_cigar_is_named(bad):
    for cigars in ([bad], ["2=", bad, "1X"], [bad] * 1000):
        with pytest.raises(CigarError, match="not a CIGAR of runs") as told:
            pack_strings(cigars)
        assert repr(bad[:60]) in str(told.value)


def test_what_no_letters_can_be_made_of_is_no_cigar():
    with pytest.raises(CigarError, match=r"not a CIGAR of runs of .*'3=\?'"):
        pack_strings(["3=\udc80"])


def test_cigars_are_packed_one_behind_the_other():
    packed, offsets = pack_strings(["2=1X", "*", b"", b"10="])
    assert packed.tolist() == [2 << 4 | MATCH, 1 << 4 | MISMATCH, 10 << 4 | MATCH] and offsets.tolist() == [
        0,
        2,
        2,
        2,
        3,
    ]
    packed, offsets = pack_strings([])
    assert packed.tolist() == [] and offsets.tolist() == [0]


@pytest.mark.slow
def test_runs_that_one_element_does_not_hold_are_split(tmp_path):
    """Of 2**28 letters or more; here of more than 3, and Numba looks at every index."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_cigar"], env=environment, cwd=ROOT, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    for penalties, algorithm, cigars in json.loads(done.stdout):
        triple = penalties or (1, 0, 1)
        for (pattern, text), runs in zip(pairs(), cigars, strict=True):
            expected = naive.affine_score(pattern, text, *triple)
            assert max([length for length, _ in runs], default=0) <= RUN, (algorithm, penalties)
            assert naive.check_cigar(pattern, text, merged(runs), triple) == expected, (algorithm, penalties)


def pairs():
    long, some = b"ACGT" * 10, random_pairs(12, 30)
    return [
        *zip(some.patterns(), some.texts(), strict=True), (long, long), (long, long[:20] + long[19:]), (long, b""),
        (b"", long), (long, b"T" + long), (b"", b""), (long, long[:9] + b"T" * 17 + long[9:]),
    ]  # fmt: skip


def merged(runs):
    """The CIGAR of runs [(length, operation)], those of one operation brought together."""
    found = []
    for length, operation in runs:
        if found and found[-1][1] == operation:
            found[-1][0] += length
        else:
            found.append([length, operation])
    return "".join(f"{length}{operation}" for length, operation in found)


def main():
    """Print [penalties, algorithm, runs of each pair] of every kernel on the CPU, with short runs."""
    from wfa_kernels import cigar

    cigar.MAX_RUN = RUN
    from wfa_kernels import Affine, Edit, PairBatch, align

    batch, found = PairBatch.from_strings(*zip(*pairs(), strict=True)), []
    for penalties, algorithms in ((None, ("wfa", "ond", "bpm", "bits", "auto")), ((4, 6, 2), ("wfa", "bits", "auto"))):
        for algorithm in algorithms:
            objective = Affine(*penalties) if penalties else Edit()
            result = align(batch, objective, scope="cigar", device="cpu", algorithm=algorithm, threads=1)
            letters = {1: "I", 2: "D", 7: "=", 8: "X"}
            runs = [
                [(int(e) >> 4, letters[int(e) & 15]) for e in part]
                for part in np.split(result.cigars, result.cigar_offsets[1:-1])
            ]
            found.append([penalties, algorithm, runs])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
