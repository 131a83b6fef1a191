"""Gap-affine strips compiled for the CPU, one thread a pair: thousands of times as fast as in the simulator.

With one thread of a pair the barriers do nothing, and all else is as on a GPU: the types, the circuits, what the
strips leave out, the way back. See typed_kernels for why the simulator alone is not enough. The kernels are compiled in
a process of their own.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
#: Pairs that wait for the next kernel, and those for the host: the levels there are here.
_NEXT, _LEVELS = 0, 2


def answers(pairs, penalties, limits, traced, bits=()):
    """[(scores, CIGARs or None)] of a PairBatch, one for each (reach, rate) of the limits; see align."""
    with TemporaryDirectory() as folder:
        _ask(pairs, folder, penalties=penalties, limits=limits, traced=traced, bits=bits)
        found = [np.load(f"{folder}/{number}.npz") for number in range(len(limits))]
        return [(each["scores"], (each["cigars"], each["offsets"]) if traced else None) for each in found]


def bounds(pairs, penalties):
    """[(of the pattern's blocks, of the text's)]: what affine_seeds tells of each pair, int32[blocks + 2]."""
    with TemporaryDirectory() as folder:
        told = json.loads(_ask(pairs, folder, penalties=penalties))
    return [tuple(np.array(side, np.int32) for side in pair) for pair in told]


def _ask(pairs, folder, **request):
    """What another process says of these pairs."""
    pairs.to_arrow(f"{folder}/pairs.arrow")
    request = json.dumps({**request, "folder": folder})
    command = [sys.executable, "-m", "tests.strips_on_the_cpu"]
    done = subprocess.run(command, input=request, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main():
    """Answer one request from stdin."""
    install()
    from wfa_kernels import PairBatch

    request = json.load(sys.stdin)
    folder, penalties = request["folder"], tuple(request["penalties"])
    pairs = PairBatch.from_arrow(f"{folder}/pairs.arrow")
    if "limits" not in request:
        print(json.dumps([[side.tolist() for side in pair] for pair in told_by_seeds(pairs, penalties)]))
        return
    for number, (reach, rate) in enumerate(request["limits"]):
        scores, cigars = align(pairs, penalties, reach, rate, request["traced"], tuple(request["bits"]))
        more = {"cigars": cigars[0], "offsets": cigars[1]} if cigars else {}
        np.savez(f"{folder}/{number}.npz", scores=scores, **more)


def install():
    """Make this process' wfa_kernels.cuda compile for the CPU; before its kernels are imported."""
    import numba

    from tests import typed_kernels

    typed_kernels.install_cuda_for_the_cpu()
    cuda = sys.modules["numba.cuda"]
    cuda.popc, cuda.brev, cuda.clz = (numba.njit(function) for function in (_ones, _reversed, _leading_zeros))
    cuda.syncthreads, cuda.syncthreads_or = numba.njit(_nothing), numba.njit(_same)
    cuda.shared, cuda.atomic = ModuleType("numba.cuda.shared"), ModuleType("numba.cuda.atomic")
    cuda.shared.array = numba.njit(_array)
    cuda.atomic.add, cuda.atomic.or_ = numba.njit(_add), numba.njit(_or)
    from wfa_kernels.cuda import device, instructions

    device.is_hopper = lambda: False
    instructions.make_circuit, instructions.make_funnel = _circuit, lambda: numba.njit(_funnel)
    instructions.make_shift = lambda: numba.njit(_shift)
    instructions.make_load, instructions.make_store = _load, _store
    from wfa_kernels.cuda import affine_seeds

    affine_seeds.THREADS = 1


def align(pairs, penalties, reach, rate, traced, bits=()):
    """(scores, CIGARs): one level of strips on a PairBatch of ACGT; NO_SCORE for the pairs it is not certain of.

    penalties: (mismatch, gap_open, gap_extend). reach, rate: see affine_strips, a rate of each pair or of all.
    CIGARs: None if not traced, else (uint32[...], int64[pairs + 1]) as in an AlignmentResult. bits: trace them in the
    Windows of these.
    """
    given = Given(pairs, penalties)
    reach, part = given.strips(reach, traced)
    windows = given.windows(reach, bits) if bits else None
    part = windows.words + 2 * given.bounds if windows else part
    given.run(penalties, reach, rate, traced, windows, np.full(part, 0xABABABAB, np.uint32))
    return given.scores, cigars_of(given.output) if traced else None


