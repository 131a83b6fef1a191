"""The figures of the CPU page beside the ratios: regret, time against error and length, memory; and what they lack."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from tests.synthetic import race_rows
from tests.test_figures import check_text, words
from workflow.race import samples
from workflow.race.provenance import PROCEDURE
from workflow.scripts import cpu_points, cpu_races, curves, plotting, ratios
from workflow.scripts.config_files import read_yaml
from workflow.scripts.figures import cpu_error, cpu_length, cpu_memory, cpu_regret

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = [ROOT / f"config/experiments/{id_}.yaml" for ids in cpu_races.EXPERIMENTS.values() for id_ in ids]
FIGURES = (cpu_regret, cpu_error, cpu_length, cpu_memory)
HOST = "some-cpu-2c"
OURS, WFA, BITS, OND = (("wavebench-" + name, "cpu", 1) for name in ("auto", "wfa", "bits", "ond"))
BIWFA = ("wfa2-lib-native", "biwfa", 1)


@pytest.fixture
def race(tmp_path):
    """race(length, percent, seconds, ...) writes a race file of edit distance and gives its path."""

    def race(length, percent, seconds, more=(), valid=True, procedure=PROCEDURE, **changes):
        dataset = f"uniform_{length}_e{percent}"
        named = {"experiment": cpu_races.EXPERIMENTS[changes.get("metric", "edit")][0], "scope": "cigar"}
        rows = race_rows(dataset, seconds, **named | {"race_id": dataset, "pairs": 1000} | changes)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        samples.write(path, [*rows, *more], {"valid": valid, "procedure": procedure})
        return path

    return race


def page(files, lane="kick", **experiments):
    """The Page of race files; experiments: {id: keys that change}."""
    told = {path.stem: read_yaml(path) | experiments.get(path.stem, {}) for path in CONFIGS}
    return cpu_races.page(ratios.read(files), told, read_yaml(ROOT / f"config/lanes/{lane}.yaml"), HOST)


def regret(files, scope="cigar", length=150, percent=5):
    told = page(files)
    return cpu_regret.regret(told.found(HOST, cpu_races.Place("edit", scope, length, percent)))


def test_every_place_has_an_experiment_and_one_alone():
    told = page([])
    long = [place for metric in cpu_races.METRICS for place in cpu_length.AXES.places(told, HOST, metric, "cigar")]
    for place in (*cpu_races.PLACES, *long):
        ids = cpu_races.EXPERIMENTS[place.metric]
        held = [id_ for id_ in ids if place.dataset in told.experiments[id_]["datasets"]]
        assert held == [told.experiment(place)] and place.scope in told.experiments[held[0]]["scopes"]
    assert len(set(long) - set(cpu_races.PLACES)) == 4


def test_all_our_kernels_and_ultralow_are_raced_in_every_experiment():
    for metric, ids in cpu_races.EXPERIMENTS.items():
        ours = {tool for tool in cpu_points.TOOLS[metric] if ratios.is_ours(tool)}
        for id_ in ids:
            assert ours | {"wfa2-lib-native:biwfa"} <= set(page([]).experiments[id_]["tools"]), id_


def test_a_place_without_a_race_says_why():
    place = cpu_races.Place("edit", "score", 10000, 5)
    assert page([]).found(HOST, place).short == "not in this lane"
    assert page([], lane="lite").found(HOST, place).short == "no sample yet"
    assert page([]).found("other", place).short == "not recorded"
    nowhere = page([], cpu_edit={"datasets": ["uniform_150_e5"]}).found(HOST, place)
    assert (nowhere.short, nowhere.race) == ("in no experiment", None) and "cpu_edit" in nowhere.reason


def test_regret_is_the_time_picked_over_the_fastest_kernels(race):
    found = regret([race(150, 5, {OURS: 3.0, WFA: 2.0, BITS: 4.0, ("edlib-native", "", 1): 0.1})])
    assert found.median == pytest.approx(1.5, rel=0.05) and 1 < found.low <= found.median <= found.high
    assert found.bold and not found.text.startswith("~")
    even = regret([race(150, 5, {OURS: 2.0, WFA: 2.0, BITS: 4.0})])
    assert even.low <= 1 <= even.high and even.text.startswith("~") and not even.bold


def test_kernels_that_a_lane_leaves_out_and_few_pairs_are_said(race):
    picture = cpu_regret.draw(page([race(150, 5, {OURS: 3.0, WFA: 2.0, OND: 4.0}, pairs=63)]))
    told = words(picture)
    assert "Edit distance, not raced in lane kick: wavebench BPM (CPU) and wavebench O(ND) (CPU)." in told
    assert "*: timed on fewer than 64 pairs." in told
    (value,) = [text.get_text() for axes in picture.axes for text in axes.texts if text.get_text()[-1:] == "*"]
    assert float(value[:-1]) == pytest.approx(1.5, rel=0.05)
    check_text(picture)


def test_points_of_few_pairs_are_open(race):
    files = [race(150, 5, {OURS: 3.0, WFA: 2.0}), race(1000, 5, {OURS: 3.0, WFA: 2.0}, pairs=63)]
    picture = cpu_length.draw(page(files))
    assert "Open: timed on fewer than 64 pairs." in words(picture)
    faces = [line.get_markerfacecolor() for axes in picture.axes for line in axes.lines if len(line.get_xdata()) == 1]
    assert faces.count("white") == 2, "of two tools at 1000 letters"
    assert "Open:" not in words(cpu_length.draw(page(files[:1])))
    check_text(picture)


def test_no_regret_without_kernels_that_count(race):
    assert regret([race(150, 5, {OURS: 1.0, WFA: 2.0})]).short == "fewer than 2 other kernels of ours raced"
    wrong = race_rows("uniform_150_e5", {BITS: 0.1}, scope="cigar", pairs=1000, recall_native=0.5)
    found = regret([race(150, 5, {OURS: 2.0, WFA: 2.0, OND: 4.0}, more=wrong)])
    assert found.median == pytest.approx(1, rel=0.05)
    assert regret([race(150, 5, {WFA: 2.0, BITS: 2.0})]).short == "ours not raced"
    assert regret([]).short == "no sample yet"


def test_a_point_is_the_time_of_a_pair_over_the_most_pairs(race):
    few = race_rows("uniform_150_e5", {OURS: 9.0}, scope="cigar", pairs=250)
    told = page([race(150, 5, {OURS: 2.0, BIWFA: 3.0}, more=few)])
    drawn, without = cpu_points.points(told.found(HOST, cpu_races.Place("edit", "cigar", 150, 5)))
    low, median, high = drawn["wavebench-auto:cpu"].seconds
    assert low <= median <= high and median == pytest.approx(0.002, rel=0.05)
    assert drawn["wavebench-auto:cpu"].grown_bytes == 6_000_000
    assert without["rapidfuzz"] == cpu_points.NOT_RACED and "wfa2-lib-native:biwfa" not in without


def test_a_twins_time_is_no_part_of_a_point(race):
    twin = race_rows("uniform_150_e5", {OURS: 9.0}, scope="cigar", pairs=1000, twin=True)
    told = page([race(150, 5, {OURS: 2.0}, more=twin)])
    drawn, _ = cpu_points.points(told.found(HOST, cpu_races.Place("edit", "cigar", 150, 5)))
    assert drawn["wavebench-auto:cpu"].seconds[2] == pytest.approx(0.002, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"recall_native": 0.5}, "wrong answers"),
        ({"coverage": 0.25, "refused": '{"out_of_memory": 750}'}, "refused 75 % of the pairs (out of memory)"),
        ({"status": "out_of_memory", "value_s": None}, "out of memory"),
    ],
)
def test_a_time_that_does_not_count_is_no_point(race, changes, why):
    more = [row | changes for row in race_rows("uniform_150_e5", {BIWFA: 1.0}, scope="cigar", pairs=1000)]
    told = page([race(150, 5, {OURS: 2.0}, more=more)])
    drawn, without = cpu_points.points(told.found(HOST, cpu_races.Place("edit", "cigar", 150, 5)))
    assert set(drawn) == {"wavebench-auto:cpu"} and without["wfa2-lib-native:biwfa"] == why
    picture = cpu_length.draw(told)
    assert f"No point, {why}: WFA2-lib, native (BiWFA), edit distance, path at 150 nt." in words(picture)
    check_text(picture)


def test_a_slope_is_the_power_of_the_growth():
    assert curves.slope({x: (0, 3 * x**2, 0) for x in (1, 10, 100)}) == pytest.approx(2)
    assert curves.slope({1: (0, 1, 0)}) is None


def test_slopes_are_moved_apart_within_the_panel():
    moved = curves.spread([0.5, 0.51, 0.52, 0.99, 1.0])
    gaps = [later - one for one, later in zip(moved, moved[1:], strict=False)]
    assert min(gaps) >= curves.APART - 1e-9 and moved[-1] == 1 and moved[0] == pytest.approx(0.5)


def lengths(race, **changes):
    """Races of three lengths: ours grows linearly, BiWFA's time with the square."""
    of = {150: 1, 1000: 1000 / 150, 10000: 10000 / 150}
    names = {10000: "cpu_edit"}
    return [
        race(n, 5, {OURS: f, WFA: 2 * f, BITS: 3 * f, BIWFA: f * f}, experiment=names.get(n, "thesis_tab1"), **changes)
        for n, f in of.items()
    ]


