"""What a reader must see beside a time: wrong, refused, unverified or few answers, stale sources, uneven races."""

import json
from pathlib import Path

import pytest
import yaml

from tests.synthetic import measurement
from tests.tables import ROOT, cells, drawer, read_csv
from workflow.scripts import doubts
from workflow.scripts.doubts import twins_too_noisy


@pytest.fixture
def make(tmp_path):
    """make(table, rows) draws up a table from collected rows and gives the path without suffix."""
    return drawer(tmp_path)


def test_a_wrong_tool_that_claims_exactness_is_struck_out(make):
    out = make("thesis_tab1", [measurement(recall_native=0.99996)])
    text = Path(f"{out}.md").read_text()
    assert "~~250 s ±0.60 %~~ · 20K of 10M pairs **(recall 99.996 %)**" in text
    assert '<s><span>250 s</span> <span class="ci">±0.60 %</span></s>' in Path(f"{out}.html").read_text()
    assert cells(out, tool="edlib", source="here", dataset="uniform_150_e5", scope="cigar")[0]["struck_out"] == "true"


def test_a_heuristic_tool_and_an_affine_recall_are_not_struck_out(make):
    text = Path(f"{make('thesis_tab1', [measurement(recall_native=0.9, exact=False)])}.md").read_text()
    assert "~~" not in text
    row = measurement(experiment="thesis_tab8", metric="affine", penalties="4,6,2", recall_affine=0.696)
    text = Path(f"{make('thesis_tab8', [row])}.md").read_text()
    assert "R 69.6 % · 20K of 100M pairs" in text and "~~" not in text


def test_doubts_stand_beside_the_time(make):
    row = measurement(stale=True, older_way=True, race_valid=False, race_note="twins uneven (x: ratio 1.080)",
                      coverage=0.995, refused=json.dumps({"over_limit": 100}))  # fmt: skip
    text = Path(f"{make('thesis_tab1', [row])}.md").read_text()
    assert "**(coverage 99.5 %, stale, older way of measuring, race invalid)**" in text
    assert "Race of uniform_150_e5 on some-cpu-2c: twins uneven (x: ratio 1.080)" in text
    assert "100 of 20000 pairs refused: over limit (Edlib, 150 nt e = 5 %)" in text and "{" not in text


def test_what_several_races_of_a_host_had_to_say_is_said_once(make):
    rows = [measurement(dataset=f"uniform_150_e{error}", race_note="slices of 0.5 s") for error in (2, 5)]
    text = Path(f"{make('thesis_tab1', rows)}.md").read_text()
    assert "Races of uniform_150_e2, uniform_150_e5 on some-cpu-2c: slices of 0.5 s" in text


def test_answers_without_an_exact_score_are_told(make):
    out = make("thesis_tab1", [measurement(verified=17_000)])
    assert "**(17000 of 20000 answers verified)**" in Path(f"{out}.md").read_text()
    assert '<small class="mark">17000 of 20000 answers verified</small>' in Path(f"{out}.html").read_text()
    (cell,) = cells(out, source="here", tool="edlib", scope="cigar", dataset="uniform_150_e5")
    assert "17000 of 20000 answers verified" in cell["note"]
    tidy = [r for r in read_csv(f"{out}.tidy.csv") if r["tool"] == "edlib" and r["status"] == "ok"]
    assert tidy and all("17000 of 20000 answers verified" in r["note"] for r in tidy if r["source"] == "here")


def test_refused_pairs_are_no_unverified_answers(make):
    out = make("thesis_tab1", [measurement(coverage=0.995, verified=19_900)])
    assert "answers verified" not in Path(f"{out}.csv").read_text()


def test_pairs_that_a_gpus_tool_left_to_the_cpu_are_told(make):
    ours = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU", "quantity": "time_end_to_end_pinned"}
    found = {"uniform_150_e2": 12, "uniform_150_e5": 1, "uniform_150_e10": 0, "uniform_300_e2": None}
    out = make("thesis_tab1", [measurement(dataset=name, rescued=n, **ours) for name, n in found.items()])
    text = Path(f"{out}.html").read_text()
    assert '<small class="mark">12 pairs by the CPU</small>' in text and ">1 pair by the CPU<" in text
    assert text.count("by the CPU</small>") == 2 and "n pairs by the CPU: no kernel of the GPU" in text
    rows = {r["dataset"]: r for r in cells(out, source="here", tool="wavebench-edit", scope="cigar", status="ok")}
    assert {name: row["rescued"] for name, row in rows.items()} == dict(zip(found, ["12", "1", "0", ""], strict=True))
    assert rows["uniform_150_e2"]["note"].startswith("12 pairs by the CPU")
    tidy = [r for r in read_csv(f"{out}.tidy.csv") if r["quantity"] == "rescued"]
    assert [(r["value"], r["unit"]) for r in tidy] == [("12", "pairs"), ("1", "pairs"), ("0", "pairs")]


