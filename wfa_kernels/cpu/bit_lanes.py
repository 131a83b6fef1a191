"""Two antidiagonals of gap-affine cells in bit planes, one pair in each lane of a vector, as LLVM vector instructions.

The gates of wfa_kernels.affine_cell become vector instructions on whole words: VPTERNLOG where the vectors are 512 bits
wide, else what LLVM makes of and, or and xor. A lane of ``lane`` bits belongs to one pair: as many neighbouring
diagonals of one parity. A band of more diagonals takes several words, a vector each.

Layout. Bit l of word w is, with y = w * lane + l, on an odd step ("across") diagonal -a + 2 y + 1, on an even one
diagonal -a + 2 y, a chosen for every pair. A left neighbour on an even step is one bit below, on an odd step the same
bit; an upper one on an odd step one bit above, on an even step the same bit. So u and p move up before even steps, v
and q move down before odd ones. Past the ends of the band come cells that no cheapest path takes: u, v all ones, p, q
all zeros.

All addresses are of vectors side by side; a state is, word after word, the planes u, p, v, q, then for steps that touch
the matrix' border ``from_first`` (all bits from the lowest one inside on) and ``to_last``.
"""

from dataclasses import dataclass

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from wfa_kernels.affine_cell import make_cell
from wfa_kernels.gates import ONE, ZERO

_I32, _I64 = ir.IntType(32), ir.IntType(64)
#: Codes kept for the way back from each of two antidiagonals; of gaps that cost nothing to open either digit will do.
CODES, CODES_OF_LINEAR_GAPS = ("left0", "left1", "above0", "above1"), ("left0", "above0")


@dataclass(frozen=True)
class Shape:
    """What a kernel is made for. mismatch, gap_open, gap_extend: penalties. vector, lane: bits.

    single: one word a band, its planes kept in registers. border: steps that touch the matrix' border. traced: keep
    codes for the way back.
    """

    mismatch: int
    gap_open: int
    gap_extend: int
    vector: int
    lane: int
    single: int
    border: int
    traced: int

    @property
    def cell(self):
        return make_cell(self.mismatch, self.gap_open, self.gap_extend, inside=not self.border)


def codes_kept(cell):
    """Names of the outputs of a cell that are kept of each antidiagonal."""
    return CODES if cell.gap_bits else CODES_OF_LINEAR_GAPS


class _Emitter:
    """Vector instructions for one Shape on top of an IRBuilder."""

    def __init__(self, builder, shape):
        self.builder, self.shape, self.cell = builder, shape, shape.cell
        lanes = shape.vector // shape.lane
        self.lane_type = ir.IntType(shape.lane)
        self.vector = ir.VectorType(self.lane_type, lanes)
        self.bytes = shape.vector // 8
        self.zeros, self.ones, self.unit = (self.constant(value) for value in (0, -1, 1))
        self.up = [f"u{d}" for d in range(self.cell.delta_bits)] + [f"p{d}" for d in range(self.cell.gap_bits)]
        self.down = [f"v{d}" for d in range(self.cell.delta_bits)] + [f"q{d}" for d in range(self.cell.gap_bits)]
        self.planes = self.up + self.down
        self.codes_kept = codes_kept(self.cell)
        if shape.border:
            self.down = [*self.down, "from_first"]
            self.up = [*self.up, "to_last"]

    @property
    def state(self):
        """Planes in the order of memory."""
        return self.planes + (["from_first", "to_last"] if self.shape.border else [])

    @property
    def stride(self):
        """Vectors of a word of a state: the same for all kernels of some penalties."""
        return len(self.planes) + 2

    def constant(self, value):
        return ir.Constant(self.vector, [value % 2**self.shape.lane] * self.vector.count)

    def inflow(self, name):
        return self.zeros if name[0] in "pq" else self.ones

    def call(self, name, arguments):
        module, kinds = self.builder.module, [argument.type for argument in arguments]
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(arguments[0].type, kinds), name)
        return self.builder.call(function, arguments)

    def shifted(self, kind, high, low, count):
        """fshl: the high bits of high:low << count. fshr: the low bits of high:low >> count."""
        return self.call(f"llvm.{kind}.v{self.vector.count}i{self.shape.lane}", [high, low, count])

    def splat(self, scalar):
        nothing = ir.Constant(self.vector, ir.Undefined)
        if scalar.type != self.lane_type:
            scalar = self.builder.trunc(scalar, self.lane_type)
        one = self.builder.insert_element(nothing, scalar, ir.Constant(_I32, 0))
        zeros = ir.Constant(ir.VectorType(_I32, self.vector.count), [0] * self.vector.count)
        return self.builder.shuffle_vector(one, nothing, zeros)

    def pointer(self, address, index):
        b = self.builder
        if isinstance(index, int):
            index = ir.Constant(_I64, index)
        return b.inttoptr(b.add(address, b.mul(index, ir.Constant(_I64, self.bytes))), ir.PointerType())

    def load(self, address, index):
        loaded = self.builder.load(self.pointer(address, index), typ=self.vector)
        loaded.align = self.bytes
        return loaded

    def store(self, value, address, index):
        self.builder.store(value, self.pointer(address, index)).align = self.bytes

    def gate(self, gate, signals):
        inputs = [signals[name] for name in gate.inputs]
        if self.shape.vector == 512 and len(inputs) == 3:
            words = ir.VectorType(_I64, 8)
            inputs = [self.builder.bitcast(value, words) for value in inputs]
            made = self.call("llvm.x86.avx512.pternlog.q.512", [*inputs, ir.Constant(_I32, gate.table)])
            return self.builder.bitcast(made, self.vector)
        return _Expression(self.builder, self.ones).value(gate, inputs)

    def cells(self, planes, differ):
        """Every signal of the cells of one antidiagonal, by name."""
        signals = {ZERO: self.zeros, ONE: self.ones, "differ": differ} | planes
        if self.shape.border:
            inside = self.builder.and_(planes["from_first"], planes["to_last"])
            signals["outside"] = self.builder.xor(inside, self.ones)
        for gate in self.cell.gates:
            signals[gate.name] = self.gate(gate, signals)
        return {output: signals[signal] for output, signal in self.cell.outputs.items()}

    def differ(self, pattern, text):
        b = self.builder
        return b.or_(b.xor(pattern[0], text[0]), b.xor(pattern[1], text[1]))


