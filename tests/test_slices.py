"""Slices of a round: short enough for the fewest rounds to end within a step, the same for every tool."""

import time
from types import SimpleNamespace

import pytest

from tests.synthetic_pairs import random_pairs
from wfa_kernels import Affine, Edit, PairBatch
from workflow.aligners import Job
from workflow.race import engine
from workflow.race import race as one_race
from workflow.race.cells import Key, Record
from workflow.race.slices import Run, calibrated, cost_s, pairs_within, shortened
from workflow.race.team import WorkerFailed

RUNS = {1: Run(0.1, 0.2, 0.01), 4: Run(0.4, 0.6, 0.03), 16: Run(1.6, 2.0, 0.1)}
SIZES = [1, 4, 16, 64, 256, 1024, 4096]
SAME = {n: n for n in SIZES}  # work, of pairs that are all alike


def test_a_cell_runs_the_most_pairs_within_its_slice_and_never_none():
    within = [pairs_within(RUNS, SIZES, slice_s) for slice_s in (2, 1.6, 1.5, 0.4, 0.1, 0.01)]
    assert within == [16, 16, 4, 4, 1, 1]
    few = {1: RUNS[1], 256: Run(25.6, 30, 1)}
    assert [pairs_within(few, SIZES, slice_s) for slice_s in (30, 7, 2, 0.2)] == [256, 64, 16, 1]


def calibrate(seconds_of, untimed_s=lambda n, time: 0, work=SAME):
    """(sizes that were run in that order, what calibrated() gives for a slice of 1 s)."""
    tried = []

    def run(n):
        tried.append(n)
        took = seconds_of(n, tried.count(n))
        return None if took is None else Run(took, took + untimed_s(n, tried.count(n)), 0)

    runs = calibrated(work, 1, run)
    assert runs.keys() == {n for n in tried if seconds_of(n, tried.count(n)) is not None}
    return tried, pairs_within(runs, SIZES, 1) if runs else None


def test_sizes_that_a_call_on_few_pairs_shows_to_be_too_small_are_left_out():
    assert calibrate(lambda n, _: n / 300) == ([1, 256, 256], 256)
    assert calibrate(lambda n, _: 0.01 + n / 5000) == ([1, 64, 1024, 4096], 4096)
    assert calibrate(lambda n, _: 2) == ([1, 1], 1)


def test_what_a_call_costs_besides_does_not_keep_a_cell_at_few_pairs():
    """7 pairs of 10,000 letters took WFA-GPU's design with a band 31 ms of 100, and thousands would have taken 100."""
    assert calibrate(lambda n, _: 0.6 + n / 5000) == ([1, 1, 4, 16, 64, 256, 1024, 1024], 1024)
    assert calibrate(lambda n, _: 0.4 + max(0, n - 64) / 500) == ([1, 1, 4, 16, 64, 256, 256], 256)
    assert calibrate(lambda n, _: n * 0.4) == ([1, 1, 4, 4], 1), "one more size, since one alone does not tell"
    assert calibrate(lambda n, _: 0.1 + n * 0.05) == ([1, 4, 16, 16], 16)


def test_a_size_that_takes_longer_than_in_proportion_is_left_for_the_next_lower_ones():
    assert calibrate(lambda n, _: n * n / 1000) == ([1, 256, 64, 16, 16], 16)
    assert calibrate(lambda n, _: None if n > 60 else n / 3000) == ([1, 1024, 256, 64, 16, 16], 16)
    assert calibrate(lambda n, _: None) == ([1], None)


def test_pairs_that_are_longer_than_those_before_them_are_not_tried_for_their_number_alone():
    """37 mapped reads took 7 s, twice, where a slice was a quarter of a second: the first three took 20 ms."""
    longer = {1: 1, 4: 2, 16: 100, 64: 1000, 256: 4000, 1024: 16000, 4096: 64000}
    assert calibrate(lambda n, _: longer[n] / 500, work=longer) == ([1, 16, 16], 16)
    assert calibrate(lambda n, _: longer[n] / 5000, work=longer) == ([1, 256, 256], 256)