def test_time_against_length_prints_slopes_and_names_host_and_tools(race):
    picture = cpu_length.draw(page([*lengths(race), *lengths(race, scope="score")]))
    told = words(picture)
    assert "this host some-cpu-2c, lane kick" in told and "wavebench (CPU)" in told and "time of a pair (µs)" in told
    panel = next(axes for axes in picture.axes if axes.get_title(loc="left").endswith("edit distance, path"))
    assert sorted(text.get_text() for text in panel.texts) == ["1.0", "1.0", "1.0", "2.0"]
    assert "No point, no sample yet: gap-affine at 150, 1K, 10K nt." in told
    assert "No point, not in this lane: edit distance at 300, 20K, 100K nt; gap-affine at 300, 20K, 100K nt." in told
    check_text(picture)


@pytest.mark.parametrize("figure", (cpu_error, cpu_length, cpu_memory))
def test_why_this_host_has_no_curve_is_said_where_it_has_raced(race, figure):
    ours = race_rows("uniform_1000_e5", {OURS: 1.0}, scope="cigar", pairs=1000)
    crashed = [row | {"status": "crashed", "value_s": None} for row in ours]
    others = [*lengths(race, host="other"), race(1000, 5, {BIWFA: 1.0}, host="third")]
    picture = figure.draw(page([*others, race(1000, 5, {BIWFA: 1.0}, more=crashed)]))
    told = words(picture)
    assert "No curve on this host, what align() picks: crashed." in told
    assert "No curve on third, what align() picks: not raced." in told
    assert "this host" not in words(figure.draw(page(others)))
    check_text(picture)


