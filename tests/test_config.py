"""A mistake in the configuration is one message that names the file, the key and what is allowed, and exit code 2."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from workflow import aligners
from workflow.scripts import plan, settings

ROOT = Path(__file__).resolve().parents[1]
CONFIG = "config/config.yaml"
LANE = "config/lanes/kick.yaml"
#: Experiments that serve the CPU page alone.
CPU_PAGE = {"cpu_edit", "cpu_affine", "cpu_long_edit", "cpu_long_affine"}
TAB1 = "config/experiments/thesis_tab1.yaml"
TAB9 = "config/experiments/thesis_tab9.yaml"


@pytest.fixture
def project(tmp_path):
    """A folder with a configuration of its own and this checkout's scripts."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "workflow").symlink_to(ROOT / "workflow")
    change(tmp_path, CONFIG, lane="kick")
    return tmp_path


def change(project, file, drop=None, **values):
    """Set keys of a YAML file, and drop one."""
    path = project / file
    data = yaml.safe_load(path.read_text()) | values
    data.pop(drop, None)
    path.write_text(yaml.safe_dump(data))


def complaint(project, **arguments):
    with pytest.raises(settings.SettingsError) as caught:
        settings.load(root=project, **arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_configuration_as_committed_is_right():
    for lane in ("kick", "lite", "cpu", "full"):
        chosen = settings.load(lane=lane)
        assert chosen.lane["name"] == lane
        papers = {"thesis_tab1", "thesis_tab8", "thesis_tab9", "thesis_fig7", "ewfa_tab4"}
        assert set(chosen.experiments) == papers | CPU_PAGE
        with_gpu = replace(chosen, gpu=True)
        raced = {experiment for experiment in chosen.experiments if with_gpu.datasets(experiment)}
        left_out = {"kick": CPU_PAGE, "cpu": {"thesis_tab9", "thesis_fig7", "ewfa_tab4"}}
        assert raced == (papers | CPU_PAGE) - left_out.get(lane, set())


@pytest.mark.parametrize(
    ("file", "values", "said"),
    [
        (CONFIG, {"threads": 4}, r"unknown key 'threads'; allowed are .*lane.*seed"),
        (CONFIG, {"seed": "one"}, r"'seed' must be a whole number from 0 to.*'one' \(text\)"),
        (CONFIG, {"seed": -1}, r"'seed' must be a whole number from 0 to"),
        (CONFIG, {"seed": 2**63}, r"'seed' must be a whole number from 0 to 2\^63 - 1"),
        (CONFIG, {"seed": True}, r"'seed' must be a whole number from 0 to"),
        (CONFIG, {"seed": 1.0}, r"'seed' must be a whole number from 0 to .*, not 1.0 \(a number\)"),
        (CONFIG, {"lane": "huge"}, r"'lane' has unknown value 'huge'; allowed are auto, cpu, full, kick, lite"),
        (CONFIG, {"tables": ["thesis_tab99"]}, r"'tables' has unknown value 'thesis_tab99'; allowed are .*thesis_tab1"),
        (CONFIG, {"figures": ["fig"]}, r"'figures' has unknown value 'fig'; allowed are .*thesis_fig1"),
        (CONFIG, {"tables": "thesis_tab1"}, r"'tables' must be a list .*'thesis_tab1' \(text\)"),
        (CONFIG, {"experiments": ["thesis_tab2"]}, r"'experiments' has unknown value 'thesis_tab2'; allowed are"),
        (CONFIG, {"experiments": []}, r"'experiments' must be .*at least one"),
        (LANE, {"round_second": 1}, r"unknown key 'round_second'; allowed are .*round_seconds"),
        (LANE, {"round_seconds": float("nan")}, r"'round_seconds' must be seconds > 0 .*nan \(not a finite number\)"),
        (LANE, {"round_seconds": float("inf")}, r"'round_seconds' must be seconds > 0 .*inf \(not a finite number\)"),
        (LANE, {"round_seconds": 0}, r"'round_seconds' must be seconds > 0"),
        (LANE, {"round_seconds": True}, r"'round_seconds' must be seconds > 0 .*True \(true/false\)"),
        (LANE, {"narrow": {"thesis_tab99": {"threads": [1]}}}, r"'narrow' has unknown value 'thesis_tab99'; allowed"),
        (LANE, {"rounds": {"min": 6}}, r"'max' is missing in 'rounds'"),
        (LANE, {"rounds": {"min": 9, "max": 6}}, r"'rounds.max' must be at least rounds.min \(9\)"),
        (LANE, {"rounds": {"min": 1, "max": 6}}, r"'rounds.min' must be a whole number >= 5"),
        (LANE, {"rounds": {"min": 6.0, "max": 9}}, r"'rounds.min' must be a whole number >= 5, not 6.0"),
        (LANE, {"real_pairs": 5000.0}, r"'real_pairs' must be a whole number >= 1, not 5000.0"),
        (LANE, {"pairs": {"uniform_150_e5": 0.5}}, r"'pairs.uniform_150_e5' must be a whole number >= 1"),
        (
            LANE,
            {"pairs": {"uniform_150": 10}},
            r"'pairs' has unknown value 'uniform_150'; allowed are uniform_<",
        ),
        (LANE, {"pairs": {"uniform_150_e101": 10}}, r"'pairs' has unknown value 'uniform_150_e101'"),
        (LANE, {"narrow": {"thesis_tab1": {"threads": [1.0]}}}, r"'narrow.thesis_tab1.threads.0' must be 1 or all"),
        (LANE, {"name": "lite"}, r"'name' has unknown value 'lite'; allowed are kick"),
        (LANE, {"narrow": {"thesis_tab1": {"tools": ["edlib"]}}}, r"unknown key 'tools' in 'narrow.thesis_tab1'"),
        (
            LANE,
            {"narrow": {"thesis_tab1": {"without": ["edlip"]}}},
            r"without' has unknown value 'edlip'; allowed are",
        ),
        (
            LANE,
            {"narrow": {"thesis_tab1": {"without": ["wavebench-auto:cpu"]}}},
            r"'wavebench-auto:cpu'; allowed are e",
        ),
        (
            LANE,
            {"narrow": {"thesis_tab1": {"datasets": ["moleculo"]}}},
            r"unknown value 'moleculo'; allowed are u",
        ),
        (LANE, {"pairs": {150: 10}}, r"'pairs' has unknown value '150'; allowed are uniform_<length>"),
        (LANE, {"pairs": {None: 10}}, r"'pairs' has unknown value 'None'; allowed are uniform_<length>"),
        (TAB1, {"id": "thesis_tab8"}, r"'id' has unknown value 'thesis_tab8'; allowed are thesis_tab1"),
        (TAB1, {"tools": ["edlip"]}, r"'tools' has unknown value 'edlip'; allowed are .*edlib"),
        (TAB1, {"datasets": ["nanopor"]}, r"'datasets' has unknown value 'nanopor'; allowed are .*nanopore"),
        (TAB1, {"datasets": ["real_mine"]}, r"'datasets' has unknown value 'real_mine'"),
        (TAB1, {"penalties": [0, 6, 2]}, r"'penalties' must be edit, or \[mismatch >= 1, gap_open >= 0"),
        (TAB1, {"penalties": [4, 6]}, r"'penalties' must be edit, or \[mismatch >= 1"),
        (TAB1, {"penalties": [4, 6, 2.5]}, r"'penalties' must be edit, or \[mismatch >= 1"),
        (TAB1, {"penalties": [4.0, 6, 2]}, r"'penalties' must be edit, or \[mismatch >= 1"),
        (TAB1, {"penalties": [99999999999, 6, 2]}, r"'penalties': mismatch must be an integer >= 1 and <= 2147483647"),
        (
            TAB1,
            {"scopes": ["score", "score"]},
            r"'scopes' must be a list of: .*; nothing may stand twice",
        ),
        (TAB1, {"scopes": ["cigars"]}, r"'scopes.0' must be score or cigar, not 'cigars'"),
        (TAB1, {"needs": "cuda"}, r"'needs' must be gpu: all of its tools run on one"),
        (TAB1, {"most_pairs": 0}, r"'most_pairs' must be a whole number >= 1"),
        (TAB1, {"threads": [2]}, r"'threads.0' must be 1 or all, not 2"),
        (TAB1, {"threads": [1.0, "all"]}, r"'threads.0' must be 1 or all, not 1.0"),
        (TAB1, {"twin": "parasail:diag"}, r"'twin' has unknown value 'parasail:diag'; allowed are edlib"),
    ],
)
def test_a_bad_value_is_named(project, file, values, said):
    change(project, file, **values)
    message = complaint(project)
    assert message.startswith(f"{file}: ")
    assert re.search(said, message), message


@pytest.mark.parametrize(
    ("key", "name", "needed"),
    [
        ("tables", "thesis_tab8", "thesis_tab8"),
        ("tables", "thesis_tab7", "thesis_tab9"),
        ("figures", "thesis_fig10", "thesis_tab9"),
    ],
)
def test_a_table_or_figure_without_its_experiment_is_named(project, key, name, needed):
    change(project, CONFIG, experiments=["thesis_tab1"], **{"tables": [], "figures": [], key: [name]})
    assert complaint(project) == (
        f"{CONFIG}: key '{key}': {name} needs the experiment {needed}, which key 'experiments' does not name; "
        "it names thesis_tab1"
    )


@pytest.mark.parametrize("name", ["thesis_tab1", "thesis_tab2", "thesis_tab3", "thesis_tab6"])
def test_tables_of_edit_distance_need_one_experiment(project, name):
    change(project, CONFIG, experiments=["cpu_edit"], tables=[name], figures=[])
    assert f"{name} needs the experiment thesis_tab1, which" in complaint(project)


def test_what_needs_no_experiment_stands_alone(project):
    change(project, CONFIG, experiments=["thesis_tab1"], tables=["thesis_tab1"], figures=["thesis_fig1"])
    assert set(settings.load(root=project).experiments) == {"thesis_tab1"}


@pytest.mark.parametrize(("gpus", "lane"), [([], "kick"), ([{"name": "Some GPU"}], "lite")])
def test_the_lane_auto_is_chosen_by_the_host(monkeypatch, gpus, lane):
    monkeypatch.setattr(settings.host, "gpus", lambda: gpus)
    chosen = settings.load(lane="auto")
    assert (chosen.lane["name"], chosen.gpu) == (lane, bool(gpus))


def test_a_missing_key_is_named(project):
    change(project, TAB1, drop="twin")
    assert complaint(project) == f"{TAB1}: key 'twin' is missing"


def test_a_syntax_error_names_its_line(project):
    (project / LANE).write_text("name: kick\nrounds: {min: 6\npairs: 3\n")
    assert complaint(project).startswith(f"{LANE}, line 3: ")


def test_an_empty_file_is_named(project):
    (project / CONFIG).write_text("# nothing\n")
    assert complaint(project) == f"{CONFIG}: must be a mapping of keys to values, not empty"


def test_a_missing_lane_on_the_command_line(project):
    assert complaint(project, lane="fast").startswith("command line: key 'lane' has unknown value 'fast'")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("seed", "x", "key 'seed' must be a whole number"),
        ("lane", "huge", "key 'lane' has unknown value 'huge'"),
        ("tables", ["thesis_tab99"], "key 'tables' has unknown value 'thesis_tab99'"),
        ("lanes", "kick", "unknown key 'lanes'"),
    ],
)
def test_a_bad_value_of_the_command_line_is_not_blamed_on_the_file(project, key, value, said):
    config = yaml.safe_load((project / CONFIG).read_text())
    assert complaint(project, config=config | {key: value}).startswith(f"command line: {said}")