@pytest.mark.parametrize(("seconds", "untimed_s", "tried"), [(2.1, 0, 1), (2.1, 2.5, 1), (1.9, 0, 2), (2.1, 4, 2)])
def test_a_size_that_takes_far_longer_than_a_slice_is_run_once(seconds, untimed_s, tried):
    """A second longer; but where the untimed run took so much more that something was compiled in it."""
    found = calibrate(lambda n, _: seconds if n > 16 else 0.1, lambda n, _: untimed_s if n > 16 else 0)
    assert found == ([1, 4, 16, *[64] * tried], 16)


def test_of_short_slices_eight_are_far_longer():
    asked = []
    calibrated(SAME, 0.1, lambda n: asked.append(n) or (Run(0.9, 0.9, 0) if n > 16 else Run(0.01, 0.01, 0)))
    assert asked == [1, 4, 16, 64]


def test_a_size_that_takes_longer_the_first_time_is_timed_again():
    assert calibrate(lambda n, time: 1.9 if n == 64 and time == 1 else n / 100) == ([1, 64, 64], 64)
    assert calibrate(lambda n, time: 0.9 if n < 20 and time == 1 else n / 5000) == ([1, 1, 4096], 4096)


def test_all_pairs_within_the_slice_are_run_again_only_where_something_was_compiled_for_them():
    def compiles(n, time):
        return 5 if n == 4096 and time == 1 else n / 5000

    assert calibrate(lambda n, _: n / 5000, lambda n, _: n / 5000) == ([1, 4096], 4096)
    assert calibrate(lambda n, _: n / 5000, compiles) == ([1, 4096, 4096], 4096)


def test_the_fewest_pairs_that_take_far_longer_than_a_slice_are_run_once_where_nothing_was_compiled():
    assert calibrate(lambda n, _: 9, lambda n, _: 9) == ([1], 1)
    assert calibrate(lambda n, _: 9, lambda n, time: 15 if time == 1 else 9) == ([1, 1], 1)


def test_the_fewest_pairs_are_run_again_where_kernels_were_compiled_in_the_one_timed_run():
    """On the CPU there is no untimed run to tell it from: what align() picks for a pair, it has not run before."""
    runs = iter([Run(9, 9, 0.1, compiled=True), Run(0.01, 0.01, 0.1), Run(0.6, 0.6, 0.1), Run(0.6, 0.6, 0.1)])
    assert calibrated({1: 1, 64: 64}, 1, lambda n: next(runs)) == {1: Run(0.01, 0.01, 0.1), 64: Run(0.6, 0.6, 0.1)}


def test_of_two_tries_each_quantity_is_the_lesser_one():
    """The first takes memory, and brings what cells share: 30 GB of 100M pairs. Rounds take neither again."""
    tries = iter([Run(0.1, 0.1, 0.1), Run(0.6, 11, 25), Run(0.65, 1.3, 2)])
    assert calibrated({1: 1, 4: 4}, 1, lambda n: next(tries, None)) == {1: Run(0.1, 0.1, 0.1), 4: Run(0.6, 1.3, 2)}


def test_pairs_that_were_not_tried_cost_what_lies_between():
    assert [cost_s(RUNS, n, 1, 0) for n in (1, 3, 4, 16)] == pytest.approx([0.2, 0.4667, 0.6, 2.0], abs=1e-4)
    assert cost_s(RUNS, 64, 1, 0) == 8.0
    assert cost_s(RUNS, 4, 8, 1) == pytest.approx(4.83) and cost_s(RUNS, 64, 2, 2) == pytest.approx(16.8)


