"""Boolean circuits of gates with up to three inputs: one gate is one LOP3 of a GPU, one VPTERNLOG of AVX-512.

A circuit works on words: bit q of every output depends on bit q of the inputs alone, so that a word of 32 bits computes
32 cells at once. It is built once for what it shall compute, and printed for whoever computes it.
"""

from dataclasses import dataclass
from functools import cache, partial

#: Truth table of a gate's first, second and third input: bit 4a + 2b + c, as LOP3 and VPTERNLOG count.
_TABLES = (0xF0, 0xCC, 0xAA)
_ALL = 0xFF
#: The signals that never change.
ZERO, ONE = "zero", "one"


@dataclass(frozen=True)
class Gate:
    """Makes the signal ``name`` of one to three others; ``table``: 8 bits, its truth table."""

    name: str
    table: int
    inputs: tuple

    @property
    def expression(self):
        """The gate written with ``&``, ``|``, ``^`` and ``~``."""
        return _expressions()[self.table].format(*self.inputs)

    def value(self, *words):
        """What the gate makes of words of any width."""
        return _applied(self.table, *words)


class Circuit:
    """Gates in an order in which they can be computed; the caller names the inputs."""

    def __init__(self):
        self.gates = []
        self._known = {}
        self._inverted = {}

    def gate(self, function, *inputs):
        """The signal function(a, b, c) of up to three signals.

        Constants are folded, inverted inputs cost nothing, and no gate is made twice.
        """
        table, signals = _narrowed(self._of_sources(function, inputs), [self._inverted.get(s, s) for s in inputs])
        if not signals:
            return ONE if table else ZERO
        if table == _TABLES[0]:
            return signals[0]
        if (table, signals) not in self._known:
            name = self._known[table, signals] = f"g{len(self.gates)}"
            self.gates.append(Gate(name, table, signals))
            if len(signals) == 1:
                self._inverted[name] = signals[0]
        return self._known[table, signals]

    def _of_sources(self, function, inputs):
        """The function of what is inverted, where an input is an inverted signal."""
        flips = [_ALL if signal in self._inverted else 0 for signal in inputs]
        return lambda *values: function(*(value ^ flip for value, flip in zip(values, flips, strict=True)))

    def reduced(self, outputs):
        """(gates, outputs) of an equal circuit without idle gates, gates merged into those that read them.

        outputs: {name: signal}.
        """
        gates, outputs = {gate.name: gate for gate in self.gates}, dict(outputs)
        changed = True
        while changed:
            gates = _used(gates, outputs)
            changed = _drop_one(gates, outputs) or _merge_one(gates, outputs)
        return list(gates.values()), outputs


def _narrowed(function, inputs):
    """(truth table, signals) of a function of signals: those that are constant or make no difference left out."""
    needed = sorted({signal for signal in inputs if signal not in (ZERO, ONE)})

    def table(values):
        known = {ZERO: 0, ONE: _ALL} | values
        return function(*(known[signal] for signal in inputs)) & _ALL

    fixed = {}
    for signal in list(needed):
        rest = fixed | dict(zip((s for s in needed if s != signal), _TABLES, strict=False))
        if table(rest | {signal: 0}) == table(rest | {signal: _ALL}):
            needed.remove(signal)
            fixed[signal] = 0
    return table(fixed | dict(zip(needed, _TABLES, strict=False))), tuple(needed)


def _used(gates, outputs):
    wanted = set(outputs.values())
    for gate in reversed(gates.values()):
        if gate.name in wanted:
            wanted.update(gate.inputs)
    return {name: gate for name, gate in gates.items() if name in wanted}


def _drop_one(gates, outputs):
    """Drop one gate that does nothing, since others were merged into it; whether there was one."""
    for name, gate in gates.items():
        if gate.inputs and (gate.table, len(gate.inputs)) != (_TABLES[0], 1):
            continue
        signal = gate.inputs[0] if gate.inputs else ONE if gate.table else ZERO
        for other in gates.values():
            if name in other.inputs:
                inputs = [signal if s == name else s for s in other.inputs]
                gates[other.name] = Gate(other.name, *_narrowed(partial(_applied, other.table), inputs))
        outputs.update({output: signal for output, s in outputs.items() if s == name})
        del gates[name]
        return True
    return False


def _merge_one(gates, outputs):
    """Merge one gate into all gates that read it; whether there was one to merge."""
    readers = {}
    for gate in gates.values():
        for signal in gate.inputs:
            readers.setdefault(signal, []).append(gate)
    kept = set(outputs.values())
    for name, inner in gates.items():
        if name in kept:
            continue
        merged = [_merged(outer, inner) for outer in readers[name]]
        if all(merged):
            gates.update({gate.name: gate for gate in merged})
            return True
    return False


def _merged(outer, inner):
    """The outer gate without need of the inner one; None where that takes too many inputs."""
    signals = tuple(dict.fromkeys((*inner.inputs, *(s for s in outer.inputs if s != inner.name))))
    if len(signals) > len(_TABLES):
        return None
    return Gate(outer.name, *_narrowed(_composed(outer, inner, signals), signals))


def _composed(outer, inner, signals):
    def function(*values):
        known = dict(zip(signals, values, strict=True))
        known[inner.name] = _applied(inner.table, *(known[s] for s in inner.inputs))
        return _applied(outer.table, *(known[s] for s in outer.inputs)) & _ALL

    return function


def _applied(table, *values):
    """A truth table of words of any width."""
    a, b, c = (*values, 0, 0)[:3]
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


@cache
def _expressions():
    """{truth table: the shortest expression for it}."""
    found = {table: (0, f"{{{q}}}") for q, table in enumerate(_TABLES)}
    found |= {_ALL ^ table: (1, f"~{{{q}}}") for q, table in enumerate(_TABLES)}
    while True:
        more = {}
        for table_1, (cost_1, text_1) in found.items():
            for table_2, (cost_2, text_2) in found.items():
                for sign, table in (("&", table_1 & table_2), ("|", table_1 | table_2), ("^", table_1 ^ table_2)):
                    for made, cost, text in (
                        (table, cost_1 + cost_2 + 1, f"({text_1} {sign} {text_2})"),
                        (_ALL ^ table, cost_1 + cost_2 + 2, f"~({text_1} {sign} {text_2})"),
                    ):
                        if cost < min(found.get(made, (99,))[0], more.get(made, (99,))[0]):
                            more[made] = cost, text
        if not more:
            return {table: text for table, (_, text) in found.items()}
        found |= more