@pytest.mark.parametrize("file", [CONFIG, LANE, TAB1])
def test_a_key_that_stands_twice_is_named_with_its_line(project, file):
    text = (project / file).read_text()
    key = next(iter(yaml.safe_load(text)))
    (project / file).write_text(f"{text}{key}: again\n")
    assert complaint(project) == f"{file}, line {len(text.splitlines()) + 1}: key '{key}' stands twice"


def test_a_nested_key_that_stands_twice_is_named(project):
    (project / LANE).write_text("name: kick\nrounds:\n  min: 5\n  max: 6\n  min: 7\n")
    assert complaint(project) == f"{LANE}, line 5: key 'min' stands twice"


def real_data(project, *rows, source=None):
    """A table of real reads; rows are (name, technology, preset). source: of all, else a file that is there."""
    header = (project / "config/real_data.tsv").read_text().splitlines()[-1]
    (project / "reads.fa").write_text(">a\nACGT\n")
    source = source or (project / "reads.fa").as_uri()
    lines = [header, *("\t".join([*row, source, "", source, ""]) for row in rows)]
    (project / "config/real_data.tsv").write_text("\n".join(lines) + "\n")


def test_real_rows_replace_their_technology(project):
    real_data(project, ("a", "nanopore", "map-ont"), ("b", "nanopore", "map-ont"))
    chosen = settings.load(root=project)
    datasets = chosen.datasets("thesis_tab9")
    assert "nanopore" not in datasets
    place = yaml.safe_load((project / TAB9).read_text())["datasets"].index("nanopore")
    assert datasets[place : place + 2] == ["real_a", "real_b"]
    assert "illumina_150" in datasets
    assert chosen.real_files("a") == [str(project / "reads.fa")] * 2
    assert "nanopore" not in chosen.left_out("thesis_tab9")