def test_slices_are_halved_until_all_fits_or_no_cell_can_do_less():
    def costs(slices_s):
        return {"cpu": 10 * slices_s["cpu"], "cuda": 3 + slices_s["cuda"]}

    least = {"cpu": 0.1, "cuda": 1.5}
    planned = {"cpu": 2, "cuda": 2}
    assert shortened(planned, least, 100, costs) == {"cpu": 2, "cuda": 2}
    assert shortened(planned, least, 12, costs) == {"cpu": 0.5, "cuda": 2}
    assert shortened(planned, least, 6, costs) == {"cpu": 0.125, "cuda": 1}, "no less than the GPU can do"
    assert shortened(planned, least, 1, costs) == {"cpu": 0.0625, "cuda": 1}
    planned = {"cpu": 2, "cuda": 4}
    assert shortened(planned, {"cpu": 0.1, "cuda": 4}, 1, costs) == {"cpu": 0.0625, "cuda": 4}


def race_to_slice(monkeypatch, pairs, adapters, cells, slices_s, **conductor):
    """A race of which only the slices are left to be found. cells: function that gives its Keys by {device: slice}."""
    race = object.__new__(one_race.Race)
    race.pairs, race.began = pairs, 0
    race.plan = SimpleNamespace(min_rounds=6, round_seconds=1, slices_s=slices_s)
    race.conductor = SimpleNamespace(adapters=adapters, say=lambda line: None, **conductor)
    monkeypatch.setattr(race, "_cells", lambda entries, slices_s: dict.fromkeys(cells(slices_s)), raising=False)
    return race


@pytest.mark.parametrize(
    ("left_s", "found"),
    [(21, (1, 1.6)), (20, (0.5, 1.6)), (14, (0.125, 1.6)), (13, (0.125, 0.8)), (1, (0.125, 0.8))],
)
def test_a_gpus_slice_is_halved_once_where_the_shortest_on_the_cpu_do_not_fit(left_s, found, monkeypatch):
    """Ten milliseconds a pair, 8 rounds: 8, 4, 2 and 1 s on the CPU, 12.8 and 6.4 on the GPU."""
    runs = {"cpu": {n: Run(n / 100, n / 100, 0) for n in (12, 25, 50, 100)}}
    runs["cuda"] = {n: Run(n / 100, n / 100, 0) for n in (80, 160)}

    def cells(slices_s):
        fitting = {device: pairs_within(runs[device], list(runs[device]), slices_s[device]) for device in runs}
        return [Key(device, "score", 1, n) for device, n in fitting.items()]

    adapters = {device: SimpleNamespace(device=device, shared_bytes_a_base=0) for device in runs}
    race = race_to_slice(monkeypatch, random_pairs(160, 20), adapters, cells, {"cpu": 1, "cuda": 1.6})
    monkeypatch.setattr(race, "_fits", lambda keys: True, raising=False)
    monkeypatch.setattr(one_race, "time", SimpleNamespace(monotonic=lambda: one_race.STEP_SECONDS - left_s))
    entries = {Key(device, "score", 1, 0): (tried, None) for device, tried in runs.items()}
    assert race._slices(entries, race.plan.slices_s) == dict(zip(("cpu", "cuda"), found, strict=True))


@pytest.mark.parametrize(("tools", "slice_s"), [(0, 2), (11, 2), (12, 1), (24, 0.5), (48, 0.25), (10_000, 0.25)])
def test_sizes_are_found_by_slices_of_which_a_step_holds_the_rounds_of_that_many_cells(tools, slice_s):
    """Two scopes a tool, 18.9 s of 450 for slices of 1 s; a missing tool and one of the GPU do not count."""
    names = [f"cpu {number}" for number in range(tools)]
    race = object.__new__(one_race.Race)
    race.plan = SimpleNamespace(
        min_rounds=6, slices_s={"cpu": 2, "cuda": 2.5}, tools=("gone", "on-gpu", *names),
    )  # fmt: skip
    race.conductor = SimpleNamespace(
        missing={"gone": "no such library"}, supported_jobs=lambda tool: ["score", "cigar"], threads=lambda tool: (1,),
        adapters={"on-gpu": SimpleNamespace(device="cuda")} | dict.fromkeys(names, SimpleNamespace(device="cpu")),
    )  # fmt: skip
    assert race._slices_of_a_step() == {"cpu": slice_s, "cuda": 2.5}


def pairs_of(frame):
    """{tool: pairs of its cell}: as the reference it is also run on what the other tools run, here never less."""
    return frame[~frame["twin"]].groupby("tool")["pairs"].min().to_dict()


