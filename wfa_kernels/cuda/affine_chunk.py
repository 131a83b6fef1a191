"""Source of device functions: 32 antidiagonals of 32 rows of a gap-affine matrix, in bit planes in registers.

Layout. A strip is 32 rows, letters 32 s to 32 s + 31 of the pattern; bit r of its planes is row r. At step t of a
strip bit r is column t - r (letters of the text, from 0 on): so the left neighbour is at the same bit of the step
before, the upper one a bit lower. Chunk c is the steps 32 c to 32 c + 31. What the last row of a strip hands to the
first row of the next, v and q, goes through ``edge`` words: those of 32 columns come in at the top bit, and as they
leave, the strip's own take their place from below, a step late: chunk c + 1 hands over the columns of chunk c.
"""

from functools import cache

from numba import cuda, int32, uint32, uint64

from wfa_kernels.affine_cell import digits
from wfa_kernels.cuda.affine_forward import cells_of
from wfa_kernels.cuda.bits import bit_at
from wfa_kernels.cuda.device import inlined
from wfa_kernels.cuda.instructions import make_circuit, make_funnel, make_load, make_store, whole_vectors

_FULL = "uint32(0xFFFFFFFF)"


class Chunk:
    """The device functions of some penalties, without a common divisor. traced: ``run`` leaves codes for the way back.

    State: tuple of uint32, the planes u, p, v, q of a strip. Edge: tuple of uint32, the planes v, q of 32 columns.

    - ``first_state(strip)``, ``later_state()``: before a strip's first chunk, at the text's beginning or within it;
      there cells left of it cost e more a diagonal than the one above its first cell, as if in a gap that is open;
    - ``top_edge(chunk)``: what row 0 of the matrix hands down; ``no_edge()``: from above the band, where cells cost e
      more a column than the last one that was handed down;
    - ``edge_rise(edge)``: int32, by how much H grows over the edge's 32 columns; ``strip_rise(state)``: by how much it
      grows from above the strip to its last row 32 columns further left, along the last antidiagonal;
    - ``load_state(words, at)``, ``save_state(words, at, state)``, ``load_edge(words, at)`` and
      ``save_edge(words, at, edge, rise)``: uint32[...], at an uint64 (Numba takes no care of the sign of those), a
      multiple of VECTOR: threads are far apart there, and an instruction takes a turn for each of them. rise: an
      int32, kept behind the edge's planes;
    - ``run(state, edge, pattern, last, text, begins, outside, row, rows, odd, codes, at, stride)``: state, edge, score.
      One chunk. pattern: two planes of the strip's letters. last: of the 32 columns before the chunk, text: of its own,
      both in reverse. begins: it is the strip's chunk 0. outside: cells left of the matrix are looked after, as chunk 0
      needs and others may: the threads of a warp should not differ. score: the sum of z at a diagonal's cells, which is
      at ``row`` in the first two steps, before row 0 it may be below; rows: those that count; odd: they are at odd
      steps. codes: if traced, uint32[...], four words a step (affine_forward.CODES), ``stride`` apart.
    """

    def __init__(self, triple, traced):
        self.cells = cells_of(triple)
        self.cell = self.cells[0]
        names = ["u"] * self.cell.delta_bits + ["p"] * self.cell.gap_bits
        names += ["v"] * self.cell.delta_bits + ["q"] * self.cell.gap_bits
        counts = [names[:i].count(name) for i, name in enumerate(names)]
        self.planes = [f"{name}{count}" for name, count in zip(names, counts, strict=True)]
        self.edges = [plane for plane in self.planes if plane[0] in "vq"]
        self.state_words, self.edge_words = whole_vectors(len(self.planes)), whole_vectors(len(self.edges) + 1)
        self.traced = traced
        namespace = {
            "bit_at": bit_at, "cuda": cuda, "funnel": make_funnel(), "int32": int32, "uint32": uint32, "uint64": uint64,
            "load_state_words": make_load(self.state_words), "store_state_words": make_store(self.state_words),
            "load_edge_words": make_load(self.edge_words), "store_edge_words": make_store(self.edge_words),
        }  # fmt: skip
        for cell, name in zip(self.cells, ("anywhere", "inside"), strict=True):
            signals = [cell.outputs[output] for output in self._outputs()]
            inputs = [*self.planes, "differ", "outside"]
            namespace[name] = make_circuit(cell.gates, inputs, signals, f"affine chunk {triple} {name} {traced}")
        exec("\n".join(self._source()), namespace)
        for name in ("first_state", "later_state", "top_edge", "no_edge", "edge_rise", "strip_rise", "load_state",
                     "save_state", "load_edge", "save_edge", "run"):  # fmt: skip
            setattr(self, name, inlined(namespace[name]))

    def _outputs(self):
        codes = ["left0", "left1", "above0", "above1"] if self.traced else []
        return [*self.planes, *(f"z{digit}" for digit in range(self.cell.step_bits)), *codes]

    def _source(self):
        return [
            *self._starts(),
            *self._sums(),
            *_memory("state", len(self.planes), self.state_words),
            *_memory("edge", len(self.edges), self.edge_words, ["rise"]),
            *self._run(),
        ]

    def _starts(self):
        _, gap_open, gap_extend = self.cell.triple
        usual = {"u": self.cell.delta, "v": self.cell.delta, "p": self.cell.gap, "q": self.cell.gap}
        first = digits(gap_open + 2 * gap_extend, self.cell.delta_bits)  # u of (1, 0) and v of (0, 1)
        at_text_start = [
            _flipped(usual[p[0]], first, int(p[1:]), "top") if p[0] == "u" else _word(usual[p[0]], p)
            for p in self.planes
        ]
        zeros = digits(0, self.cell.delta_bits)  # v = -e, q = e
        within = [_word(zeros if p[0] in "vq" else usual[p[0]], p) for p in self.planes]
        above = [
            _flipped(usual["v"], first, int(p[1:]), "corner") if p[0] == "v" else _word(usual[p[0]], p)
            for p in self.edges
        ]
        beyond = [_word(usual[p[0]], p) for p in self.edges]
        return [
            "def first_state(strip):",
            "    top = uint32(1) if strip == 0 else uint32(0)",
            f"    return {_tuple(at_text_start)}",
            "def later_state():",
            f"    return {_tuple(within)}",
            "def top_edge(chunk):",
            "    corner = uint32(0x80000000) if chunk == 0 else uint32(0)",
            f"    return {_tuple(above)}",
            "def no_edge():",
            f"    return {_tuple(beyond)}",
        ]

    def _sums(self):
        letters = [plane[0] for plane in self.planes]
        of_u, of_v = letters.index("u"), letters.index("v")
        return [
            "def edge_rise(edge):",
            f"    return {self._sum('edge', 0)}",
            "def strip_rise(state):",
            f"    return {self._sum('state', of_u)} - ({self._sum('state', of_v)})",
        ]

    def _sum(self, words, first):
        """The sum of u or v over a word's bits. Their codes are modulo a power of two, those below -e the highest."""
        _, gap_open, gap_extend = self.cell.triple
        bits, negative = self.cell.delta_bits, _FULL
        counted = [f"(int32(cuda.popc({words}[{first + digit}])) << int32({digit}))" for digit in range(bits)]
        for digit in range(bits):
            operator = "&" if ((1 << bits) - gap_open) >> digit & 1 else "|"
            negative = f"({words}[{first + digit}] {operator} {negative})"
        if gap_open:
            counted.append(f"-(int32(cuda.popc(uint32({negative}))) << int32({bits}))")
        return " + ".join([*counted, f"int32({-32 * gap_extend})"])

    def _run(self):
        sums = [f"z{digit}" for digit in range(self.cell.step_bits)]
        counted = [f"(int32(cuda.popc(uint32({met} & rows))) << int32({digit}))" for digit, met in enumerate(sums)]
        return [
            "def run(state, edge, pattern, last, text, begins, outside, row, rows, odd, codes, at, stride):",
            f"    {_names(self.planes)} = state",
            f"    {_names([f'i{p}' for p in self.edges])} = edge",
            "    r0, r1 = pattern",
            "    t0, t1 = last",
            "    w0, w1 = text",
            f"    {' = '.join(sums)} = uint32(0)",
            "    end = int32(row + int32(16))",
            "    if outside:",
            "        beyond = uint32(0xFFFFFFFE) if begins else uint32(0)",
            "        while row < end:",
            *self._double_step("anywhere", 3),
            "    else:",
            "        beyond = uint32(0)",
            "        while row < end:",
            *self._double_step("inside", 3),
            f"    return {_tuple(self.planes)}, {_tuple([f'i{p}' for p in self.edges])}, int32({' + '.join(counted)})",
        ]

    def _double_step(self, compute, levels):
        lines = [*self._step(compute, "even"), *self._step(compute, "odd"), "here = bit_at(row)"]
        for digit in range(self.cell.step_bits):  # each time another bit
            lines.append(f"z{digit} = uint32(z{digit} | (uint32(odd_z{digit} if odd else even_z{digit}) & here))")
        return ["    " * levels + line for line in [*lines, "row = int32(row + int32(1))"]]

    def _step(self, compute, parity):
        lines = []
        for plane in self.edges:
            lines += [f"x = {plane}", f"{plane} = funnel(i{plane}, x, uint32(31))"]
            lines.append(f"i{plane} = funnel(x, i{plane}, uint32(31))")
        for digit in range(2):
            lines += [f"t{digit} = funnel(w{digit}, t{digit}, uint32(31))", f"w{digit} = uint32(w{digit} << uint32(1))"]
        outputs = [f"{parity}_{name}" if name[0] == "z" else name for name in self._outputs()]
        lines.append("differ = uint32((r0 ^ t0) | (r1 ^ t1))")
        lines.append(f"{_names(outputs)} = {compute}(({', '.join(self.planes)}, differ, beyond))")
        if compute == "anywhere":
            lines.append("beyond = uint32(beyond << uint32(1))")
        if self.traced:
            lines += [f"codes[at + uint64({i}) * stride] = {code}" for i, code in enumerate(outputs[-4:])]
            lines.append("at += uint64(4) * stride")
        return lines


def _names(names):
    return ", ".join(names) + ("," if len(names) == 1 else "")


def _tuple(values):
    return f"({_names(values)})"


def _word(code, plane):
    return _FULL if code[int(plane[1:])] else "uint32(0)"


def _flipped(code, other, digit, bit):
    """A word of one digit of a code, but at a bit of another code."""
    word = _FULL if code[digit] else "uint32(0)"
    return f"uint32({word} ^ {bit})" if code[digit] != other[digit] else word


def _memory(what, count, words, further=()):
    """further: names of numbers that are kept behind the ``count`` planes; the rest of the words is zero."""
    kept = [*(f"{what}[{i}]" for i in range(count)), *(f"uint32({name})" for name in further)]
    kept += ["uint32(0)"] * (words - len(kept))
    return [
        f"def load_{what}(words, at):",
        f"    kept = load_{what}_words(words, at)",
        f"    return {_tuple([f'kept[{i}]' for i in range(count)])}",
        f"def save_{what}({', '.join(['words', 'at', what, *further])}):",
        f"    store_{what}_words(words, at, {_tuple(kept)})",
    ]


@cache
def make_chunk(triple, traced):
    """The Chunk of some penalties."""
    return Chunk(triple, traced)
