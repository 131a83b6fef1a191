"""The workflow as a Snakemake user meets it: what a run would do, a whole small run, and what an edit reruns."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from simulators import simulate
from tests.real_data import ROWS, write_table
from wfa_kernels import PairBatch
from workflow.race import host
from workflow.scripts import settings, sources

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("Snakefile", "config", "profiles", "simulators", "wfa_kernels", "workflow")
#: A lane of seconds: two experiments, one of which alone uses RapidFuzz.
LANE = {
    "name": "tiny",
    "rounds": {"min": 5, "max": 5},
    "round_seconds": 0.01,
    "race_seconds": 1,
    "timeout_seconds": 60,
    "pairs": {"uniform_150_e5": 300, "uniform_150_e2": 300, "illumina_150": 200, "nanopore": 4},
    "real_pairs": 100,
}
FIGURES = [*(f"thesis_fig{number}" for number in (1, 2, 3, 4, 5, 8, 9, 10)), "ewfa_fig1"]
CPU_FIGURES = ["cpu_regret", "cpu_error", "cpu_length", "cpu_memory"]
#: Jobs of what is drawn from the samples of thesis_tab1 beside its own table.
CPU_RATIO = {"cpu_ratio": 1, "cpu_ratio_figure": 1}
CPU_PAGE = CPU_RATIO | {"cpu_figure": len(CPU_FIGURES)}
#: What shows which samples are stale.
MARKED = {"collect": 2, "measured_table": 2, "collect_all": 1, "thesis_fig10": 1, "report": 1} | CPU_PAGE
TOOLS = {"thesis_tab1": ["edlib", "rapidfuzz", "wavebench-auto:cpu"], "thesis_tab9": ["edlib", "wavebench-auto:cpu"]}


def snakemake(project, *arguments, check=True):
    """A finished run of Snakemake in the project's folder, with what it printed in ``said``."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    done = subprocess.run(command, cwd=project, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert not check or done.returncode == 0, done.stdout
    done.said = done.stdout
    return done


def jobs(project, *arguments):
    """{rule: jobs} that a run would do, the closing target left out."""
    said = snakemake(project, "-n", *arguments).said
    table = said.partition("Job stats:")[2].partition("total")[0]
    found = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}
    return {name: count for name, count in found.items() if name != "default"}


def copy_of_the_project(folder):
    """This checkout's sources with a tiny lane, as on a fresh clone."""
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, folder / part)
    (folder / "config/lanes/tiny.yaml").write_text(yaml.safe_dump(LANE))
    for name, tools in TOOLS.items():
        edit_yaml(folder / f"config/experiments/{name}.yaml", tools=tools, threads=[1])
    tables = ["thesis_tab1", "thesis_tab7", "thesis_tab9", "cpu_ratio"]
    figures = [*FIGURES, "cpu_ratio", *CPU_FIGURES]
    edit_yaml(folder / "config/config.yaml", lane="tiny", experiments=list(TOOLS), tables=tables, figures=figures)
    return folder


def edit_yaml(path, **values):
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | values))


class edited:
    """Within the block a file has one more line; after it the file is as before, its time too."""

    def __init__(self, path):
        self.path, self.content, self.stat = path, path.read_bytes(), path.stat()

    def __enter__(self):
        more = b"" if self.path.suffix == ".csv" else b"# an edit"  # a table has no comments
        self.path.write_bytes(self.content + b"\n" + more + b"\n")

    def __exit__(self, *_):
        self.path.write_bytes(self.content)
        os.utime(self.path, ns=(self.stat.st_atime_ns, self.stat.st_mtime_ns))


def after_races(*experiments):
    """{rule: jobs} of races of these experiments and of what is always drawn from them."""
    races = {f"race_{experiment}": 1 for experiment in experiments}
    tables = dict.fromkeys(("collect", "measured_table"), len(experiments))
    return races | tables | {"collect_all": 1, "verify": 1, "report": 1}