@pytest.mark.slow
def test_the_fewest_rounds_fit_the_step(arena, monkeypatch):
    """Ten milliseconds a pair, 40 pairs: 0.4 s a run, and as much for the twin."""
    lane = {"scopes": ["score"], "round_seconds": 1, "race_seconds": 1}
    frame, card, lines = arena(["steady"], twin="steady", **lane)
    assert pairs_of(frame) == {"steady": 40} and card["round_seconds"] == {"cpu": 1}
    assert not any("in place of" in line for line in lines)
    monkeypatch.setattr(one_race, "STEP_SECONDS", 4)
    frame, card, lines = arena(["steady", "score-only"], twin="steady", **lane)
    assert card["round_seconds"]["cpu"] < 0.4
    assert pairs_of(frame)["steady"] == 10
    assert any("in place of 1 s (cpu): the fewest rounds would not fit" in line for line in lines)
    assert frame[~frame["twin"] & (frame["tool"] == "steady")]["round"].max() >= 5
    monkeypatch.setattr(one_race, "STEP_SECONDS", 1)
    frame, card, lines = arena(["steady", "on-gpu"], twin="steady", gpu_round_seconds=1.2, **lane)
    assert card["round_seconds"] == {"cpu": 1 / 8, "cuda": 0.6}, "a GPU's slice is halved once"
    assert pairs_of(frame) == {"steady": 10, "on-gpu": 40}, "10 ms a pair"
    assert any("slices of 0.6 s in place of 1.2 s (cuda): the fewest" in line for line in lines)
    frame, card, _ = arena(["steady", "honest"], twin="steady", **lane)
    assert card["round_seconds"] == {"cpu": 1 / 8}, "the fewest rounds are run in any case, on no less of the slice"
    assert pairs_of(frame)["steady"] == 10


@pytest.mark.slow
def test_a_heuristic_on_a_gpu_takes_the_slice_of_a_tool_on_the_cpu(arena):
    lane = {"scopes": ["score"], "round_seconds": 0.15, "race_seconds": 1, "gpu_round_seconds": 0.8}
    frame, _, _ = arena(["honest", "on-gpu", "guess-on-gpu"], **lane)
    assert pairs_of(frame)["on-gpu"] == 40
    assert pairs_of(frame)["guess-on-gpu"] == 10, "ten milliseconds a pair"


@pytest.mark.parametrize(
    ("planned", "shortened", "seconds"),
    [
        ({"cpu": 0.25, "cuda": 2.5}, {"cpu": 0.25, "cuda": 2.5}, [0.25, 0.25, 2.5, 0.25]),
        ({"cpu": 0.25, "cuda": 2.5}, {"cpu": 0.03125, "cuda": 2.5}, [0.03125, 0.03125, 2.5, 0.25]),
        ({"cpu": 0.25, "cuda": 2.5}, {"cpu": 0.03125, "cuda": 1.25}, [0.03125, 0.03125, 1.25, 0.125]),
        ({"cpu": 0.1, "cuda": 0.1}, {"cuda": 0.1}, [None, None, 0.1, 0.1]),
    ],
)
def test_a_heuristic_on_a_gpu_has_its_slice_shortened_as_exact_tools_there(planned, shortened, seconds):
    """A pair or two of long reads were all that it ran where slices on the CPU had become an eighth."""
    adapters = [SimpleNamespace(device=device, exact=exact) for device in ("cpu", "cuda") for exact in (True, False)]
    race = SimpleNamespace(
        conductor=SimpleNamespace(adapters=dict(enumerate(adapters))),
        plan=SimpleNamespace(slices_s=planned, round_seconds=planned["cpu"]),
    )
    for tool, expected in enumerate(seconds):
        if expected is not None:
            assert one_race.Race._slice_s(race, tool, shortened) == expected