@pytest.mark.parametrize("source", ["here", "recorded"])
def test_a_hosts_unsteadiness_stands_under_the_table(make, source):
    noisy = measurement(source=source, canary_drift=-0.3)
    uneven = measurement(source=source, race_id="r2", dataset="uniform_300_e5", race_valid=False, race_note="twins")
    text = Path(f"{make('thesis_tab1', [noisy, uneven])}.md").read_text()
    (told,) = [line for line in text.splitlines() if line.startswith(("- This host: some", "- Recorded: some"))]
    assert "1 of 2 races invalid" in told and "drifted by up to 30 %, in 1 by more than 10 %: a noisy machine" in told
    quiet = Path(f"{make('thesis_tab1', [measurement(source=source)])}.md").read_text()
    assert "0 of 1 races invalid" in quiet and "by up to 1.0 %." in quiet and "noisy" not in quiet


def test_races_of_two_data_sets_of_the_same_content_are_two(make):
    rows = [measurement(dataset=f"uniform_{length}_e5") for length in (150, 300)]
    assert "0 of 2 races invalid" in Path(f"{make('thesis_tab1', rows)}.md").read_text()


@pytest.mark.parametrize(
    ("machines", "told"),
    [
        (("a", "a", "a"), None),
        (("a", "b", "a"), "they ran on 2 machines of its kind; "),
        (("a", "", ""), "they ran on 1 machine of its kind or more (2 of 3 do not tell); "),
        (("a", "b", ""), "they ran on 2 machines of its kind or more (1 of 3 do not tell); "),
        (("", "", ""), "on which machine of its kind each ran is not recorded; "),
    ],
)
def test_machines_of_one_kind_are_counted(make, machines, told):
    races = [
        measurement(race_id=f"r{length}", dataset=f"uniform_{length}_e5", machine=machine)
        for length, machine in zip((150, 300, 1000), machines, strict=True)
    ]
    text = Path(f"{make('thesis_tab1', races)}.md").read_text()
    assert (told in text) if told else ("of its kind" not in text)


def test_refused_pairs_do_not_carry_the_time(make):
    few = measurement(coverage=0.995, refused='{"out_of_memory": 100}')
    (cell,) = cells(make("thesis_tab1", [few]), source="here", tool="edlib", scope="cigar", dataset="uniform_150_e5")
    assert float(cell["time_s"]) == pytest.approx(0.5 / 19_900 * 10_000_000) and cell["gcups_end_to_end"] == ""
    assert "coverage 99.5 %" in cell["note"]


def test_a_tool_that_refused_many_pairs_has_no_scaled_time(make):
    most = measurement(pairs=29, coverage=2 / 29, refused='{"out_of_memory": 27}', median_s=0.1)
    none = measurement(tool="rapidfuzz", coverage=0.0, refused='{"unsupported": 20000}')
    out = make("thesis_tab1", [most, none])
    (cell,) = cells(out, source="here", tool="edlib", scope="cigar", dataset="uniform_150_e5")
    assert cell["status"] == "refused 93 %: answered 2 of 29 pairs in 0.100 s; refused: 27 out of memory"
    assert (cell["time_s"], cell["ci_low_s"], cell["gcups_end_to_end"]) == ("", "", "")
    assert (cell["time_measured_s"], cell["pairs_measured"]) == ("0.1", "29")
    assert "| *refused 93 %* |" in Path(f"{out}.md").read_text()
    tidy = [r for r in read_csv(f"{out}.tidy.csv") if r["tool"] == "edlib" and r["status"] == "ok"]
    kept = {r["quantity"]: (r["value"], r["pairs"]) for r in tidy}
    assert kept["time_end_to_end"] == ("0.1", "29") and kept["coverage"] == ("0.0689655172", "29")
    (cell,) = cells(out, source="here", row="RapidFuzz", scope="cigar", dataset="uniform_150_e5")
    assert cell["status"].startswith("all refused: answered 0 of 20000 pairs") and cell["time_s"] == ""


def test_few_pairs_are_answered_pairs(make):
    row = measurement(pairs=30, coverage=0.99, refused="{}", cells=None)
    assert "few pairs" not in Path(f"{make('thesis_tab1', [row])}.md").read_text().split("Times are medians")[0]
    row["coverage"] = 29 / 30
    out = make("thesis_tab1", [row])
    (tidy,) = [r for r in read_csv(f"{out}.tidy.csv") if r["tool"] == "edlib" and r["quantity"] == "coverage"]
    assert "few pairs" in tidy["note"]


@pytest.mark.parametrize(("threads", "pairs", "few"), [(1, 29, True), (1, 30, False), (2, 30, False), (16, 159, True),
                                                      (16, 160, False)])  # fmt: skip
def test_pairs_are_few_for_their_threads(threads, pairs, few):
    assert doubts.few_pairs(measurement(threads=threads, pairs=pairs)) == few


