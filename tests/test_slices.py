"""Slices of a round: short enough for the fewest rounds to end within a step, the same for every tool."""

import pytest

from tests.arena import Arena
from workflow.race import race as one_race
from workflow.race.slices import Run, cost_s, pairs_within, shortened

RUNS = {1: Run(0.1, 0.2), 4: Run(0.4, 0.6), 16: Run(1.6, 2.0)}


@pytest.fixture
def arena(tmp_path, monkeypatch):
    """See tests.arena."""
    return Arena(tmp_path, monkeypatch)


def test_a_cell_runs_the_most_pairs_within_its_slice_and_never_none():
    assert [pairs_within(RUNS, slice_s) for slice_s in (2, 1.6, 1.5, 0.4, 0.1, 0.01)] == [16, 16, 4, 4, 1, 1]


def test_pairs_that_were_not_tried_cost_in_proportion():
    assert [cost_s(RUNS, n) for n in (1, 3, 4, 16)] == [0.2, 0.6, 0.6, 2.0]
    assert cost_s(RUNS, 64) == 8.0


def test_a_slice_is_halved_until_a_round_fits_or_no_cell_can_do_less():
    assert shortened(2, 0.1, 2.0, lambda slice_s: 10 * slice_s) == 0.125
    assert shortened(2, 0.1, 100, lambda slice_s: 10 * slice_s) == 2
    assert shortened(2, 0.1, 0.001, lambda slice_s: 10 * slice_s) <= 0.1


def pairs_of(frame):
    return frame[~frame["twin"]].groupby("tool")["pairs"].max().to_dict()


def test_the_fewest_rounds_fit_the_step(arena, monkeypatch):
    """Ten milliseconds a pair, 40 pairs: 0.4 s a run, and as much for the twin."""
    lane = {"scopes": ["score"], "round_seconds": 1, "race_seconds": 1}
    frame, card, lines = arena(["steady"], twin="steady", **lane)
    assert pairs_of(frame) == {"steady": 40} and card["round_seconds"] == 1
    assert not any("in place of" in line for line in lines)
    monkeypatch.setattr(one_race, "STEP_SECONDS", one_race.EXACT_SECONDS + 4)
    frame, card, lines = arena(["steady", "score-only"], twin="steady", **lane)
    assert pairs_of(frame)["steady"] in (1, 3, 10) and card["round_seconds"] < 0.4  # how few: by what the start took
    assert any("in place of 1 s: the fewest rounds would not fit" in line for line in lines)
    assert frame[~frame["twin"] & (frame["tool"] == "steady")]["round"].max() >= 5
    monkeypatch.setattr(one_race, "STEP_SECONDS", 1)
    frame, card, _ = arena(["steady", "honest"], twin="steady", **lane)
    assert pairs_of(frame)["steady"] == 1, "the fewest rounds are run in any case, on as few pairs as there can be"