@pytest.mark.parametrize(
    "lane", ["kick", *(pytest.param(lane, marks=pytest.mark.slow) for lane in ("lite", "cpu", "full"))]
)
def test_each_lane_has_a_plan(lane):
    wanted = jobs(ROOT, "--forceall", "--config", f"lane={lane}")
    chosen = settings.load(lane=lane)
    with_gpu = replace(chosen, gpu=True)
    assert wanted["simulate"] == len({d for name in chosen.experiments for d in chosen.datasets(name)})
    raced = {d for name in chosen.experiments for d in with_gpu.datasets(name)}
    assert raced == set(chosen.lane["pairs"])  # nothing in a lane is idle
    assert wanted["race_thesis_tab1"] == wanted["race_thesis_tab8"] == 1
    assert ("race_thesis_tab9" in wanted) == (lane != "cpu")
    assert wanted["verify"] == wanted["collect_all"] == wanted["report"] == wanted["thesis_fig10"] == 1
    assert wanted["measured_table"] == 3 and wanted["collect"] == 4
    assert wanted["thesis_tab3"] == wanted["ewfa_tab4"] == wanted["thesis_fig7"] == 1
    assert all((f"race_{name}" in wanted) == chosen.gpu for name in ("ewfa_tab4", "thesis_fig7"))
    assert wanted["computed_figure"] == 8 and wanted["cpu_ratio"] == wanted["cpu_ratio_figure"] == 1
    assert wanted["cpu_figure"] == len(CPU_FIGURES)


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("tables/thesis_tab1.md", {"race_thesis_tab1", "simulate", "collect", "measured_table"}),
        *(
            pytest.param(
                f"tables/{name}.md", {f"race_{name}", "simulate", "collect", "measured_table"}, marks=pytest.mark.slow
            )
            for name in ("thesis_tab8", "thesis_tab9")
        ),
        ("tables/thesis_tab2.md", {"race_thesis_tab1", "simulate", "thesis_tab2"}),
        *(
            pytest.param(f"tables/{name}.md", {"race_thesis_tab1", "simulate", "collect", name}, marks=pytest.mark.slow)
            for name in ("thesis_tab3", "thesis_tab6")
        ),
        ("tables/thesis_tab7.md", {"simulate", "thesis_tab7"}),
        ("figures/thesis_fig10.svg", {"race_thesis_tab9", "simulate", "thesis_fig10"}),
        ("figures/thesis_fig1.svg", {"computed_figure"}),
    ],
)
def test_one_table_or_figure_asks_for_its_own_alone(target, wanted):
    found = jobs(ROOT, "--forceall", f"results/{target}", "--config", "lane=kick")
    assert set(found) == wanted
    assert {count for rule, count in found.items() if rule != "simulate"} == {1}
    name = settings.NEEDS.get(Path(target).stem, Path(target).stem)
    assert found.get("simulate", 0) == ("simulate" in wanted and len(settings.load(lane="kick").datasets(name)))


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("tables/cpu_ratio.md", "cpu_ratio"),
        ("figures/cpu_ratio.svg", "cpu_ratio_figure"),
        ("figures/cpu_memory.svg", "cpu_figure"),
    ],
)
def test_the_cpu_page_asks_for_its_races(target, rule):
    found = jobs(ROOT, "--forceall", f"results/{target}", "--config", "lane=kick")
    assert set(found) == {"race_thesis_tab1", "race_thesis_tab8", "simulate", rule}
    chosen = settings.load(lane="kick")
    assert found["simulate"] == len({d for name in ("thesis_tab1", "thesis_tab8") for d in chosen.datasets(name)})


def test_in_the_full_lanes_the_cpu_page_asks_for_the_races_of_its_own_too():
    found = jobs(ROOT, "--forceall", "results/figures/cpu_length.svg", "--config", "lane=lite")
    own = {f"race_cpu_{name}" for name in ("edit", "affine", "long_edit", "long_affine")}
    assert set(found) == {"race_thesis_tab1", "race_thesis_tab8", "simulate", "cpu_figure"} | own


@pytest.mark.skipif(bool(host.gpus()), reason="what a host without a GPU does")
@pytest.mark.parametrize(
    ("target", "wanted"),
    [("tables/ewfa_tab4.md", {"collect", "ewfa_tab4"}), ("figures/thesis_fig7.svg", {"thesis_fig7"})],
)
def test_what_needs_a_gpu_is_drawn_from_recorded_samples_without_one(target, wanted):
    assert set(jobs(ROOT, "--forceall", f"results/{target}", "--config", "lane=full")) == wanted