def test_a_real_data_set_that_an_experiment_also_names_is_raced_once(project):
    real_data(project, ("a", "nanopore", "map-ont"))
    change(project, TAB9, datasets=["nanopore", "real_a", "illumina_150"])
    chosen = settings.load(root=project)
    assert chosen.datasets("thesis_tab9") == ["real_a", "illumina_150"]


def test_a_lane_takes_so_many_pairs_of_real_reads(project):
    real_data(project, ("a", "nanopore", "map-ont"))
    change(project, LANE, real_pairs=321)
    chosen = settings.load(root=project)
    assert chosen.pairs("real_a") == chosen.raced_pairs("thesis_tab9", "real_a") == 321
    told = plan.describe(chosen)
    assert re.search(r"pairs: .*real_a \(321\).*, real ones at most the count shown\n", told)
    assert told.count("at most the count shown") == 1, "of experiments with real reads alone"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_reads_of_the_web_are_no_files_of_this_machine(project, scheme):
    real_data(project, ("a", "nanopore", "map-ont"), source=f"{scheme}://some.host/reads.fa")
    assert settings.load(root=project).real_files("a") == []


def test_without_mappy_the_simulated_stand_in_and_the_reason_is_kept(project, monkeypatch):
    real_data(project, ("a", "nanopore", "map-ont"), ("b", "nanopore", "map-ont"))
    monkeypatch.setattr(settings.importlib.util, "find_spec", lambda name: None)
    chosen = settings.load(root=project)
    assert "nanopore" in chosen.datasets("thesis_tab9") and not chosen.real_rows
    assert chosen.unmapped == "mappy is not installed, it needs a C compiler to build"
    assert f"note: real reads are left out (a, b): {chosen.unmapped}\n" in plan.describe(chosen)