def test_a_time_of_idle_threads_is_marked(make):
    rows = [measurement(threads=16, pairs=10), measurement(threads=1, pairs=10)]
    of = {r["threads"]: r["note"] for r in cells(make("thesis_tab1", rows), source="here", tool="edlib", scope="cigar")
          if r["status"] == "ok"}  # fmt: skip
    assert "fewer pairs than threads" in of["16"] and "fewer pairs than threads" not in of["1"]


def test_a_time_from_few_pairs_is_marked(make):
    assert "**(few pairs)**" in Path(f"{make('thesis_tab1', [measurement(pairs=4)])}.md").read_text()


def test_a_gpus_time_scaled_from_so_few_pairs_that_they_do_not_fill_it_is_doubted(make):
    ours = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU", "quantity": "time_end_to_end_pinned"}
    few, more = (
        measurement(dataset=name, pairs=n, **ours) for name, n in (("uniform_150_e2", 1999), ("uniform_150_e5", 2000))
    )
    on_cpu = measurement(dataset="uniform_150_e10", pairs=1999)
    text = Path(f"{make('thesis_tab1', [few, more, on_cpu])}.html").read_text()
    assert text.count('<small class="mark">few pairs</small>') == 1
    assert "few pairs: scaled from fewer answered ones than 30 pairs, of several threads 10 each, on a GPU 2000" in text


def test_a_gpus_time_scaled_from_a_short_call_is_doubted(make):
    ours = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU", "quantity": "time_end_to_end_pinned"}
    short, longer, whole = (
        measurement(dataset=name, pairs=n, median_s=seconds, **ours)
        for name, n, seconds in (
            ("uniform_150_e2", 5000, 0.0099),
            ("uniform_150_e5", 5000, 0.01),
            ("uniform_150_e10", 10_000_000, 0.0099),
        )
    )
    on_cpu = measurement(dataset="uniform_300_e2", pairs=5000, median_s=0.005)
    text = Path(f"{make('thesis_tab1', [short, longer, whole, on_cpu])}.html").read_text()
    assert text.count('<small class="mark">short call</small>') == 1
    assert "short call: scaled from less than 10 ms on a GPU" in text


def test_slices_that_became_shorter_are_told_of_tools_on_the_cpu_alone(make):
    short = {"slices_note": "its CPU tools had slices of 0.5 s"}
    gpu = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU", "quantity": "time_end_to_end_pinned"}
    for row, told in ((measurement(**short), True), (measurement(**short, **gpu), False)):
        out = make("thesis_tab1", [row])
        assert ("Race of uniform_150_e5 on" in Path(f"{out}.md").read_text()) == told
        (cell,) = cells(out, source="here", status="ok")
        assert cell["race_note"] == told * short["slices_note"]


def test_twins_that_are_too_noisy_to_tell_are_not_called_even(make):
    noisy = measurement(race_even=False)
    even = measurement(race_id="r2", dataset="uniform_300_e5")
    told = Path(f"{make('thesis_tab1', [noisy, even])}.md").read_text()
    assert "0 of 2 races invalid (uneven twins), 1 with twins shown to be even, the others too noisy to tell" in told
    assert "too noisy to tell" not in Path(f"{make('thesis_tab1', [even])}.md").read_text()


@pytest.mark.parametrize(("low", "high", "noisy"), [(0.91, 1.09, False), (0.89, 1.0, True), (1.0, 1.11, True)])
def test_an_interval_of_twins_that_reaches_far_to_either_side_tells_nothing(low, high, noisy):
    even = {"low": 0.99, "high": 1.01}
    assert twins_too_noisy({"score": even, "cigar": {"low": low, "high": high}}) == noisy


def test_times_at_other_penalties_are_left_out_and_told(make):
    """An experiment whose penalties were changed asks another problem than its races of before."""
    theirs = {"experiment": "thesis_tab8", "tool": "ksw2", "source": "recorded", "host": "h200", "median_s": 0.123}
    now = measurement(**theirs | {"source": "here", "host": "some-cpu-2c", "median_s": 0.456}, penalties="2,3,1")
    experiment = yaml.safe_load((ROOT / "config/experiments/thesis_tab8.yaml").read_text()) | {"penalties": [2, 3, 1]}
    out = make("thesis_tab8", [measurement(**theirs), now], experiment=experiment)
    text = Path(f"{out}.md").read_text()
    assert "Left out: 1 race on h200: at penalties 4,6,2, not penalties 2,3,1" in text and "recorded: h200" not in text
    assert text.count("Left out: ") == 1
    told = [row for row in read_csv(f"{out}.tidy.csv") if row["tool"] == "ksw2" and row["value"] and row["unit"] == "s"]
    assert {row["penalties"] for row in told if row["source"] != "paper"} == {"2,3,1"}