@pytest.mark.parametrize("figure", ["thesis_fig7", "thesis_fig10"])
def test_a_figure_of_hosts_is_told_which_is_this_one(figure):
    said = snakemake(ROOT, "-n", "-p", "--forceall", f"results/figures/{figure}.svg", "--config", "lane=kick").said
    assert f" --host {host.host_id()} " in said.partition(f"workflow.scripts.figures.{figure} ")[2].partition("\n")[0]


def test_fewer_experiments_have_a_plan():
    chosen = ("lane=kick", "experiments=[thesis_tab1]", "tables=[thesis_tab1]", "figures=[thesis_fig1]")
    found = jobs(ROOT, "--forceall", "--config", *chosen)
    assert found == after_races("thesis_tab1") | {"simulate": 4, "computed_figure": 1}


def test_a_bad_key_is_one_message_without_a_trace():
    done = snakemake(ROOT, "-n", "--config", "lanes=kick", check=False)
    assert done.returncode == 2
    assert "error: command line: unknown key 'lanes'; allowed are" in done.said
    assert "Traceback" not in done.said


@pytest.mark.parametrize(
    ("line", "said"), [("seed: [1", "expected ',' or ']'"), ("seed: 1\nseed: 2", "key 'seed' stands twice")]
)
def test_a_broken_configuration_is_one_message_before_snakemake_reads_it(tmp_path, line, said):
    project = copy_of_the_project(tmp_path)
    config = project / "config/config.yaml"
    config.write_text(f"lane: tiny\n{line}\n")
    done = snakemake(project, "-n", check=False)
    assert done.returncode == 2
    assert re.search(rf"error: config/config.yaml, line \d+: {re.escape(said)}", done.said), done.said
    assert "Traceback" not in done.said