def test_a_missing_read_file_is_named(project):
    real_data(project, ("a", "nanopore", "map-ont"))
    (project / "reads.fa").unlink()
    assert re.search(r"real_data.tsv: reads of a: no such file: .*reads.fa", complaint(project))


def test_a_missing_reference_is_named(project):
    real_data(project, ("a", "nanopore", "map-ont"))
    table = project / "config/real_data.tsv"
    table.write_text(table.read_text().removesuffix("reads.fa\t\n") + "genome.fa\t\n")
    assert re.search(r"real_data.tsv: reference of a: no such file: .*/genome.fa$", complaint(project))


def test_a_bad_technology_is_named_with_its_line(project):
    real_data(project, ("a", "nanopores", "map-ont"))
    assert re.search(r"real_data.tsv: line 2: .*'nanopores' is not one of .*nanopore", complaint(project))


def test_a_lane_narrows_an_experiment(project):
    part = {"datasets": ["uniform_150_e2"], "threads": [1]}
    change(project, LANE, narrow={"thesis_tab1": part})
    chosen = settings.load(root=project)
    assert chosen.datasets("thesis_tab1") == ["uniform_150_e2"]
    assert "uniform_150_e5" in chosen.left_out("thesis_tab1")
    assert plan.race_plan(chosen, "thesis_tab1").threads == (1,)


