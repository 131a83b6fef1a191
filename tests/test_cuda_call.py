"""align(device="cuda") as users call it, in Numba's simulator, the CPU behind it: this module run as a program."""

import json
import sys

import pytest

from tests import cuda_simulator, naive

#: What no kernel of the GPU has a code for: N, lower case, other bytes, in the pattern, in the text and in both.
STRANGE = [
    (b"ACGT" * 8 + b"N", b"ACGT" * 8 + b"A"), (b"acgt", b"ACGT"), (b"GATTACA", b"GAnTACA"), (b"NNNN", b"NNAN"),
    (b"AC-GT\x00", b"ACGT\xff"),
]  # fmt: skip
PAIRS = [(b"GATTACA", b"GAATA"), *STRANGE[:2], (b"", b"AC"), *STRANGE[2:], (b"A" * 40, b"C" * 40), (b"", b"")]
#: The last one needs memory for checkpoints, which batches have more or less of.
PLAIN = [(b"GATTACA", b"GAATA"), (b"ACGT" * 10, b"ACGA" * 10), (b"GATTACA" * 90, b"GATTACA" * 89 + b"GAATA")]


@pytest.mark.parametrize(
    ("design", "penalties"),
    [("fast", None)] + [pytest.param(*more, marks=pytest.mark.slow) for more in (
        ("paper", None), ("fast", (2, 3, 1)), ("paper", (2, 3, 1)),
    )],
)  # fmt: skip
def test_letters_without_a_code_are_aligned_by_the_cpu_and_come_back_in_their_places(design, penalties):
    for answer in cuda_simulator.answer_of(__file__, "letters", design, json.dumps(penalties)):
        check(PAIRS, answer, penalties)
        assert answer["rescued"] == len(STRANGE)


def test_a_pair_over_the_memory_limit_is_told_by_its_status():
    [answer] = cuda_simulator.answer_of(__file__, "limit", "fast", "null")
    beyond = [i for i, status in enumerate(answer["status"]) if status]
    assert answer["refused"] == {"out_of_memory": len(beyond)} and beyond
    assert all(PAIRS[i] in STRANGE and answer["cigars"][i] == "*" for i in beyond), "the CPU's alone are limited"


def test_memory_that_the_driver_refuses_makes_batches_smaller_and_in_the_end_the_cpu_does_all():
    """Another process may have taken what was free a moment ago."""
    enough, half, none = cuda_simulator.answer_of(__file__, "memory", "fast", "null")
    for answer in enough, half, none:
        check(PLAIN, answer)
    assert (enough["refusals"], enough["rescued"]) == (0, 0)
    assert half["refusals"] > 0 and half["rescued"] == 0 and 0 < half["held"] < enough["held"] / 2
    assert none["refusals"] > 0 and none["rescued"] == len(PLAIN) and none["held"] == 0


@pytest.mark.slow
def test_a_call_that_is_interrupted_leaves_nothing_to_the_next_one():
    """Its thread packs letters still: it is waited for, and the next call's buffers are not those that it writes to."""
    interrupted, kept, scores = cuda_simulator.answer_of(__file__, "interrupt", "fast", "null")
    assert (interrupted, kept, scores) == (True, 0, [0])


def check(pairs, answer, penalties=None):
    assert not any(answer["status"])
    for i, (pattern, text) in enumerate(pairs):
        expected = naive.affine_score(pattern, text, *penalties) if penalties else naive.edit_distance(pattern, text)
        assert answer["scores"][i] == expected, (pattern, text)
        if answer["cigars"]:
            assert naive.check_cigar(pattern, text, answer["cigars"][i], penalties or (1, 0, 1)) == expected


def main(kind, design, penalties):
    """Print what calls of a kind answer."""
    from wfa_kernels import Affine, Edit, PairBatch, align, pack_pairs

    cuda_simulator.refuse_what_a_gpu_refuses()
    objective = Affine(*penalties) if penalties else Edit()

    def call(pairs, scope="cigar", **limits):
        result = align(pairs, objective, scope=scope, device="cuda", design=design, **limits)
        cigars = result.cigar_strings() if scope == "cigar" else None
        return {
            "scores": result.scores.tolist(), "status": result.status.tolist(), "rescued": result.rescued,
            "refused": result.refused(), "cigars": cigars,
        }  # fmt: skip

    if kind == "interrupt":
        print(json.dumps(interrupted()))
        return
    pairs = PairBatch.from_strings(*zip(*(PLAIN if kind == "memory" else PAIRS), strict=True))
    if kind == "letters":
        answers = [call(given, scope) for given in (pairs, pack_pairs(pairs)) for scope in ("score", "cigar")]
    elif kind == "limit":
        answers = [call(pairs, memory_limit=1)]
    else:
        answers = under_refusals(lambda: call(pairs))
    print(json.dumps(answers))


def interrupted():
    """(whether a first call was interrupted when its threads were done, streams that are kept then, scores of the next
    one).

    A thread of the first one packs its pattern when the next one has packed its own, or after a second.
    """
    import threading

    from wfa_kernels import Edit, PairBatch, align
    from wfa_kernels.cuda import host_packing, kept_streams
    from wfa_kernels.cuda.source import Source

    pack, settle, begun, packed, done = host_packing.pack, Source.settle, *(threading.Event() for _ in range(3))
    first = b"ACGA" * 15 + b"TTGA"

    def pack_late(letters, planes, odd, marked):
        late = bytes(letters) == first
        if late:
            begun.set()
            packed.wait(1)
        answer = pack(letters, planes, odd, marked)
        if late:
            done.set()
        return answer

    def interrupt(source, due):
        begun.wait(60)
        raise KeyboardInterrupt

    def wait_for_both(source, due):
        left = settle(source, due)
        packed.set()
        done.wait(60)
        return left

    host_packing.pack, Source.settle, was_interrupted = pack_late, interrupt, False
    try:
        align(PairBatch.from_strings([first], [b"G" * 64]), Edit(), device="cuda")
    except KeyboardInterrupt:
        was_interrupted = done.is_set()
    kept, Source.settle = len(kept_streams.streams), wait_for_both
    scores = align(PairBatch.from_strings([b"ACGA" * 16], [b"ACGA" * 16]), Edit(), device="cuda").scores
    return was_interrupted, kept, scores.tolist()


def under_refusals(call):
    """What a call answers where the driver gives all, half of what that took, and 1000 bytes."""
    from math import prod

    import numpy as np

    from wfa_kernels import release_gpu_memory
    from wfa_kernels.cuda import device, memory

    given, most, refusals, answers = memory.cuda.device_array, float("inf"), 0, []

    def device_array(shape, dtype):
        nonlocal refusals
        size = prod(shape if type(shape) is tuple else (shape,)) * np.dtype(dtype).itemsize
        if memory.held_bytes("device") + size > most:
            refusals += 1
            raise RuntimeError("[CUresult.CUDA_ERROR_OUT_OF_MEMORY] Call to cuMemAlloc results in ...")
        return given(shape, dtype)

    memory.cuda.device_array = device_array
    device.free_bytes = lambda: 256 << 20
    for share in (None, 0.5, 0):
        if share is not None:
            most = share * answers[0]["held"] or 1000
        refusals = 0
        answer = call()
        answers.append({**answer, "held": memory.held_bytes("device"), "refusals": refusals})
        release_gpu_memory()
    return answers


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
