"""CPU ratio: the fastest peer of a race, the targets beside it, and why a cell has none; as a table and heat maps."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from tests.synthetic import race_rows
from tests.tables import cells, markdown_rows, read_csv
from tests.test_figures import check_text, words
from workflow.race import samples
from workflow.race.provenance import PROCEDURE
from workflow.scripts import cpu_races, cpu_ratios, ratios
from workflow.scripts.figures import cpu_ratio as figure
from workflow.scripts.tables import cpu_ratio as table

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ROOT / "config/targets/cpu_ratio.csv"
CONFIGS = [ROOT / f"config/experiments/{id_}.yaml" for ids in cpu_races.EXPERIMENTS.values() for id_ in ids]
HOST = "some-cpu-2c"
OURS = ("wavebench-auto", "cpu", 1)
EDIT = {OURS: 1.0, ("edlib", "", 1): 9.0, ("edlib-native", "", 1): 3.0, ("rapidfuzz", "", 1): 1.6}
AFFINE = {OURS: 1.0, ("wfa2-lib-native", "biwfa", 1): 0.8, ("parasail-native", "scan", 1): 4.0}


@pytest.fixture
def race(tmp_path):
    """race(dataset, seconds, ...) writes a race file of edit distance and gives its path; see affine()."""

    def race(dataset, seconds, more=(), valid=True, **changes):
        changes = {"experiment": "thesis_tab1", "scope": "score", "race_id": dataset} | changes
        rows = race_rows(dataset, seconds, **changes)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        samples.write(path, [*rows, *more], {"valid": valid, "procedure": PROCEDURE})
        return path

    return race


@pytest.fixture
def arguments(tmp_path):
    """arguments(files, ...) is the command line of the table and the figure, with the path of what they write."""

    def arguments(files, targets=TARGETS, lane="kick", host=HOST, out="cpu_ratio"):
        configs = [f"--config={path}" for path in CONFIGS]
        lane = f"--lane={ROOT}/config/lanes/{lane}.yaml"
        return [*map(str, files), *configs, lane, f"--targets={targets}", f"--host={host}", f"--out={tmp_path / out}"]

    return arguments


@pytest.fixture
def draw_up(arguments, tmp_path):
    """draw_up(files) draws up the table and gives its path without suffix."""

    def draw_up(files, **changes):
        run = CliRunner().invoke(table.main, arguments(files, **changes))
        assert run.exit_code == 0, run.output
        return tmp_path / "cpu_ratio"

    return draw_up


def affine(race, dataset, seconds=AFFINE, **changes):
    """A race of gap-affine alignment."""
    return race(dataset, seconds, **{"experiment": "thesis_tab8", "metric": "affine", "penalties": "4,6,2"} | changes)


def test_the_fastest_peer_counts_bindings_and_natives_alike(race, draw_up):
    out = draw_up([race("uniform_150_e5", EDIT), affine(race, "uniform_1000_e5", scope="cigar")])
    (edit,) = cells(out, dataset="uniform_150_e5", metric="edit", scope="score")
    assert (edit["peer"], edit["peers_compared"], edit["asked"], edit["met"]) == ("rapidfuzz", "3", "1.9", "false")
    low, ratio, high = (float(edit[name]) for name in ("ci_low", "ratio", "ci_high"))
    assert 1.5 < low <= ratio <= high < 1.71 and low < ratio < high
    (path,) = cells(out, dataset="uniform_1000_e5", metric="affine", scope="cigar")
    assert path["peer_name"] == "WFA2-lib, native (BiWFA)" and float(path["ratio"]) == pytest.approx(0.8, rel=0.07)
    assert (path["asked"], path["stretch"], path["met"]) == ("1", "1.4", "false")


def test_a_ratio_and_its_targets_are_tidy(race, draw_up):
    rows = read_csv(f"{draw_up([race('uniform_150_e5', EDIT)])}.tidy.csv")
    measured = [row for row in rows if row["quantity"] == "ratio_vs_best_native_peer" and row["status"] == "ok"]
    (row,) = measured
    told = [row[name] for name in ("tool", "variant", "metric", "scope", "length_bp", "error", "threads", "note")]
    assert told == ["wavebench-auto", "cpu", "edit", "score", "150", "0.05", "1", "RapidFuzz"]
    assert float(row["ci_low"]) < float(row["value"]) < float(row["ci_high"]) and row["rounds"] == "8"
    assert len([row for row in rows if row["quantity"] == "ratio_asked"]) == len(cpu_races.PLACES) == 48


def test_a_met_target_is_bold_and_stands_beside_the_ratio(race, draw_up):
    out = draw_up([race("uniform_150_e2", {OURS: 1.0, ("edlib-native", "", 1): 3.0}), race("uniform_150_e5", EDIT)])
    lines = {(line[2], line[3]): line[4:] for line in markdown_rows(out) if line[1] == "edit distance, score"}
    ratio, asked, stretch, peer, own = lines["150", "2"]
    assert ratio.startswith("**") and (asked, stretch, peer, own) == ("2.5", "3.0", "Edlib, native", "")
    assert not lines["150", "5"][0].startswith("**") and lines["150", "5"][1] == "1.9"


@pytest.mark.parametrize(("pairs", "met"), [(63, ""), (64, "true")])
def test_a_target_is_asked_of_as_many_pairs_as_it_says(race, draw_up, pairs, met):
    out = draw_up([race("uniform_150_e2", {OURS: 1.0, ("edlib-native", "", 1): 3.0}, pairs=pairs)])
    (row,) = cells(out, dataset="uniform_150_e2", metric="edit", scope="score")
    assert row["met"] == met and float(row["ratio"]) > 2.5


@pytest.mark.parametrize(("low", "met"), [(1.99, False), (2.0, True)])
def test_a_target_is_met_by_the_whole_interval(low, met):
    best, race = SimpleNamespace(low=low, median=2.5, high=3.0, row={"pairs": 64}), SimpleNamespace(valid=True)
    assert cpu_ratios.Cell(cpu_races.PLACES[0], 2.0, 3.0, race, best).met is met


def test_an_invalid_race_neither_meets_nor_misses_a_target(race, draw_up):
    uneven = race("uniform_150_e2", {OURS: 1.0, ("edlib-native", "", 1): 30.0}, valid=False)
    out = draw_up([uneven])
    (row,) = cells(out, dataset="uniform_150_e2", metric="edit", scope="score")
    assert float(row["ratio"]) > 20 and (row["met"], row["note"]) == ("", "race invalid")
    (ratio,) = [line[4] for line in markdown_rows(out) if line[1:4] == ["edit distance, score", "150", "2"]]
    assert not ratio.startswith("**") and "**race invalid**" in ratio
    (text,) = [text for axes in drawn([uneven]).axes for text in axes.texts if text.get_text()[-1].isdigit()]
    assert text.get_fontweight() == "normal"


def test_a_ratio_of_a_race_of_an_older_procedure_says_so():
    best, race = SimpleNamespace(stale=False, row={"pairs": 64}), SimpleNamespace(older=True, valid=True)
    assert cpu_ratios.Cell(cpu_races.PLACES[0], 2.0, 3.0, race, best).marks == ["older way of measuring"]


def test_a_kernel_of_ours_whose_interval_holds_1_is_not_called_faster(race, draw_up):
    out = draw_up([race("uniform_150_e5", {**EDIT, ("wavebench-ond", "cpu", 1): 0.985})])
    (row,) = cells(out, dataset="uniform_150_e5", metric="edit", scope="score")
    assert row["faster_own"] == ""


def test_what_is_no_peer_is_left_out(race, draw_up):
    easier = {("edlib-native", "", 1): 0.5}
    gpu = race_rows("uniform_150_e5", {("wavebench-affine", "fast", 1): 0.1, ("parasail", "diag", 1): 0.1},
                    experiment="thesis_tab8", scope="score", quantity="time_end_to_end_pinned")  # fmt: skip
    wrong = race_rows("uniform_150_e5", {("parasail", "scan", 1): 0.1}, experiment="thesis_tab8", scope="score",
                      recall_native=0.9)  # fmt: skip
    edit_only = race_rows("uniform_150_e5", easier, experiment="thesis_tab8", scope="score", recall_affine=0.7)
    heuristic = [{**row, "exact": False} for row in race_rows(
        "uniform_150_e5", {("wavebench-wfa", "band", 1): 0.1, ("parasail", "striped", 1): 0.1},
        experiment="thesis_tab8", scope="score", recall_native=0.99,
    )]  # fmt: skip
    twin = race_rows("uniform_150_e5", {OURS: 0.1}, experiment="thesis_tab8", scope="score", twin=True)
    absent = [{**wrong[0], "tool": "ksw2", "variant": "", "status": "timeout", "round": 0, "value_s": None}]
    out = draw_up([affine(race, "uniform_150_e5", more=[*gpu, *wrong, *edit_only, *heuristic, *twin, *absent])])
    (row,) = cells(out, dataset="uniform_150_e5", metric="affine", scope="score")
    assert (row["peer"], row["peers_compared"], row["faster_own"]) == ("wfa2-lib-native:biwfa", "2", "")
    told = "peers without a ratio: Parasail (striped) a heuristic (1 cell); KSW2 timeout (1 cell)"
    assert told in Path(f"{out}.md").read_text()


def test_an_easier_problem_is_told_by_a_tools_objective_or_by_its_answers(race, draw_up):
    def faster(tool, **told):
        return race_rows("uniform_150_e5", {tool: 0.1}, experiment="thesis_tab8", scope="score", **told)

    peer = faster(("ksw2", "", 1), recall_affine=1.0)
    lucky = faster(("edlib-native", "", 1), recall_affine=1.0)
    users_own = [row | {"tool": "mine", "variant": ""} for row in faster(("parasail", "diag", 1), recall_affine=0.7)]
    unverified = faster(("wfa2-lib", "biwfa", 1), recall_native=None, verified=0)
    out = draw_up([affine(race, "uniform_150_e5", more=[*peer, *lucky, *users_own, *unverified])])
    (row,) = cells(out, dataset="uniform_150_e5", metric="affine", scope="score")
    assert (row["peer"], row["peers_compared"]) == ("ksw2", "3")


def test_races_of_several_files_are_shown_once_the_newest_and_at_the_penalties_asked(race, tmp_path):
    def shown(*files):
        return [(one.rows[0]["time_utc"], one.rows[0]["penalties"]) for one in ratios.shown(ratios.read(files))]

    older, newer = (affine(race, "uniform_150_e5", time_utc=f"2026-01-0{day}") for day in (2, 3))
    other = affine(race, "uniform_150_e5", penalties="2,3,1", time_utc="2026-01-04")
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(older.read_bytes())
    assert len(ratios.read([older, copy])) == 1 and shown(older, copy) == [("2026-01-02", "4,6,2")]
    assert shown(older, newer, other) == shown(other, newer, older) == [("2026-01-03", "4,6,2")]
    assert shown(other) == []


def test_the_fastest_peer_is_of_the_least_time_a_cell_however_few_pairs_another_ran(race, draw_up):
    few = [row | {"pairs": 100, "cells": row["cells"] / 200} for row in race_rows(
        "uniform_150_e5", {OURS: 1.0, ("parasail", "scan", 1): 0.5}, experiment="thesis_tab8", scope="score",
    )]  # fmt: skip
    out = draw_up([affine(race, "uniform_150_e5", more=few)])
    (row,) = cells(out, dataset="uniform_150_e5", metric="affine", scope="score")
    assert row["peer"] == "wfa2-lib-native:biwfa" and float(row["ratio"]) > 0.7


def test_a_faster_kernel_of_ours_is_told(race, draw_up):
    seconds = {**EDIT, ("wavebench-ond", "cpu", 1): 0.5, ("wavebench-bpm", "cpu", 1): 0.7}
    out = draw_up([race("uniform_150_e5", seconds)])
    (row,) = cells(out, dataset="uniform_150_e5", metric="edit", scope="score")
    assert row["faster_own"] == "wavebench-ond:cpu" and float(row["faster_own_ratio"]) == pytest.approx(2, rel=0.1)
    wrong = race_rows("uniform_150_e5", {("wavebench-wfa", "cpu", 1): 0.1}, scope="score", recall_native=0.9)
    draw_up([race("uniform_150_e5", seconds, more=wrong)])
    (row,) = cells(out, dataset="uniform_150_e5", metric="edit", scope="score")
    assert row["faster_own"] == "wavebench-ond:cpu", "of those that were right"
    notes = [row["note"] for row in read_csv(f"{out}.tidy.csv") if row["quantity"] == "ratio_vs_best_native_peer"]
    assert any(note.startswith("RapidFuzz; wavebench O(ND) (CPU) ") for note in notes)


def test_every_cell_without_a_ratio_says_why(race, draw_up):
    alone, wrong = race("uniform_150_e2", {OURS: 1.0}), race("uniform_150_e10", EDIT, recall_native=0.9)
    failed = race_rows("uniform_300_e2", {OURS: 1.0}, scope="score", status="crashed", reason="exit code -9")
    older = race("uniform_1000_e2", {("edlib", "", 1): 1.0, ("wavebench-wfa", "cpu", 1): 1.0})
    out = draw_up([alone, wrong, older, race("uniform_300_e2", {("edlib", "", 1): 1.0}, more=failed)])
    edit = {row["dataset"]: row for row in cells(out, metric="edit", scope="score")}
    assert not any(row["ratio"] for row in edit.values()) and all(row["reason"] for row in edit.values())
    assert [edit[f"uniform_{name}"]["status"] for name in ("150_e2", "150_e10", "300_e2", "1000_e2", "10000_e2")] == [
        "no peer", "wrong answers", "crashed", "ours not raced", "not in this lane"
    ]  # fmt: skip
    assert edit["uniform_150_e5"]["status"] == "no sample yet"
    assert edit["uniform_300_e5"]["status"] == "not in this lane"
    assert "not in this lane: the data set is not in lane kick (" in Path(f"{out}.md").read_text()


def test_pairs_that_ours_refused_are_no_want_of_a_peer(race, draw_up):
    ours = race_rows("uniform_150_e5", {OURS: 1.0}, scope="score", coverage=0.9, refused='{"out_of_memory": 2000}')
    out = draw_up([race("uniform_150_e5", {("edlib", "", 1): 9.0}, more=ours)])
    (row,) = cells(out, dataset="uniform_150_e5", metric="edit", scope="score")
    told = "refused 10 %", "wavebench-auto:cpu refused 10 % of the pairs"
    assert (row["status"], row["reason"]) == told
    fewer = race_rows("uniform_150_e5", {OURS: 1.0, ("rapidfuzz", "", 1): 2.0}, scope="score", pairs=100)
    out = draw_up([race("uniform_150_e5", {("edlib", "", 1): 9.0}, more=ours + fewer)])
    (row,) = cells(out, dataset="uniform_150_e5", metric="edit", scope="score")
    assert (row["status"], row["peer"], row["pairs"]) == ("ok", "rapidfuzz", "100"), "of pairs that ours answered"


def test_the_missing_cells_come_from_experiments_of_their_own(race, draw_up):
    long = race("uniform_10000_e5", {OURS: 1.0, ("wfa2-lib-native", "biwfa", 1): 2.0}, experiment="cpu_edit")
    out = draw_up([long, affine(race, "uniform_300_e2", experiment="cpu_affine")])
    (row,) = cells(out, dataset="uniform_10000_e5", metric="edit", scope="score")
    assert row["peer"] == "wfa2-lib-native:biwfa" and float(row["ratio"]) == pytest.approx(2, rel=0.07)
    (row,) = cells(out, dataset="uniform_300_e2", metric="affine", scope="score")
    assert row["peers_compared"] == "2"


def test_doubts_stand_with_the_ratio(race, draw_up):
    changes = {"tool_source_hash": "old", "pairs": 48, "valid": False}
    out = draw_up([race("uniform_150_e5", {OURS: 1.0, ("edlib-native", "", 1): 3.0}, **changes)])
    (row,) = cells(out, dataset="uniform_150_e5", metric="edit", scope="score")
    assert row["note"] == "stale; race invalid; 48 pairs, fewer than 64"


def test_a_recorded_host_stands_below_this_one_and_one_without_ratios_in_a_note(race, draw_up):
    files = [
        race("uniform_150_e5", EDIT, host="a"),
        race("uniform_150_e5", EDIT),
        race("uniform_150_e5", {("edlib", "", 1): 1.0}, host="b"),
    ]
    out = draw_up(files)
    where = list(dict.fromkeys(line[0].split(" · ")[0] for line in markdown_rows(out)[1:]))
    assert where == ["this host", "recorded: a"]
    assert "No line of recorded host b, which has no ratio: " in Path(f"{out}.md").read_text()
    assert len(cells(out, source="recorded", host="b")) == 48


def test_what_a_machine_of_the_same_id_recorded_is_not_of_this_host(race, draw_up, tmp_path):
    """Its lane is larger, but it is not what was measured here."""
    own = race("uniform_150_e5", EDIT)
    recorded = tmp_path / "recorded" / HOST / "cpu/thesis_tab1/uniform_150_e5.parquet"
    recorded.parent.mkdir(parents=True)
    race("uniform_150_e5", EDIT | {OURS: 0.5}, lane="cpu", pairs_total=10**6).rename(recorded)
    out = draw_up([own, recorded])
    told = {line[0]: line[4].split(" ")[0].strip("*") for line in markdown_rows(out)[1:] if " · " in line[0]}
    assert set(told) == {"this host · kick", f"recorded: {HOST} (another run) · cpu"}
    (here,) = [c for c in cells(out, source="here") if c["ratio"]]
    assert float(here["ratio"]) == pytest.approx(1.6, rel=0.05) and here["lane"] == "kick"


def test_the_targets_are_those_asked():
    targets = cpu_ratios.read_targets(TARGETS)
    place = cpu_races.Place
    assert targets[place("edit", "score", 1000, 10)] == (2.8, 4.5)
    assert targets[place("affine", "score", 10000, 2)] == (0.9, 1.2)
    assert {targets[p] for p in cpu_races.PLACES if p.scope == "cigar"} == {(1, 1.8), (1, 1.4), (1, 1.2)}


@pytest.mark.parametrize("command", [table.main, figure.main])
def test_targets_that_lack_a_cell_are_one_message(command, arguments, tmp_path):
    short = tmp_path / "short.csv"
    short.write_text("\n".join(TARGETS.read_text().splitlines()[:-1]))
    run = CliRunner().invoke(command, arguments([], targets=short))
    assert run.exit_code == 2 and "Traceback" not in run.output
    assert "short.csv: needs numbers 'asked' and 'stretch' of affine path at 10000 nt at 10 %" in " ".join(
        run.output.split()
    )


def drawn(files, lane="kick"):
    """The figure of race files."""
    hosts, _ = cpu_ratios.read(files, TARGETS, CONFIGS, ROOT / f"config/lanes/{lane}.yaml", HOST)
    return figure.draw(hosts, HOST)


def test_heat_maps_print_values_reasons_and_the_host(race):
    files = [race("uniform_150_e5", EDIT, host="other"), affine(race, "uniform_1000_e5")]
    files.append(race("uniform_150_e5", {OURS: 1.0, ("edlib-native", "", 1): 1.0}, valid=False))
    picture = drawn(files)
    told = words(picture)
    assert "this host some-cpu-2c, lane kick race invalid" in told and "recorded on other, lane kick" in told
    assert "a: no sample yet." in told and "b: not in this lane." in told
    values = [text.get_text() for axes in picture.axes for text in axes.texts]
    assert [value for value in values if value.startswith("~")] and [value for value in values if value[0] == "0"]
    assert len([value for value in values if value[-1].isdigit()]) == 3 and len(values) == 2 * 48
    check_text(picture)


def test_a_met_target_is_bold_in_the_heat_map(race):
    picture = drawn([race("uniform_150_e2", {OURS: 1.0, ("edlib", "", 1): 20.0}), race("uniform_150_e5", EDIT)])
    texts = [text for axes in picture.axes for text in axes.texts if text.get_text()[-1].isdigit()]
    weights = {float(text.get_text()) > 10: text.get_fontweight() for text in texts}
    assert weights == {True: "bold", False: "normal"}


def test_the_colours_are_centred_on_1(race):
    picture = drawn([race("uniform_150_e5", EDIT)])
    (image, *_) = [image for axes in picture.axes for image in axes.images]
    assert image.norm(1) == pytest.approx(0.5) and image.norm(2) + image.norm(0.5) == pytest.approx(1)


def test_without_samples_the_heat_map_says_so(arguments, tmp_path):
    run = CliRunner().invoke(figure.main, arguments([]))
    assert run.exit_code == 0, run.output
    assert (tmp_path / "cpu_ratio.svg").exists() and (tmp_path / "cpu_ratio.png").exists()


def test_a_host_without_a_ratio_is_named_below_the_maps(race):
    picture = drawn([race("uniform_150_e5", {OURS: 1.0}, host="alone")])
    told = words(picture)
    assert "no race with our kernel and a peer yet" in told and "No ratio on alone: no peer, ours not raced." in told
    check_text(picture)


def test_why_this_host_has_no_ratio_is_said_where_it_has_raced(race):
    failed = race_rows("uniform_150_e5", {OURS: 1.0}, scope="score", status="crashed", reason="exit code -9")
    files = [race("uniform_150_e2", EDIT, host="other"), race("uniform_150_e5", {("edlib", "", 1): 1.0}, more=failed)]
    picture = drawn(files)
    assert "No ratio on this host: crashed, ours not raced." in words(picture)
    assert "No ratio on" not in words(drawn(files[:1]))
    check_text(picture)