def test_a_lane_leaves_an_experiment_out(project):
    change(project, LANE, narrow={"cpu_edit": {"datasets": []}})
    chosen = settings.load(root=project)
    assert chosen.datasets("cpu_edit") == [] and "uniform_10000_e5" in chosen.left_out("cpu_edit")
    assert "cpu_edit: 0 races" in plan.describe(chosen)


def test_a_lane_leaves_tools_out(project):
    change(project, LANE, narrow={"thesis_tab1": {"without": ["edlib", "rapidfuzz"]}})
    chosen = settings.load(root=project)
    tools = plan.race_plan(chosen, "thesis_tab1").tools
    assert "edlib" not in tools and "edlib-native" in tools
    assert "\nedlib " not in "\n" + chosen.tool_versions("thesis_tab1")
    assert "workflow/aligners/edlib.py" not in chosen.tool_files("thesis_tab1")


def test_an_experiment_that_needs_a_gpu_races_nothing_without_one(project, monkeypatch):
    monkeypatch.setattr(settings.host, "gpus", list)
    without = settings.load(root=project, lane="lite")
    assert without.datasets("thesis_fig7") == [] and without.datasets("thesis_tab1")
    told = plan.describe(without)
    assert "thesis_fig7: no race, it needs a GPU and this host has none; drawn from recorded samples" in told
    assert "uniform_1000_e3.5" not in told
    monkeypatch.setattr(settings.host, "gpus", lambda: [{"name": "Some GPU"}])
    chosen = settings.load(root=project, lane="lite")
    assert chosen.datasets("thesis_fig7")[1] == "uniform_1000_e3.5" and not chosen.left_out("thesis_fig7")
    assert "thesis_fig7: 5 races of 1 tools" in plan.describe(chosen)
    assert plan.estimate_minutes(chosen) > plan.estimate_minutes(without)
    pairs = chosen.pairs("uniform_1000_e3.5")
    assert chosen.simulator_arguments("uniform_1000_e3.5") == (
        f"uniform --length 1000 --error 0.035 --pairs {pairs} --seed 1"
    )


def test_an_experiment_may_take_fewer_pairs_than_the_lane_holds():
    full = settings.load(lane="full")
    assert full.pairs("uniform_150_e2") == full.raced_pairs("thesis_tab8", "uniform_150_e2") == 100_000_000
    assert full.raced_pairs("thesis_tab1", "uniform_150_e2") == 10_000_000
    assert plan.gigabytes(full, "thesis_tab1", "uniform_150_e2") == 3


def test_simulated_data_sets_are_asked_for_by_their_id(project):
    chosen = settings.load(root=project)
    pairs = chosen.pairs("uniform_1000_e5")
    assert (
        chosen.simulator_arguments("uniform_1000_e5") == f"uniform --length 1000 --error 0.05 --pairs {pairs} --seed 1"
    )
    assert chosen.simulator_arguments("moleculo") == f"moleculo --pairs {chosen.pairs('moleculo')} --seed 1"


def test_data_sets_are_simulated_with_the_configured_seed(project):
    change(project, CONFIG, seed=7)
    assert settings.load(root=project).simulator_arguments("moleculo").endswith(" --seed 7")


def test_every_letter_of_a_data_set_may_be_edited(project):
    change(project, LANE, pairs={"uniform_150_e100": 10})
    chosen = settings.load(root=project)
    assert chosen.simulator_arguments("uniform_150_e100") == "uniform --length 150 --error 1 --pairs 10 --seed 1"


def test_tool_files_follow_the_experiment(project):
    chosen = settings.load(root=project)
    files = chosen.tool_files("thesis_tab8")
    assert {"workflow/aligners/edlib.py", "workflow/aligners/wavebench.py", "wfa_kernels/cpu/affine_wfa.py"} <= set(
        files
    )
    assert "workflow/aligners/rapidfuzz.py" not in files
    assert "workflow/aligners/rapidfuzz.py" in chosen.tool_files("thesis_tab1")
    assert "edlib " in chosen.tool_versions("thesis_tab8")