class _Wrapped:
    """A vector that takes Python's operators."""

    def __init__(self, builder, ones, value):
        self.builder, self.ones, self.value = builder, ones, value

    def _of(self, value):
        return _Wrapped(self.builder, self.ones, value)

    def __and__(self, other):
        return self._of(self.builder.and_(self.value, other.value))

    def __or__(self, other):
        return self._of(self.builder.or_(self.value, other.value))

    def __xor__(self, other):
        return self._of(self.builder.xor(self.value, other.value))

    def __invert__(self):
        return self._of(self.builder.xor(self.value, self.ones))


class _Expression:
    """A gate as and, or, xor."""

    def __init__(self, builder, ones):
        self.builder, self.ones = builder, ones

    def value(self, gate, inputs):
        names = {
            name: _Wrapped(self.builder, self.ones, value) for name, value in zip(gate.inputs, inputs, strict=True)
        }
        return eval(gate.expression, {"__builtins__": {}}, names).value  # noqa: S307


class _Loops(_Emitter):
    """The loops over steps and words. Arguments of the kernel as advance() has them."""

    def __init__(self, builder, shape, arguments):
        super().__init__(builder, shape)
        self.group, self.text, self.pattern, self.words, self.first, self.last, self.codes = arguments

    def run(self):
        if self.shape.single:
            self.steps_of_one_word()
        else:
            self.steps()

    def loop(self, begin, end, carried, body):
        """for index in range(begin, end), begin < end; body(index, carried) gives the next carried vectors (a list)."""
        b = self.builder
        before = b.block
        head, after = b.append_basic_block("head"), b.append_basic_block("after")
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(_I64)
        phis = [b.phi(self.vector) for _ in carried]
        nexts = body(index, list(phis))
        following = b.add(index, ir.Constant(_I64, 1))
        for phi, start, value in zip([index, *phis], [begin, *carried], [following, *nexts], strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(value, b.block)
        b.cbranch(b.icmp_signed("<", following, end), head, after)
        b.position_at_end(after)
        return nexts

    def window(self, address, at, word):
        """Both letter planes from a bit position on, of a word."""
        b = self.builder
        block = b.add(b.ashr(at, ir.Constant(_I64, self.shape.lane.bit_length() - 1)), word)
        count = self.splat(b.and_(at, ir.Constant(_I64, self.shape.lane - 1)))
        index = b.shl(block, ir.Constant(_I64, 1))
        low, high = (
            [self.load(address, b.add(index, ir.Constant(_I64, place))) for place in places]
            for places in ((0, 1), (2, 3))
        )
        return [self.shifted("fshr", *pair, count) for pair in zip(high, low, strict=True)]

    def windows(self, step, word):
        """(pattern's letters on the odd and on the even antidiagonal, text's on both)."""
        b = self.builder
        even = b.neg(step)
        odd = b.add(even, ir.Constant(_I64, 1))
        return (
            self.window(self.pattern, odd, word),
            self.window(self.pattern, even, word),
            self.window(self.text, step, word),
        )

    def two_antidiagonals(self, planes, above, below, letters, codes_at):
        """One odd and one even antidiagonal of a word.

        planes: {name: vector}. above, below: those of the next word before, of the previous one after the odd step.
        Returns (planes, up planes after the odd step, the outputs).
        """
        pattern_odd, pattern_even, text = letters
        planes = dict(planes)
        for name in self.down:
            planes[name] = self.shifted("fshr", above[name], planes[name], self.unit)
        odd = self.cells(planes, self.differ(pattern_odd, text))
        planes |= {name: odd[name] for name in self.planes}
        after_odd = {name: planes[name] for name in self.up}
        for name in self.up:
            planes[name] = self.shifted("fshl", planes[name], below[name], self.unit)
        even = self.cells(planes, self.differ(pattern_even, text))
        planes |= {name: even[name] for name in self.planes}
        if self.shape.traced:
            for place, outputs in ((0, odd), (len(self.codes_kept), even)):
                for digit, name in enumerate(self.codes_kept):
                    index = self.builder.add(codes_at, ir.Constant(_I64, place + digit))
                    self.store(outputs[name], self.codes, index)
        return planes, after_odd, even

    def counted(self, scores, outputs, final, step):
        """The scores with z of the final diagonal's bit; ``final`` is zero where the pair has ended."""
        b = self.builder
        for digit in range(self.cell.step_bits):
            if outputs[f"z{digit}"] is self.zeros:
                continue
            here = b.icmp_unsigned("!=", b.and_(outputs[f"z{digit}"], final), self.zeros)
            scores = b.select(here, b.add(scores, self.constant(1 << digit)), scores)
        return scores

    def active(self, final, remaining, step):
        b = self.builder
        return b.select(b.icmp_unsigned("<", self.splat(step), remaining), final, self.zeros)

    def steps_of_one_word(self):
        b = self.builder
        remaining, scores, final = (self.load(self.group, index) for index in range(3))
        outside = {name: self.inflow(name) for name in self.up + self.down}
        state = [self.load(self.group, 3 + index) for index in range(len(self.state))]
        before = self.window(self.pattern, b.sub(ir.Constant(_I64, 1), self.first), ir.Constant(_I64, 0))

        def step(index, carried):
            planes = dict(zip(self.state, carried[3:], strict=True))
            even = self.window(self.pattern, b.neg(index), ir.Constant(_I64, 0))
            text = self.window(self.text, index, ir.Constant(_I64, 0))
            codes_at = b.mul(index, ir.Constant(_I64, 2 * len(self.codes_kept)))
            planes, _, outputs = self.two_antidiagonals(planes, outside, outside, (carried[:2], even, text), codes_at)
            scores = self.counted(carried[2], outputs, self.active(final, remaining, index), index)
            return [*even, scores, *(planes[name] for name in self.state)]

        ended = self.loop(self.first, self.last, [*before, scores, *state], step)
        self.store(ended[2], self.group, 1)
        for index, value in enumerate(ended[3:]):
            self.store(value, self.group, 3 + index)

    def steps(self):
        b = self.builder
        remaining, scores = (self.load(self.group, index) for index in range(2))
        first_state = b.add(self.words, ir.Constant(_I64, 2))
        inflow = {name: self.inflow(name) for name in self.up + self.down}

        def place(word, name):
            return b.add(
                b.add(first_state, b.mul(word, ir.Constant(_I64, self.stride))),
                ir.Constant(_I64, self.state.index(name)),
            )

        def step(index, carried):
            def of_word(word, inner):
                below = dict(zip(self.up, inner[1 : 1 + len(self.up)], strict=True))
                planes = dict(zip(self.down, inner[1 + len(self.up) :], strict=True))
                planes |= {name: self.load(self.group, place(word, name)) for name in self.up}
                following = b.add(word, ir.Constant(_I64, 1))
                above = {name: self.load(self.group, place(following, name)) for name in self.down}
                codes_at = b.mul(b.add(b.mul(index, self.words), word), ir.Constant(_I64, 2 * len(self.codes_kept)))
                made, after_odd, outputs = self.two_antidiagonals(
                    planes, above, below, self.windows(index, word), codes_at
                )
                for name in self.state:
                    self.store(made[name], self.group, place(word, name))
                final = self.load(self.group, b.add(word, ir.Constant(_I64, 2)))
                scores = self.counted(inner[0], outputs, self.active(final, remaining, index), index)
                return [scores, *(after_odd[name] for name in self.up), *(above[name] for name in self.down)]

            zero = ir.Constant(_I64, 0)
            begin = [inflow[name] for name in self.up]
            begin += [self.load(self.group, place(zero, name)) for name in self.down]
            return [self.loop(zero, self.words, [carried[0], *begin], of_word)[0]]

        scores = self.loop(self.first, self.last, [scores], step)[0]
        self.store(scores, self.group, 1)


@intrinsic(prefer_literal=True)
def advance(typing_context, shape, group, text, pattern, words, first, last, codes):
    """Double steps first to last - 1 (first < last) of a group of pairs, one a lane.

    shape: the numbers of a Shape, all constants. The others are int64, most of them addresses, vectors counted from:
    group: remaining (double steps of each pair), scores, ``words`` of a bit on the final diagonal, words + 1 of planes
    (the last of cells past the band). text, pattern: two planes for each word of letters; bit l of word 0 of double
    step d stands at position d + l of the text, where its letter for the two antidiagonals begins, and at position
    l - d (l - d + 1 on the odd antidiagonal) of the pattern, which runs backwards. codes: words times twice as many
    vectors as codes are kept, for each double step from 0 on, where the shape is traced.
    """
    numbers = [member.literal_value for member in shape]

    def generate(context, builder, signature, arguments):
        _Loops(builder, Shape(*numbers), arguments[1:]).run()
        return context.get_dummy_value()

    return types.void(shape, *[types.int64] * 7), generate
