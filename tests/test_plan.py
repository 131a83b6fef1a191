"""What a plan says of a run's time: the cells that are timed, races, letters, compilation, minutes in all."""

from dataclasses import replace

import pytest

from workflow import aligners
from workflow.race.race import STEP_SECONDS
from workflow.scripts import plan, settings


def test_the_plan_counts_the_cells_that_are_timed():
    race = replace(plan.race_plan(settings.load(lane="full"), "thesis_tab1"), threads=(1, 8))
    cells = plan.contestants(race, aligners.load(), gpu=False)
    assert cells["edlib"] == [("score", 1), ("score", 8), ("cigar", 1), ("cigar", 8)]
    assert cells["wavebench-wfa:pool"] == [("score", 8), ("cigar", 8)]
    assert cells["rapidfuzz:pool"] == [("score", 8)]
    assert cells["wavebench-edit:fast"] == []
    with_gpu = plan.contestants(race, aligners.load(), gpu=True)
    assert with_gpu["wavebench-edit:fast"] == [("score", 1), ("cigar", 1)]
    assert plan.twins(race, aligners.load(), cells) == (1, 3)
    assert plan.twins(race, aligners.load(), with_gpu) == (2, 5)
    assert plan.twins(replace(race, threads=(1,)), aligners.load(), cells) == (1, 2)


def test_letters_and_gpu_tools_add_to_the_estimate():
    lite, adapters = settings.load(lane="lite"), aligners.load()
    assert plan.gigabytes(lite, "thesis_tab1", "uniform_150_e5") == 3
    assert plan.gigabytes(lite, "thesis_tab9", "real_ecoli") == 0
    assert plan.gigabytes(lite, "thesis_tab9", "illumina_150") == pytest.approx(0.3, rel=0.1)
    without, with_gpu = (
        plan.experiment_seconds(replace(lite, gpu=gpu), "thesis_tab1", adapters) for gpu in (False, True)
    )
    letters = sum(plan.gigabytes(lite, "thesis_tab1", dataset) for dataset in lite.datasets("thesis_tab1"))
    assert with_gpu > without + 8 * letters * plan.GPU_CELL_SECONDS


def test_a_race_is_estimated_by_its_fewest_rounds_its_budget_or_its_most_rounds():
    race = replace(plan.race_plan(settings.load(lane="kick"), "thesis_tab1"), round_seconds=1, race_seconds=100)
    few, some, many = (plan.race_seconds(race, cells) for cells in (1, 8, 100))
    assert few < some == 100 < many == STEP_SECONDS


def test_minutes_are_those_of_the_races_the_drawings_and_the_rest(monkeypatch):
    chosen = replace(settings.load(lane="kick"), gpu=False)
    raced = [name for name in chosen.experiments if chosen.datasets(name)]
    monkeypatch.setattr(plan, "experiment_seconds", lambda _chosen, name, _adapters: 600 if name in raced else 1e9)
    drawn = len(chosen.config["tables"]) + len(chosen.config["figures"])
    expected = 10 * len(raced) + (plan.FIXED_SECONDS + drawn * plan.SCRIPT_SECONDS) / 60
    assert plan.estimate_minutes(chosen) == pytest.approx(expected)


def test_each_race_takes_its_time_and_kernels_are_compiled_once(monkeypatch):
    monkeypatch.setattr(plan, "gigabytes", lambda *_: 0.0)
    chosen, adapters, seconds = replace(settings.load(lane="kick"), gpu=False), aligners.load(), []
    for number in (1, 2, 3):
        datasets = chosen.experiments["thesis_tab1"]["datasets"][:number]
        few = replace(chosen, lane=chosen.lane | {"pairs": dict.fromkeys(datasets, 10), "narrow": {}})
        seconds.append(plan.experiment_seconds(few, "thesis_tab1", adapters))
    one, two, three = seconds
    assert three - two == pytest.approx(two - one)
    on_cpu = sum(adapters[tool].device == "cpu" for tool in plan.race_plan(few, "thesis_tab1").tools)
    assert one - (two - one) == pytest.approx(plan.COMPILE_SECONDS["cpu"] * on_cpu)