def test_tools_that_the_lane_leaves_out_of_the_curves_are_said(race):
    files = lengths(race)
    picture = cpu_length.draw(page([*files[:2], *lengths(race, host="other")]))
    bpm, ond = (f"wavebench {name} (CPU), edit distance at 150, 1K nt" for name in ("BPM", "O(ND)"))
    edlib = "Edlib, native, edit distance at 150, 1K nt"
    assert f"No point, tool not in this lane: {bpm}; {ond}; {edlib}." in words(picture)
    check_text(picture)


def test_time_against_error_shows_the_length_with_the_most_errors(race):
    files = [race(150, e, {OURS: e, BIWFA: e * e}) for e in (2, 5, 10)]
    picture = cpu_error.draw(page([*files, race(1000, 5, {OURS: 9.0})]))
    assert "edit path, 150 nt" in words(picture)
    more = [race(1000, e, {OURS: 9.0 * e, BIWFA: e * e}) for e in (2, 10)]
    picture = cpu_error.draw(page([*files, *more, race(1000, 5, {OURS: 45.0})]))
    assert "edit path, 1K nt" in words(picture)
    check_text(picture)


def test_memory_is_the_growth_of_the_process(race):
    picture = cpu_memory.draw(page([*lengths(race), *lengths(race, host="old", base_rss_bytes=None)]))
    (axes, *_) = picture.axes
    assert [list(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) == 2][0] == [6.0, 6.0]
    told = words(picture)
    assert "growth of the process (MB)" in told
    assert "No curve on old, what align() picks: memory not measured." in told
    check_text(picture)


@pytest.mark.parametrize("figure", FIGURES)
def test_doubts_and_recorded_hosts_are_said(race, figure):
    doubts = {"tool_source_hash": "old", "valid": False, "procedure": 1}
    picture = figure.draw(page([*lengths(race), *lengths(race, host="other", **doubts)]))
    told = words(picture)
    assert "recorded on other, lane kick stale; older way of measuring; race invalid" in told
    assert "this host some-cpu-2c, lane kick stale" not in told
    check_text(picture)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_written_at_column_width(race, figure, tmp_path):
    for name, files in (("some", lengths(race)), ("none", [])):
        lane = ROOT / "config/lanes/kick.yaml"
        told = [*map(str, files), *(f"--config={path}" for path in CONFIGS), f"--lane={lane}", f"--host={HOST}"]
        run = CliRunner().invoke(figure.main, [*told, f"--out={tmp_path / name}"])
        assert run.exit_code == 0, run.output
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert picture.width == round(plotting.ONE_COLUMN * 300)


@pytest.mark.parametrize("figure", FIGURES)
def test_what_cannot_be_read_is_one_message(figure, tmp_path):
    run = CliRunner().invoke(figure.main, ["--lane=absent", "--host=h", f"--config={CONFIGS[0]}", "--out=unused"])
    assert run.exit_code == 2 and "--config must name the files of thesis_tab1, cpu_edit" in run.output
    assert "Traceback" not in run.output
    lane = ROOT / "config/lanes/kick.yaml"
    for wrong in ({"lane": CONFIGS[0], "configs": CONFIGS}, {"lane": lane, "configs": [lane]}):
        told = [f"--lane={wrong['lane']}", *(f"--config={path}" for path in wrong["configs"])]
        run = CliRunner().invoke(figure.main, [*told, "--host=h", "--out=unused"])
        assert run.exit_code == 2 and "unknown key '" in run.output
