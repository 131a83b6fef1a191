"""Steps of a race by themselves: the order of its rounds, which run counts, when it ends, when it is valid."""

from types import SimpleNamespace

import pytest

from wfa_kernels import Affine, Edit
from workflow.race import race as one_race
from workflow.race.cells import Key, Record, round_order
from workflow.race.verify import Verdict

KEYS = [Key(tool, "score", 1, 4) for tool in "abcdef"]


@pytest.fixture
def race():
    """A race without a data set and workers, all of whose tools are of the CPU."""
    race = object.__new__(one_race.Race)
    race.plan, race.conductor = SimpleNamespace(race_seconds=1, penalties=Affine(4, 6, 2)), SimpleNamespace(seed=7)
    race.records, race.slices_s, race.confirmed, race.pace, race.began = {}, {}, {}, {}, 0
    race._device = lambda key: "cpu"
    return race


def test_rounds_run_in_their_random_order(race):
    ran, race.records = [], {key: Record() for key in KEYS}
    race._sample = lambda key, record: ran.append(key)
    assert race._rounds("cpu", 7, 3, 3, 0, []) == 3
    assert ran == [key for number in (1, 2, 3) for key in round_order(7, number, KEYS)]


@pytest.mark.parametrize(
    ("device", "times", "counts"), [("cpu", [0.02, 9], 0.02), ("cpu", [0.005, 0.004], 0.004), ("cuda", [3, 1], 1)]
)
def test_of_two_runs_the_second_counts(race, device, times, counts):
    of_each = iter(times)
    race._device, race._timed = lambda key: device, lambda key: next(of_each)
    race._untimed = race._timed
    assert race._warm(KEYS[0]) == counts


@pytest.mark.parametrize("rss", [8, None])  # a system may not tell it
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_run_that_memory_is_measured_by_stands_for_the_untimed_one(race, device, rss):
    ran, record = [], Record()
    race._device, race._prepare, race.path = lambda key: device, lambda key: None, "path"
    race.conductor.run = lambda key, path, counted_as="timed runs": ran.append(counted_as) or 1.0
    answers = {"outcome": "hash", "timings": {}, "counts": {}, "peak_rss_bytes": rss, "peak_memory": {}}
    race._ask = lambda key, method, *_: answers.get(method)
    race._verify = lambda key, record: None
    race._sample(KEYS[0], record)
    assert ran == ["untimed runs", "timed runs"] and record.times == [1.0] and record.base_rss_bytes == rss
    record.times.clear()  # it is raced once more
    race._sample(KEYS[0], record)
    assert ran[2:] == {"cpu": ["timed runs"], "cuda": ["untimed runs", "timed runs"]}[device]


def test_a_time_of_0_is_a_reason_and_no_sample(race):
    asked, said, record = [], [], Record(output_hash="hash")
    race._warm, race.conductor.say = lambda key: 0.0, said.append
    race._ask = lambda key, method, *_: asked.append(method)
    race._sample(KEYS[0], record)
    assert (record.status, record.times, asked) == ("crashed", [], ["forget"])
    assert record.reason == "its own clock printed a time of 0 for 4 pairs: it is too coarse for them"
    assert said == [f"  a score: crashed: {record.reason}"]


def test_of_a_cells_verdicts_the_one_with_wrong_answers_stands(race, monkeypatch):
    monkeypatch.setattr(one_race.oracle, "judge_again", lambda *told: None)
    race.pairs, race.exact = "pairs", {"edit": "of edit", "affine(4,6,2)": "of affine"}
    race._objective = lambda key: Edit()
    wrong = Verdict(pairs=4, answered=4, judged=4, native_right=3, failing=[[2, "why"]])
    refused = Verdict(pairs=4, answered=1, judged=1, native_right=1, refused={"out_of_memory": 3})
    record, given = Record(), iter([wrong, refused])
    race._ask = lambda *_: next(given)
    for _ in range(2):
        race._verify(KEYS[0], record)
    assert record.verdict is wrong


def test_rounds_end_when_every_median_is_known(race):
    known, unknown = Record(times=[1.0] * 6), Record(times=[1.0, 2, 3, 4, 5, 6])
    race.records = {"known": known, "unknown": unknown, "failed": Record(times=unknown.times, status="crashed")}
    assert race._settled(["known", "failed"]) and not race._settled(["known", "unknown"])


@pytest.mark.parametrize(("even", "valid"), [((True, True), True), ((True, False), False), ((False, True), False)])
def test_one_uneven_twin_makes_a_race_invalid(race, even, valid):
    race._twins = lambda: {number: {"even": one} for number, one in enumerate(even)}
    assert race.run(5, 6)[1]["valid"] is valid


@pytest.mark.parametrize(("scope", "affine"), [("cigar", "of affine"), ("score", None)])
def test_cigars_are_judged_by_the_exact_scores_of_either_objective(race, scope, affine):
    asked, record = [], Record()
    race.exact = {"edit": "of edit", "affine(4,6,2)": "of affine"}
    race._objective = lambda key: Edit()
    race._ask = lambda key, *request: asked.append(request) or Verdict()
    key = Key("edlib", scope, 1, 4)
    race._verify(key, record)
    assert asked == [("verify", key.name, "of edit", affine)] and record.verdict == Verdict()


def test_what_a_tool_fails_is_judged_again_before_it_is_blamed(race, monkeypatch):
    asked = []
    monkeypatch.setattr(one_race.oracle, "judge_again", lambda *told: asked.append(told))
    race.pairs, race.exact = "pairs", {"edit": "of edit", "affine(4,6,2)": "of affine"}
    race._objective = lambda key: Edit()
    race._ask = lambda *_: Verdict(failing=[[3, "why"], [9, "why"]])
    race._verify(KEYS[0], Record())
    assert asked == [("pairs", Edit(), "of edit", [3, 9])]
