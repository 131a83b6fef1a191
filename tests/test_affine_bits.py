"""Gap-affine alignment in bit planes: the circuit of a cell and the plain reference against the judge."""

import pytest
from hypothesis import given, settings

from tests import naive
from tests.test_affine_kernels import pair, penalties
from wfa_kernels import Affine
from wfa_kernels.affine_cell import make_cell
from wfa_kernels.reference import affine_bits as reference


@settings(max_examples=60)
@given(pair(longest=40), penalties)
def test_reference_agrees_with_the_judge(sequences, costs):
    score, cigar = reference.align_pair(*sequences, costs, "cigar")
    assert score == naive.affine_score(*sequences, *costs.triple)
    assert naive.check_cigar(*sequences, cigar, costs.triple) == score
    assert reference.align_pair(*sequences, costs, "score") == (score, None)


@pytest.mark.parametrize("costs", [(1, 0, 1), (2, 3, 1), (60, 2, 3), (5, 4, 1), (251, 127, 7)])
def test_cells_inside_the_matrix_need_no_more_gates(costs):
    everywhere, inside = make_cell(*costs), make_cell(*costs, inside=True)
    assert len(inside.gates) <= len(everywhere.gates) + 1
    assert inside.outputs.keys() == everywhere.outputs.keys()
    assert not any("outside" in gate.inputs for gate in inside.gates)


def test_a_common_divisor_costs_nothing():
    assert make_cell(4, 6, 2).gates == make_cell(2, 3, 1).gates
    assert (make_cell(4, 6, 2).divisor, make_cell(2, 3, 1).divisor) == (2, 1)


def test_the_usual_penalties_take_few_gates():
    """55 gates for 32 cells (of a 32-bit word) is what the speed of the kernels rests on."""
    assert len(make_cell(*Affine(4, 6, 2).triple, inside=True).gates) <= 55
