"""The workflow as a Snakemake user meets it: what a run would do, a whole small run, and what an edit reruns."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from tests.real_data import ROWS, write_table
from workflow.scripts import sources

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
TOOLS = {"thesis_tab1": ["edlib", "rapidfuzz", "wavebench-wfa:cpu"], "thesis_tab9": ["edlib", "wavebench-wfa:cpu"]}


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
    tables = ["thesis_tab1", "thesis_tab7", "thesis_tab9"]
    edit_yaml(folder / "config/config.yaml", lane="tiny", experiments=list(TOOLS), tables=tables)
    return folder


def edit_yaml(path, **values):
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | values))


class edited:
    """Within the block a file has one more line; after it the file is as before, its time too."""

    def __init__(self, path):
        self.path, self.content, self.stat = path, path.read_bytes(), path.stat()

    def __enter__(self):
        self.path.write_bytes(self.content + b"\n# an edit\n")

    def __exit__(self, *_):
        self.path.write_bytes(self.content)
        os.utime(self.path, ns=(self.stat.st_atime_ns, self.stat.st_mtime_ns))


@pytest.mark.parametrize("lane", ["kick", "lite", "full"])
def test_each_lane_has_a_plan(lane):
    wanted = jobs(ROOT, "--forceall", "--config", f"lane={lane}")
    pairs = yaml.safe_load((ROOT / f"config/lanes/{lane}.yaml").read_text())["pairs"]
    assert wanted["simulate"] == len(pairs)  # nothing in a lane is idle
    assert [wanted[f"race_{name}"] for name in ("thesis_tab1", "thesis_tab8", "thesis_tab9")] == [1, 1, 1]
    assert wanted["verify"] == wanted["collect"] == wanted["report"] == wanted["thesis_fig10"] == 1
    assert wanted["measured_table"] == 3
    assert wanted["computed_figure"] == 5


def test_one_table_can_be_asked_for():
    wanted = jobs(ROOT, "--forceall", "results/tables/thesis_tab1.md", "--config", "lane=kick")
    assert wanted["measured_table"] == 1
    assert "report" not in wanted


def test_a_bad_key_is_one_message_without_a_trace():
    done = snakemake(ROOT, "-n", "--config", "lanes=kick", check=False)
    assert done.returncode == 1
    assert "config/config.yaml: unknown key 'lanes'; allowed are" in done.said
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
    for name in ("thesis_tab1", "thesis_tab7", "thesis_tab9"):
        for suffix in ("csv", "md", "html", "tidy.csv"):
            assert (finished / f"results/tables/{name}.{suffix}").stat().st_size
    for name in ("thesis_fig1", "thesis_fig2", "thesis_fig3", "thesis_fig5", "thesis_fig10", "ewfa_fig1"):
        assert b"<svg" in (finished / f"results/figures/{name}.svg").read_bytes()
        assert (finished / f"results/figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(finished.glob("results/samples/tiny/*/*/*.parquet"))) == 4


@pytest.mark.slow
def test_a_second_run_has_nothing_to_do(finished):
    assert "Nothing to be done" in snakemake(finished).said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "reruns", "spares"),
    [
        (
            "workflow/aligners/rapidfuzz.py",
            {"race_thesis_tab1", "verify", "collect", "measured_table", "report"},
            {"race_thesis_tab9", "simulate", "computed_figure", "thesis_fig10", "thesis_tab7"},
        ),
        ("workflow/scripts/figures/thesis_fig1.py", {"computed_figure", "report"}, {"thesis_fig10", "collect"}),
        ("workflow/scripts/plotting.py", {"computed_figure", "thesis_fig10", "report"}, {"measured_table", "collect"}),
        ("workflow/scripts/tables/thesis_tab1.py", {"measured_table", "report"}, {"collect", "computed_figure"}),
        ("simulators/uniform.py", {"simulate", "race_thesis_tab1"}, set()),
        ("wfa_kernels/cpu/edit_wfa.py", {"race_thesis_tab1", "collect"}, {"simulate", "thesis_tab7"}),
    ],
)
def test_an_edit_reruns_what_depends_on_it(finished, file, reruns, spares):
    with edited(finished / file):
        wanted = jobs(finished)
    assert reruns <= set(wanted)
    assert not spares & set(wanted)
    if "figures/" in file or "tables/" in file:
        assert set(wanted.values()) == {1}
    assert not jobs(finished)


@pytest.mark.slow
def test_snakemakes_own_report(finished, tmp_path):
    snakemake(finished, "--report", str(tmp_path / "snakemake.html"))
    assert (tmp_path / "snakemake.html").stat().st_size > 10_000


@pytest.mark.slow
def test_real_reads_replace_the_simulated_ones(real_data_dir, tmp_path):
    project = copy_of_the_project(tmp_path)
    write_table(real_data_dir, project / "config/real_data.tsv")
    snakemake(project, *(f"results/tables/thesis_tab{n}.md" for n in (7, 9)), "results/figures/thesis_fig10.svg")
    measured = pq.read_table(project / "results/collected/measurements.parquet").to_pandas()
    nine = measured[(measured["experiment"] == "thesis_tab9") & (measured["status"] == "ok")]
    assert {f"real_{row[0]}" for row in ROWS} <= set(nine["dataset"])
    assert not {"nanopore", "illumina_150"} & set(nine["dataset"])
    assert (nine.loc[nine["exact"], "recall_native"] == 1).all()
    assert "real: lambda_ont" in (project / "results/tables/thesis_tab9.md").read_text()
    assert "unmapped" in (project / "results/tables/thesis_tab7.md").read_text()


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