def test_sources_follow_imports_to_where_a_name_is_defined():
    found = sources.closure("simulators/__main__.py")
    assert {"simulators/__main__.py", "simulators/uniform.py", "wfa_kernels/pairs.py"} <= set(found)
    assert not [path for path in found if path.startswith(("wfa_kernels/cpu", "wfa_kernels/api", "workflow"))]
    assert "wfa_kernels/cpu/schedule.py" in sources.closure("wfa_kernels/__main__.py")
    assert "workflow/scripts/plotting.py" in sources.closure("workflow/scripts/figures/thesis_fig1.py")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project after a whole tiny run."""
    project = copy_of_the_project(tmp_path_factory.mktemp("finished"))
    snakemake(project)
    return project


@pytest.mark.slow
def test_a_whole_run_ends_in_the_report(finished):
    assert "<html" in (finished / "results/report.html").read_text()[:500].lower()
    for name in ("thesis_tab1", "thesis_tab7", "thesis_tab9", "cpu_ratio"):
        for suffix in ("csv", "md", "html", "tidy.csv"):
            assert (finished / f"results/tables/{name}.{suffix}").stat().st_size
    for name in (*(f"thesis_fig{n}" for n in (1, 2, 3, 4, 5, 10)), "ewfa_fig1", "cpu_ratio", *CPU_FIGURES):
        assert b"<svg" in (finished / f"results/figures/{name}.svg").read_bytes()
        assert (finished / f"results/figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(finished.glob("results/samples/tiny/*/*/*.parquet"))) == 4


@pytest.mark.slow
def test_a_second_run_has_nothing_to_do(finished):
    assert "Nothing to be done" in snakemake(finished).said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "reruns"),
    [
        ("workflow/aligners/rapidfuzz.py", {"race_thesis_tab1": 1, "verify": 1} | MARKED),
        ("workflow/aligners/wfa2lib.py", MARKED),  # no race here has it, but recorded samples may be stale by it
        ("workflow/aligners/edlib.py", after_races("thesis_tab1", "thesis_tab9") | {"thesis_fig10": 1} | CPU_PAGE),
        ("wfa_kernels/cpu/edit_wfa.py", after_races("thesis_tab1", "thesis_tab9") | {"thesis_fig10": 1} | CPU_PAGE),
        (
            "simulators/uniform.py",
            after_races("thesis_tab1", "thesis_tab9") | {"simulate": 4, "thesis_tab7": 1, "thesis_fig10": 1} | CPU_PAGE,
        ),
        (
            "workflow/scripts/plotting.py",
            {"computed_figure": 8, "thesis_fig10": 1, "cpu_ratio_figure": 1, "cpu_figure": 4, "report": 1},
        ),
        ("workflow/scripts/cpu_races.py", CPU_PAGE | {"report": 1}),
        ("workflow/scripts/curves.py", {"cpu_figure": 3, "report": 1}),
        ("workflow/scripts/figures/cpu_regret.py", {"cpu_figure": 1, "report": 1}),
        ("workflow/scripts/figures/thesis_fig1.py", {"computed_figure": 1, "report": 1}),
        ("workflow/scripts/figures/thesis_fig10.py", {"thesis_fig10": 1, "report": 1}),
        ("workflow/scripts/tables/thesis_tab1.py", {"measured_table": 1, "report": 1}),
        ("workflow/scripts/tables/thesis_tab7.py", {"thesis_tab7": 1, "report": 1}),
        ("workflow/scripts/cpu_ratios.py", CPU_RATIO | {"report": 1}),
        ("config/targets/cpu_ratio.csv", CPU_RATIO | {"report": 1}),
        ("workflow/scripts/verify_ledger.py", {"verify": 1, "report": 1}),
    ],
)
def test_an_edit_reruns_exactly_what_depends_on_it(finished, file, reruns):
    with edited(finished / file):
        assert jobs(finished) == reruns
    assert not jobs(finished)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "name", "besides"),
    [
        ("workflow/race/provenance.py", "PROCEDURE", {}),
        ("workflow/aligners/__init__.py", "WORKING_MEMORY_BYTES", {"thesis_tab7": 1}),
    ],
)
def test_other_conditions_run_every_race_again(finished, file, name, besides):
    with edited(finished / file):
        text = (finished / file).read_text()
        (finished / file).write_text(re.sub(rf"^{name} = .*$", f"{name} = 99", text, flags=re.MULTILINE))
        found = jobs(finished)
    assert found == after_races("thesis_tab1", "thesis_tab9") | {"thesis_fig10": 1} | CPU_PAGE | besides


@pytest.mark.slow
def test_samples_that_are_removed_are_measured_again(finished, tmp_path):
    """As the README tells; the files come back with their times, for the tests that follow."""
    for name in ("samples", "store"):
        (finished / "results" / name).rename(tmp_path / name)
    try:
        found = jobs(finished)
    finally:
        for name in ("samples", "store"):
            (tmp_path / name).rename(finished / "results" / name)
    assert found == after_races("thesis_tab1", "thesis_tab9") | {"thesis_fig10": 1} | CPU_PAGE
    assert not jobs(finished)


@pytest.mark.slow
def test_snakemakes_own_report(finished, tmp_path):
    snakemake(finished, "--report", str(tmp_path / "snakemake.html"))
    page = (tmp_path / "snakemake.html").read_text()
    for figure in ("thesis_fig1", "thesis_fig10"):
        caption = (finished / f"workflow/report/captions/{figure}.rst").read_text()
        assert caption.split(".")[0] in page
    assert "numbers beside those of each host" in page and "what was wrong with it" in page


@pytest.mark.slow
def test_real_reads_replace_the_simulated_ones(real_data_dir, tmp_path):
    project = copy_of_the_project(tmp_path)
    write_table(real_data_dir, project / "config/real_data.tsv")
    snakemake(project, *(f"results/tables/thesis_tab{n}.md" for n in (7, 9)), "results/figures/thesis_fig10.svg")
    measured = pq.read_table(project / "results/collected/thesis_tab9.parquet").to_pandas()
    assert set(measured["experiment"]) == {"thesis_tab9"}
    nine = measured[measured["status"] == "ok"]
    assert {f"real_{row[0]}" for row in ROWS} <= set(nine["dataset"])
    assert not {"nanopore", "illumina_150"} & set(nine["dataset"])
    assert (nine.loc[nine["exact"], "recall_native"] == 1).all()
    assert "real: lambda_ont" in (project / "results/tables/thesis_tab9.md").read_text()
    assert "unmapped" in (project / "results/tables/thesis_tab7.md").read_text()

    lines = (project / "config/real_data.tsv").read_text().splitlines(keepends=True)
    (project / "config/real_data.tsv").write_text("".join(line for line in lines if not line.startswith("lambda_ont")))
    subprocess.run([sys.executable, "-m", "workflow.scripts.put_aside"], cwd=project, check=True)
    snakemake(project, "results/tables/thesis_tab9.md")
    assert "real: lambda_ont" not in (project / "results/tables/thesis_tab9.md").read_text()
    (project / "config/real_data.tsv").write_text("".join(lines))
    assert "taken from the store" in snakemake(project, "results/tables/thesis_tab9.md").said
    assert "real: lambda_ont" in (project / "results/tables/thesis_tab9.md").read_text()


@pytest.mark.slow
def test_reads_are_mapped_without_checksums_and_a_failing_step_fails_its_job(tmp_path):
    pytest.importorskip("mappy")
    project = copy_of_the_project(tmp_path)
    pairs = simulate("uniform", 1, 3, length=3000, error=0.0)
    reference = pairs.patterns()[0].decode()
    (tmp_path / "ref.fa").write_text(f">ref\n{reference}\n")
    (tmp_path / "reads.fa").write_text(f">read\n{reference[200:2700]}\n")
    table = project / "config/real_data.tsv"
    head = "name\ttechnology\tpreset\treads\treads_sha256\treference\treference_sha256\n"
    row = f"x\tnanopore\tmap-ont\t{tmp_path}/reads.fa\t{{}}\t{tmp_path}/ref.fa\t\n"
    table.write_text(head + row.format("0" * 64))
    failed = snakemake(project, "results/data/tiny/real_x.arrow", check=False)
    assert failed.returncode != 0
    log = (project / "results/logs/map/tiny/x.log").read_text()
    assert "0" * 64 in log and "map_reads" not in log  # the checksum fails, and nothing is run after it
    table.write_text(head + row.format(""))
    snakemake(project, "results/data/tiny/real_x.arrow")
    assert PairBatch.from_arrow(project / "results/data/tiny/real_x.arrow").patterns() == [reference[200:2700].encode()]


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path):
    project = copy_of_the_project(tmp_path)
    target = "results/collected/measurements.parquet"
    command = [sys.executable, "-m", "snakemake", target]
    with open(tmp_path / "first.log", "wb") as log:
        run = subprocess.Popen(command, cwd=project, stdout=log, stderr=log, start_new_session=True)
        try:
            deadline = time.monotonic() + 300
            while not list(project.glob("results/store/*.parquet")) and time.monotonic() < deadline:
                assert run.poll() is None, (tmp_path / "first.log").read_text()
                time.sleep(0.05)
        finally:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
    kept = list(project.glob("results/store/*.parquet"))
    assert kept
    assert not (project / target).exists()

    unlock = [sys.executable, "-m", "workflow.scripts.unlock"]
    subprocess.run(unlock, cwd=project, check=True)
    assert "taken from the store" in snakemake(project, target).said
    assert "Nothing to be done" in snakemake(project, target).said
    assert len(list(project.glob("results/samples/tiny/*/*/*.parquet"))) == 4
    assert not list(project.glob("results/samples/**/*.part"))


@pytest.mark.slow
def test_a_running_run_keeps_its_lock(tmp_path):
    project = copy_of_the_project(tmp_path)
    run = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "results/collected/measurements.parquet"],
        cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        while not list(project.glob(".snakemake/locks/*.lock")):
            assert run.poll() is None
            time.sleep(0.05)
        unlock = [sys.executable, "-m", "workflow.scripts.unlock"]
        done = subprocess.run(unlock, cwd=project, capture_output=True, text=True)
        assert done.returncode == 2
        assert f"another run works in this folder (process {run.pid})" in done.stderr
        assert list(project.glob(".snakemake/locks/*.lock"))
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
