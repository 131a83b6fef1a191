"""Circuits of three-input gates: what they print and merge computes what was asked."""

import random

from hypothesis import given
from hypothesis import strategies as st

from wfa_kernels.gates import _TABLES, ONE, ZERO, Circuit, Gate


def computed(gates, outputs, inputs, width=8):
    """{output: word} by the printed expressions."""
    known = {ZERO: 0, ONE: (1 << width) - 1} | inputs
    for gate in gates:
        known[gate.name] = eval(gate.expression, {}, known) & (1 << width) - 1
    return {name: known[signal] for name, signal in outputs.items()}


@given(st.integers(0, 255))
def test_every_truth_table_is_printed_and_computed_right(table):
    gate = Gate("g", table, ("a", "b", "c"))
    words = dict(zip("abc", _TABLES, strict=True))
    assert eval(gate.expression, {}, words) & 255 == table == gate.value(*_TABLES) & 255


def test_inverted_inputs_and_constants_need_no_gates():
    circuit = Circuit()
    inverse = circuit.gate(lambda a: ~a, "a")
    assert circuit.gate(lambda a, b: a & b, inverse, ZERO) == ZERO
    assert circuit.gate(lambda a, b: a & b, inverse, ONE) == inverse
    assert circuit.gate(lambda a: ~a, inverse) == "a"
    made = circuit.gate(lambda a, b: a | b, inverse, "b")
    gates, _ = circuit.reduced({"x": made})
    assert [gate.inputs for gate in gates] == [("a", "b")]


@given(st.integers(0, 2**32))
def test_reduced_circuits_are_equal_and_no_larger(seed):
    draw = random.Random(seed)
    circuit, signals = Circuit(), ["a", "b", "c", "d", ZERO, ONE]
    values = {name: draw.getrandbits(8) for name in "abcd"}
    known = values | {ZERO: 0, ONE: 255}
    for _ in range(draw.randint(1, 25)):
        table = draw.getrandbits(8)
        inputs = draw.choices(signals, k=3)
        signal = circuit.gate(lambda a, b, c, table=table: Gate("", table, "abc").value(a, b, c), *inputs)
        expected = Gate("", table, "abc").value(*(known[s] for s in inputs)) & 255
        assert known.setdefault(signal, expected) == expected
        signals.append(signal)
    outputs = {f"out{i}": signal for i, signal in enumerate(draw.choices(signals, k=3))}
    gates, reduced = circuit.reduced(outputs)
    assert len(gates) <= len(circuit.gates)
    assert computed(gates, reduced, values) == {name: known[signal] for name, signal in outputs.items()}