def cigars_of(output):
    """The runs that a batch's kernels left, see Given: (uint32[...], int64[pairs + 1])."""
    _, runs_at, counts, runs = output
    found = [runs[at : at + length] for at, length in zip(runs_at, counts, strict=True)]
    return np.concatenate(found), np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def told_by_seeds(pairs, penalties):
    """See bounds."""
    given, found = Given(pairs, penalties), []
    words = np.full(2 * given.bounds, 0xABABABAB, np.uint32)
    for i, lengths in enumerate(zip(pairs.pattern_lengths, pairs.text_lengths, strict=True)):
        given.tell(i, words)
        sides = words[::-1][: given.bounds], words[::-1][given.bounds :]
        found.append([side[: -(-length // 32) + 2].copy() for side, length in zip(sides, lengths, strict=True)])
    return found


class Given:
    """What the kernels are given of a batch: input, and output (scores, runs_at, counts, runs)."""

    def __init__(self, pairs, penalties):
        from tests import forced_strips
        from wfa_kernels.cuda import affine_rates, affine_strips, strips_design

        forced_strips.back_together(1)
        letters, place, shape = _packed(pairs)
        self.longest = int(max(pairs.pattern_lengths.max(), pairs.text_lengths.max()))
        queues = np.zeros((_LEVELS + 2, max(len(pairs), _LEVELS + 2 + len(affine_rates.RATES))), np.int32)
        self.input = (*letters, len(pairs), shape, place, queues)
        self.scores = np.full(len(pairs), affine_strips.NO_SCORE, np.int32)
        runs = np.zeros(2 * len(pairs.pattern) + 2 * len(pairs.text), np.uint32)
        self.output = self.scores, *(np.zeros(len(pairs), np.uint32) for _ in range(2)), runs
        self._design = strips_design.BandsThenStrips(penalties, (64,))
        self.triple, self.bounds = self._design._triple, self._design._bounds(self.longest)

    def strips(self, reach, traced):
        """(reach, words of a pair)"""
        from wfa_kernels.cuda import strips_design

        part = self._design._pair_words(1, reach, self.longest, traced)
        return strips_design._capped(reach, self.longest), part

    def windows(self, reach, bits):
        """strips_windows.Windows of these bits."""
        from wfa_kernels.cuda import strips_windows

        words = strips_windows.words_of_strips(self._design.penalties, 2 * reach + 2)
        return strips_windows._laid_out(-(-self.longest // 32), bits, *words, 1)

    def run(self, penalties, reach, rate, traced, windows, words):
        """Run the kernels as the design launches them, a pair at a time by one thread."""

        def launch(kernel, _blocks, _threads, *arguments):
            kernel(*arguments)

        slot = SimpleNamespace(launch=launch, scores=self.scores)
        batch = SimpleNamespace(slot=slot, input=self.input, output=self.output)
        for i, its_rate in enumerate(np.broadcast_to(rate, len(self.scores)).tolist()):
            pairs, memory = (-1, _NEXT, i, 1), (words, len(words), self.bounds)
            self._design._launch_part(batch, pairs, (1, reach, its_rate), memory, traced, windows)

    def tell(self, i, words):
        """Put down a pair's bounds by seeds."""
        from wfa_kernels.cuda import affine_seeds

        if self.bounds:
            seeds = affine_seeds.make_seeds(affine_seeds.price_of_a_seed(self.triple), self.triple[1])
            seeds(*self.input, -1, i, 1, self.scores, words, len(words), self.bounds)


def _packed(pairs):
    """(letters of both sides in planes, where each sequence begins, lengths)."""
    from wfa_kernels.cuda.host_packing import pack
    from wfa_kernels.cuda.packing import LEAD, LEAD_WORDS, LETTERS, TAIL_WORDS

    sides = []
    for letters in (pairs.pattern, pairs.text):
        words = -(-len(letters) // LETTERS)
        planes, odd = np.zeros(LEAD_WORDS + words + TAIL_WORDS, np.uint64), np.empty(words, np.uint32)
        pack(letters, planes[LEAD_WORDS : LEAD_WORDS + words], odd, True)
        sides.append(planes)
    place = np.stack([LEAD + offsets[:-1] for offsets in (pairs.pattern_offsets, pairs.text_offsets)])
    return sides, place.astype(np.uint32), (pairs.pattern_lengths | pairs.text_lengths << 32).astype(np.uint64)


def _circuit(gates, inputs, outputs, name):
    """See instructions.make_circuit."""
    import numba

    lines = ["def circuit(words):", f"    {', '.join(inputs)}, = words", "    zero, one = uint32(0), ~uint32(0)"]
    lines += [f"    {gate.name} = uint32({gate.expression})" for gate in gates]
    lines.append(f"    return ({', '.join(f'uint32({signal})' for signal in outputs)},)")
    namespace = {"uint32": numba.uint32}
    exec("\n".join(lines), namespace)
    return numba.njit(namespace["circuit"])


def _load(count):
    """See instructions.make_load."""
    import numba

    words = ", ".join(f"words[at + uint64({i})]" for i in range(count))
    return numba.njit(_defined(f"def load(words, at):\n    return ({words},)", "load"))


def _store(count):
    """See instructions.make_store."""
    import numba

    lines = [f"    words[at + uint64({i})] = values[{i}]" for i in range(count)]
    return numba.njit(_defined("\n".join(["def store(words, at, values):", *lines]), "store"))


def _defined(source, name):
    import numba

    namespace = {"uint64": numba.uint64}
    exec(source, namespace)
    return namespace[name]


def _funnel(low, high, shift):
    return np.uint32((np.uint64(high) << np.uint64(32) | np.uint64(low)) >> np.uint64(shift))


def _shift(word, places):
    return np.uint32(np.uint64(word) << np.uint64(places)) if places < 32 else np.uint32(0)


def _ones(word):
    bits, count = np.uint64(word), 0
    while bits:
        bits &= bits - np.uint64(1)
        count += 1
    return count


def _reversed(word):
    bits, found = np.uint64(word), np.uint64(0)
    for _ in range(32):
        found = found << np.uint64(1) | bits & np.uint64(1)
        bits >>= np.uint64(1)
    return np.uint32(found)


def _leading_zeros(word):
    bits, count = np.uint64(word), 32
    while bits:
        bits >>= np.uint64(1)
        count -= 1
    return count


def _nothing():
    pass


def _same(value):
    return value


def _array(size, dtype):
    return np.zeros(size, dtype)


def _add(array, place, value):
    before = array[place]
    array[place] += value
    return before


def _or(array, place, value):
    before = array[place]
    array[place] |= value
    return before


if __name__ == "__main__":
    main()
