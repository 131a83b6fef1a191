"""The rules of doubt by themselves, at their bounds: what tables, figures and the report say rests on them."""

import pytest

from tests.synthetic import measurement
from workflow.scripts import doubts


@pytest.mark.parametrize(("threads", "pairs", "idle"), [(4, 3, True), (4, 4, False), (4, 0, False), (1, 0, False)])
def test_threads_are_idle_where_there_are_fewer_pairs(threads, pairs, idle):
    assert doubts.idle_threads(measurement(threads=threads, pairs=pairs)) == idle


def test_answered_pairs_are_whole_however_a_share_is_rounded():
    assert doubts.answered_pairs(measurement(pairs=49, coverage=1 / 49)) == 1
    assert doubts.answered_pairs(measurement(coverage=None)) is None


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"exact": True, "recall_native": 1.0}, False),
        ({"exact": True, "recall_native": 0.9999}, True),
        ({"exact": True, "recall_native": None}, False),
        ({"exact": False, "recall_native": 0.5, "failing_pairs": "[]"}, False),
        ({"exact": False, "recall_native": 1.0, "failing_pairs": '[[3, "score 1, exact 2"]]'}, True),
        ({"exact": False, "failing_pairs": None}, False),
        ({"exact": False, "failing_pairs": float("nan")}, False),
    ],
)
def test_a_promise_is_broken_by_missed_optima_or_of_a_heuristic_by_answers_that_are_none(changes, broken):
    assert bool(doubts.broken_promise(measurement(**changes))) == broken


@pytest.mark.parametrize(
    ("quantity", "seconds", "short"),
    [
        ("time_end_to_end_pinned", 0.0099, True), ("time_end_to_end_pinned", 0.01, False),
        ("time_end_to_end", 0.0099, False), ("time_kernel", 0.0099, False),
    ],
)  # fmt: skip
def test_a_call_is_short_from_end_to_end_on_a_gpu_alone(quantity, seconds, short):
    assert doubts.short_call(measurement(quantity=quantity, median_s=seconds)) == short


def test_of_a_hosts_races_a_valid_one_is_shown_then_a_fresh_one_then_the_largest_then_the_newest():
    ranks = [
        doubts.race_rank(False, False, 9, "2026-09"), doubts.race_rank(True, True, 8, "2026-08"),
        doubts.race_rank(True, False, None, "2026-07"), doubts.race_rank(True, False, 1, "2026-06"),
        doubts.race_rank(True, False, 2, None), doubts.race_rank(True, False, 2, "2026-01"),
    ]  # fmt: skip
    assert sorted(ranks, reverse=True) == ranks[::-1]


@pytest.mark.parametrize(
    ("doubt", "text"),
    [
        ((False, False, False), ""), ((True, False, False), "\nstale"),
        ((False, True, False), "\nolder way of measuring"), ((False, False, True), "\nrace invalid"),
        ((True, True, True), "\nstale; older way of measuring; race invalid"),
    ],
)  # fmt: skip
def test_a_panel_tells_each_doubt_of_its_races(doubt, text):
    assert doubts.figure_doubts(*doubt) == text


def test_refused_pairs_are_told_by_reason_and_none_where_there_are_none():
    told = '{"out_of_memory": 27, "unsupported": 0, "over_limit": 2}'
    assert doubts.refused_text(told) == "27 out of memory, 2 over limit"
    assert doubts.refused_text("{}") == doubts.refused_text(None) == ""
    assert doubts.refused_share(0.07) == "refused 93 %"


def test_pairs_that_went_to_the_cpu_are_told_of_how_many():
    assert doubts.rescued_share(measurement(rescued=12, pairs=5000)) == "12 of 5000"
    assert doubts.rescued_share(measurement(rescued=0)) == doubts.rescued_share(measurement(rescued=None)) == ""