@pytest.mark.slow
def test_what_exact_scores_took_is_counted(arena, monkeypatch):
    lane = {"scopes": ["score"], "round_seconds": 1, "race_seconds": 1}
    passed, find = [0], one_race.Race._find_exact_scores

    def slow_oracle(race, records):
        find(race, records)
        passed[0] += one_race.STEP_SECONDS

    monkeypatch.setattr(one_race.Race, "_find_exact_scores", slow_oracle)
    monkeypatch.setattr(one_race, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0]))
    _, card, _ = arena(["steady", "honest"], twin="steady", **lane)
    assert card["round_seconds"] == {"cpu": 1 / 8}


@pytest.mark.slow
def test_what_hashing_the_data_set_took_is_counted(arena, monkeypatch):
    lane = {"scopes": ["score"], "round_seconds": 1, "race_seconds": 1}
    step = one_race.STEP_SECONDS
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: time.monotonic() - step))
    _, card, _ = arena(["steady", "honest"], twin="steady", **lane)
    assert card["round_seconds"] == {"cpu": 1 / 8} and card["seconds"]["opening"]["in all"] >= step


def test_of_each_objective_as_many_exact_scores_are_asked_for_as_its_cells_run(monkeypatch, tmp_path):
    """Edit distance of all pairs, for a tool that runs some thousand, took what gap-affine scores had need of."""
    passed, asked = [0.0], []

    def scores(pairs, penalties, folder, key, seconds):
        asked.append((penalties, len(pairs), seconds))
        passed[0] += 4
        return f"{penalties}-{len(pairs)}", len(pairs)

    monkeypatch.setattr(one_race, "time", SimpleNamespace(monotonic=lambda: passed[0]))
    monkeypatch.setattr(one_race.oracle, "exact_scores", scores)
    edit, affine = SimpleNamespace(objective=lambda job: Edit()), SimpleNamespace(objective=lambda job: job.penalties)
    race = object.__new__(one_race.Race)
    race.plan = SimpleNamespace(penalties=Affine(4, 6, 2))
    race.conductor = SimpleNamespace(
        adapters={"edit": edit, "affine": affine, "dead": edit}, oracle_folder=tmp_path,
        job=lambda scope: Job(scope, Affine(4, 6, 2)),
    )  # fmt: skip
    race.pairs, race.dataset_hash, race.exact, race.confirmed = random_pairs(40, 20), "hash", {}, {}
    cells = {Key("edit", "cigar", 1, 3): Record(), Key("affine", "score", 1, 30): Record()}
    race._find_exact_scores({**cells, Key("dead", "cigar", 1, 40): Record(status="crashed")})
    assert asked == [(Edit(), 3, 60), (Affine(4, 6, 2), 30, 116)]
    assert race.exact == {"edit": "edit-3", "affine(4,6,2)": "affine(4,6,2)-30"} and race.confirmed["edit"] == 3
    asked.clear()
    race._find_exact_scores({Key("edit", "cigar", 1, 7): Record()})
    assert [pairs for _, pairs, _ in asked] == [7, 7], "its CIGARs are scored under the experiment's penalties, too"


@pytest.fixture
def costs(monkeypatch):
    """What the planned slices are said to cost, {device: seconds}, once slices are found; they stay."""
    told = {}

    def shortened(planned, least, left_s, costs_s):
        told.update(costs_s(planned))
        return planned

    monkeypatch.setattr(one_race.slices, "shortened", shortened)
    return told


@pytest.mark.parametrize("budget, cost", [(1e9, 8 * 2 + 1), (0, 8 * 2 + 8 * 26)])
def test_what_cells_share_of_the_most_pairs_is_not_prepared_again(costs, monkeypatch, budget, cost):
    """Ten million pairs or more take seconds to page-lock, once, and were counted for each cell of so many."""
    adapter = SimpleNamespace(device="cuda", shared_bytes_a_base=1, held_bytes_a_base=0, held_bytes_a_pair=0)
    cells = [Key("fast", "score", 1, 40), Key("fast", "cigar", 1, 10)]
    race = race_to_slice(
        monkeypatch, random_pairs(40, 20), {"fast": adapter}, lambda slices_s: cells, {"cuda": 2.5},
        prepared=SimpleNamespace(budget_bytes=budget), home=lambda key: "gpu",
    )  # fmt: skip
    runs = {Key("fast", "score", 1, 0): {40: Run(1, 1, 25)}, Key("fast", "cigar", 1, 0): {10: Run(1, 1, 1)}}
    race._slices({key: (found, None) for key, found in runs.items()}, {"cuda": 2.5})
    assert costs == pytest.approx({"cuda": cost}), "a few letters more"