def test_tool_versions_tell_an_upgrade_and_a_tool_that_comes_or_goes(project, monkeypatch):
    edlib = type(aligners.load()["edlib"])

    def told(version):
        monkeypatch.setattr(edlib, "version", version)
        return settings.load(root=project).tool_versions("thesis_tab8")

    def missing(adapter):
        raise aligners.ToolMissing("not installed")

    assert len({told(lambda adapter: "1.0"), told(lambda adapter: "1.1"), told(missing)}) == 3
    assert "wavebench-affine:fast " in told(missing), "a GPU's tool is not asked"


def test_tool_versions_tell_another_build_and_a_gpu_that_comes_or_goes(project, monkeypatch):
    chosen = replace(settings.load(root=project), gpu=False)
    told = {chosen.tool_versions("thesis_tab8"), replace(chosen, gpu=True).tool_versions("thesis_tab8")}
    monkeypatch.setattr(type(aligners.load()["edlib"]), "build", lambda adapter: "built anew")
    assert len({*told, chosen.tool_versions("thesis_tab8")}) == 3


def test_the_plan_names_what_will_be_done(capsys):
    races = len(yaml.safe_load((ROOT / TAB9).read_text())["datasets"])
    assert plan.main(["--lane", "kick"]) == 0
    said = capsys.readouterr().out
    for words in (
        "lane kick",
        f"thesis_tab9: {races} races",
        "uniform_150_e5 (",
        "not in this lane: uniform_300_e2",
        "minutes",
    ):
        assert words in said


def test_the_plan_ends_with_code_2_and_one_line():
    command = [sys.executable, "-m", "workflow.scripts.plan", "--lane", "fast"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"error: command line: key 'lane' has unknown value 'fast'; .*\n", done.stderr)


@pytest.mark.parametrize("schema", ["config", "lane", "experiment"])
def test_every_key_is_documented(schema):
    keys = yaml.safe_load((ROOT / f"workflow/schemas/{schema}.schema.yaml").read_text())["properties"]
    said = (ROOT / "config/README.md").read_text()
    missing = [key for key in keys if f"`{key}`" not in said and f"`{key}." not in said]
    assert not missing


def test_the_readme_names_the_tables_and_figures_that_are_drawn():
    config = yaml.safe_load((ROOT / CONFIG).read_text())
    drawn = [id_.split("_") for id_ in config["tables"] + config["figures"]]

    def numbers(paper, kind):
        found = [item.removeprefix(kind) for of, item in drawn if of == paper and item.startswith(kind)]
        unbroken = found == [str(n) for n in range(int(found[0]), int(found[-1]) + 1)]
        return f"{found[0]} to {found[-1]}" if unbroken and len(found) > 2 else ", ".join(found)

    assert {paper for paper, _ in drawn} == {"thesis", "ewfa", "cpu", "gpu"}
    assert (
        f"Today there are Tables {numbers('thesis', 'tab')} and Figures {numbers('thesis', 'fig')} of the thesis, "
        f"and Table {numbers('ewfa', 'tab')} and Figure {numbers('ewfa', 'fig')} of the eWFA paper;"
    ) in " ".join((ROOT / "README.md").read_text().split())


def test_every_race_has_a_node_of_a_cluster_to_itself():
    asked = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())["set-resources"]
    races = {name: of for name, of in asked.items() if name.startswith("race_")}
    assert set(races) == {f"race_{path.stem}" for path in (ROOT / "config/experiments").glob("*.yaml")}
    assert all("--exclusive" in of["slurm_extra"] and of["mem_mb"] >= 64000 for of in races.values())


def test_the_plan_names_real_rows_that_nothing_uses(project):
    real_data(project, ("a", "pacbio_clr", "map-pb"), ("b", "nanopore", "map-ont"))
    change(project, TAB9, datasets=["illumina_150", "nanopore"])
    said = plan.describe(settings.load(root=project))
    assert "real_a: no experiment names pacbio_clr" in said
    assert "real_b:" not in said
    change(project, TAB9, datasets=["real_a", "illumina_150", "nanopore"])
    assert "not used" not in plan.describe(settings.load(root=project)), "an experiment may name the reads themselves"