def test_letters_cost_time_besides(costs, monkeypatch):
    """A hundred million pairs: their answers take as long to hash, verify and write as some runs of theirs."""
    monkeypatch.setattr(one_race, "LETTER_S", 0.25)
    pairs = PairBatch.from_strings(["ACGT", "A", "ACGTACGT"], ["AC", "ACG", ""])
    adapters, cells = {"some": SimpleNamespace(device="cpu", shared_bytes_a_base=0)}, [Key("some", "score", 1, 2)]
    race = race_to_slice(monkeypatch, pairs, adapters, lambda slices_s: cells, {"cpu": 1})
    monkeypatch.setattr(race, "_fits", lambda keys: True, raising=False)
    race._slices({Key("some", "score", 1, 0): ({2: Run(1, 3, 5)}, None)}, {"cpu": 1})
    assert costs == {"cpu": 8 * 3 + 5 + 10 / 4}


@pytest.mark.parametrize(("tools", "asked"), [(("x", "x@pageable"), ["x"]), (("x@pageable", "x"), ["x@pageable", "x"])])
def test_a_tool_takes_the_number_of_pairs_that_the_one_it_is_sized_as_has_found(tools, asked, monkeypatch):
    race, calibrated_tools = object.__new__(one_race.Race), []
    race.pairs, race.sizes, race.work = random_pairs(4, 20), {}, {1: 1, 4: 4}
    race.plan = SimpleNamespace(round_seconds=1)
    adapter = {"device": "cuda", "exact": True, "unsupported": lambda job: None}
    race.conductor = SimpleNamespace(
        missing={}, job=lambda scope: scope, say=print,
        adapters={name: SimpleNamespace(sized_as="x" if "@" in name else None, **adapter) for name in tools},
    )  # fmt: skip

    def timed(self, key):
        calibrated_tools.append(key.tool)
        return Run(0.01, 0.02, 0)

    monkeypatch.setattr(one_race.Race, "_tried", timed)
    found = [race._entry(tool, "score", 1, {"cuda": 1})[0] for tool in tools]
    assert list(dict.fromkeys(calibrated_tools)) == asked and found[0] == found[1] and max(found[0]) == 4


@pytest.mark.parametrize(("a_cell_s", "fails_on", "tried"), [(1e-7, 41, [8]), (1e-7, 3, [10]), (1e-8, 41, [10, 40])])
def test_threads_run_a_pair_each_where_one_of_them_tells_that_more_would_take_longer_than_a_slice(
    a_cell_s, fails_on, tried, monkeypatch
):
    """Ten mapped reads, the sixth of 3000 letters, the others of 100: 9 million cells for one of 8 processes."""
    reads = ["A" * (3000 if number == 5 else 100) for number in range(40)]
    race = object.__new__(one_race.Race)
    race.pairs, race.sizes, asked = PairBatch.from_strings(reads, reads), {}, []
    race.work = {n: race.pairs[:n].cells for n in (1, 3, 10, 40)}
    race.conductor = SimpleNamespace(say=lambda line: None)

    def timed(self, key):
        asked.append((key.threads, key.n))
        if key.threads == 1 and key.n >= fails_on:
            raise WorkerFailed("crashed", "killed")
        seconds = a_cell_s * race.pairs[: key.n].cells
        return Run(seconds, seconds, 0.5)

    monkeypatch.setattr(one_race.Race, "_tried", timed)
    race._calibrate("tool", "score", 1, 0.25)
    runs, why_fewer = race._calibrate("tool", "score", 8, 0.25)
    assert sorted({n for threads, n in asked if threads == 8}) == list(runs) == tried and why_fewer == ""
