"""Profiles as thesis Tab 4, Tab 5 and Fig 6: what was recorded stands beside the papers, or a reason for nothing."""

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from PIL import Image

from tests import synthetic_profiles
from tests.tables import ROOT, read_csv
from tests.test_figures import check_text
from wfa_kernels import gpu_problem
from workflow.race import host
from workflow.scripts import kernel_metrics, plotting, profiles
from workflow.scripts.figures import gpu_occupancy, thesis_fig6
from workflow.scripts.table_output import TIDY_COLUMNS
from workflow.scripts.tables import thesis_tab4, thesis_tab5


def drawn(module, folder, *contents, here="here-2c"):
    """Path without suffix of a table drawn up from these profiles."""
    name = module.__name__.rsplit(".", 1)[1]
    files = [synthetic_profiles.write(folder / f"{i}.json", content) for i, content in enumerate(contents)]
    paper = ROOT / f"config/papers/{name}.csv"
    run = CliRunner().invoke(module.main, [*files, f"--paper={paper}", f"--host={here}", f"--out={folder / name}"])
    assert run.exit_code == 0, run.output
    return folder / name


def values(out, host, column=""):
    """{quantity: value, or why there is none} of the columns of that host whose name holds the text."""
    rows = [row for row in read_csv(f"{out}.csv") if row["host"] == host and column in row["column"]]
    return {row["quantity"]: row["value"] or row["status"] for row in rows}


@pytest.mark.parametrize(("module", "printed"), [(thesis_tab4, 33), (thesis_tab5, 27)])
def test_without_a_profile_the_papers_numbers_stand_and_ours_say_why(module, printed, tmp_path):
    out = drawn(module, tmp_path)
    rows = read_csv(f"{out}.csv")
    assert len([row for row in rows if row["source"] == "paper" and row["value"]]) == printed
    assert set(values(out, "here-2c").values()) == {"not profiled on here-2c: needs an NVIDIA GPU"}
    assert "Registers" not in out.with_suffix(".md").read_text()


def test_a_recorded_profile_stands_beside_the_papers(tmp_path):
    out = drawn(thesis_tab4, tmp_path, synthetic_profiles.kernels())
    assert values(out, "V100", "E64")["kernel_time"] == "45.19"
    ours = values(out, "h200-16c", "5%")
    assert (ours["kernel"], ours["pairs_answered"], ours["max_errors"], ours["block_threads"]) == (
        "E64",
        "99",
        "64",
        "64",
    )
    assert (ours["shared_memory_per_block"], ours["registers_per_thread"]) == ("4.000", "40")
    assert (ours["kernel_time"], ours["time_kernel"], ours["warp_instructions"]) == ("12.34", "22.50", "6.500")
    assert (ours["sm_busy"], ours["active_threads_per_warp"], ours["active_warps_per_sm"]) == (
        "88.25",
        "10.25",
        "31.50",
    )
    text = out.with_suffix(".md").read_text()
    assert "1000 nt 5% (E64), 1M pairs (recorded: h200-16c)" in text
    assert "Recorded on h200-16c (NVIDIA H200) on 2026-01-02, commit 0123456789. ncu 2025.3.1.0." in text
    assert "not profiled on here-2c" in text and "sm__instruction_throughput" in text
    assert "time_pack" not in ours and "Packing the letters is apart, and not shown" in text


def test_tab5_shows_each_kernel_that_was_asked_for(tmp_path):
    out = drawn(thesis_tab5, tmp_path, synthetic_profiles.kernels(), here="h200-16c")
    assert [values(out, "h200-16c", f"({k})")["kernel"] for k in ("E32", "E64", "E128")] == ["E32", "E64", "E128"]
    assert values(out, "h200-16c", "(E128)")["block_threads"] == "32"
    text = out.with_suffix(".md").read_text()
    assert "(this host: h200-16c)" in text and "Read on this host h200-16c" in text and "not profiled" not in text


def test_without_ncu_the_compilers_facts_stand_alone(tmp_path):
    missing = {"version": None, "reason": "ncu (Nsight Compute) is not installed"}
    content = synthetic_profiles.kernels(ncu=missing)
    for cell in content["cells"]:
        cell["ncu"] = {}
    out = drawn(thesis_tab4, tmp_path, content)
    ours = values(out, "h200-16c", "2%")
    assert ours["sm_busy"] == ours["kernel_time"] == f"not measured: {missing['reason']}"
    assert (ours["registers_per_thread"], ours["time_kernel"]) == ("40", "22.50")


def test_counters_that_ncu_could_not_get_say_why(tmp_path):
    content = synthetic_profiles.kernels(ncu={"version": "2025.3", "reason": "ncu: took more than 180 s"})
    content["cells"][0]["ncu"] = {"E32": synthetic_profiles.COUNTERS | {"sm_busy_percent": None}}
    content["cells"][1]["ncu"] = {}
    out = drawn(thesis_tab4, tmp_path, content)
    assert values(out, "h200-16c", "2%")["sm_busy"] == "not measured: ncu: took more than 180 s"
    assert values(out, "h200-16c", "2%")["kernel_time"] == "12.34"
    assert values(out, "h200-16c", "5%")["kernel_time"] == "not measured: ncu: took more than 180 s"
    assert "ncu 2025.3; ncu: took more than 180 s." in out.with_suffix(".md").read_text()


def test_recorded_profiles_are_taken_and_this_hosts_if_it_is_there_or_made(tmp_path):
    recorded = synthetic_profiles.write(tmp_path / "recorded/h/profile/kernels.json", synthetic_profiles.kernels())
    own = str(tmp_path / "profile/here/kernels.json")
    assert profiles.files("kernels", "here", False, tmp_path) == [recorded]
    assert profiles.files("kernels", "here", True, tmp_path) == [own, recorded]
    synthetic_profiles.write(tmp_path / "profile/here/kernels.json", synthetic_profiles.kernels())
    assert profiles.files("kernels", "here", False, tmp_path) == [own, recorded]
    assert profiles.files("timeline", "here", False, tmp_path) == []


def test_the_newest_profile_of_a_host_counts(tmp_path):
    later = synthetic_profiles.kernels(time_utc="2026-02-03T00:00:00+00:00", commit="fedcba")
    out = drawn(thesis_tab4, tmp_path, later, synthetic_profiles.kernels())
    assert {row["commit"] for row in read_csv(f"{out}.csv") if row["host"] == "h200-16c"} == {"fedcba"}


#: Changes of a made-up profile, and how it is then marked.
DOUBTS = [({"tool_source_hashes": {"wavebench-edit:paper": "older"}}, "stale"), ({}, ""), (None, "of unknown sources")]


def doubted(content, changes):
    """The profile with these changes; None: as recorded before hashes were kept."""
    return {k: v for k, v in content.items() if k != "tool_source_hashes"} if changes is None else content | changes


@pytest.mark.parametrize(("changes", "doubt"), DOUBTS)
@pytest.mark.parametrize("module", [thesis_tab4, thesis_tab5])
def test_a_table_marks_a_profile_of_other_or_unknown_sources(tmp_path, module, changes, doubt):
    out = drawn(module, tmp_path, doubted(synthetic_profiles.kernels(), changes))
    text = out.with_suffix(".md").read_text()
    assert text.count(f"pairs (recorded: h200-16c{f', {doubt}' if doubt else ''})") == 3
    assert f"commit 0123456789{f' ({doubt})' if doubt else ''}. ncu" in text
    explained = [meaning for meaning in kernel_metrics.DOUBTS.values() if f"- {meaning}" in text]
    assert explained == ([kernel_metrics.DOUBTS[doubt]] if doubt else [])
    ours = [row for row in read_csv(f"{out}.csv") if row["host"] == "h200-16c"]
    assert ours and {row["note"] for row in ours} == {doubt}
    tidy = [row["note"] for row in read_csv(f"{out}.tidy.csv") if row["host"] == "h200-16c"]
    assert all(note.endswith(f"; {doubt}" if doubt else ")") for note in tidy)


@pytest.mark.parametrize(("changes", "doubt"), DOUBTS)
@pytest.mark.parametrize("kind", ["timeline", "occupancy"])
def test_a_figure_marks_a_profile_of_other_or_unknown_sources(kind, changes, doubt):
    figures = {"timeline": thesis_fig6, "occupancy": gpu_occupancy}
    content = doubted(getattr(synthetic_profiles, kind)(host="nvidia-h200-intel-xeon-16c"), changes)
    figure = figures[kind].draw([profiles.Profile("recorded", content)], "here-2c")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    titles = [title for title in titles if title.startswith("recorded: ")]
    assert titles and all(title.endswith(f")\n{doubt}" if doubt else ")") for title in titles)
    assert (f"({doubt})" in words(figure).replace("\n", " ")) == bool(doubt)
    check_text(figure)


def test_the_page_and_the_tidy_file(tmp_path):
    out = drawn(thesis_tab4, tmp_path, synthetic_profiles.kernels())
    assert '<article id="thesis_tab4">' in out.with_suffix(".html").read_text()
    rows = read_csv(f"{out}.tidy.csv")
    assert list(rows[0]) == TIDY_COLUMNS and len(rows) == (3 + 3 + 1) * len(kernel_metrics.METRICS)
    assert all(bool(row["value"]) == (row["status"] == "ok") for row in rows)
    times = [row for row in rows if row["quantity"].startswith("time_") or row["quantity"] == "kernel_time"]
    assert {row["unit"] for row in times} == {"s"} and "ms" not in {row["unit"] for row in rows}
    thesis = next(row for row in times if row["source"] == "paper" and row["value"])
    assert (thesis["tool"], thesis["variant"], thesis["value"]) == ("eWFA-GPU", "", "0.01727")
    ours = {row["quantity"]: row for row in rows if row["host"] == "h200-16c" and row["dataset"] == "uniform_1000_e2"}
    assert (ours["time_kernel"]["tool"], ours["time_kernel"]["variant"]) == ("wavebench-edit", "paper")
    assert (ours["time_kernel"]["length_bp"], ours["time_kernel"]["error"]) == ("1000", "0.02")
    assert (ours["time_kernel"]["value"], ours["kernel_time"]["value"]) == ("0.0225", "0.01234")
    quantities = [metric.quantity for metric in kernel_metrics.METRICS]
    assert len(set(quantities)) == len(quantities)


def test_every_row_of_the_papers_has_its_metric():
    named = {metric.name: metric.unit for metric in kernel_metrics.METRICS}
    for table in ("thesis_tab4", "thesis_tab5"):
        for row in read_csv(ROOT / f"config/papers/{table}.csv"):
            assert named[row["row"]] == row["unit"]


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps(synthetic_profiles.kernels(layout=99)),
                                  json.dumps(synthetic_profiles.timeline())])  # fmt: skip
def test_a_file_that_is_no_profile_is_one_message_and_exit_code_2(tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    paper = ROOT / "config/papers/thesis_tab4.csv"
    run = CliRunner().invoke(thesis_tab4.main, [str(tmp_path / "bad.json"), f"--paper={paper}", "--host=h", "--out=x"])
    assert run.exit_code == 2 and "bad.json" in run.output and "Traceback" not in run.output


def shown(*contents, here="here-2c"):
    """The figure of these timelines."""
    found = [profiles.Profile("here" if c["host"] == here else "recorded", c) for c in contents]
    return thesis_fig6.draw(found, here)


def words(figure):
    """Every text of a figure."""
    return " ".join(text.get_text() for text in figure.findobj(plotting.plt.Text))


def test_the_figure_has_a_bar_for_every_span_and_says_where_it_is_from():
    content = synthetic_profiles.timeline()
    figure = shown(content)
    for axes, design in zip(figure.axes, content["designs"], strict=True):
        bars = {(round(bar.get_x(), 3), round(bar.get_width(), 3)) for bar in axes.patches}
        spans = design["spans"]
        wanted = {(round(s["begin_s"] * 1e3, 3), round((s["end_s"] - s["begin_s"]) * 1e3, 3)) for s in spans}
        assert bars == wanted and len(axes.patches) == len(spans)
    lanes = [[label.get_text() for label in axes.get_yticklabels()] for axes in figure.axes]
    assert lanes == [["copies in", "kernels", "copies out"], ["copies in", "packing", "kernels", "copies out"]]
    told = words(figure)
    assert "recorded: h200-16c" in told and "Recorded on h200-16c" in told and "Not profiled on here-2c" in told
    check_text(figure)


def test_a_number_stands_where_no_other_bar_of_its_lane_lies():
    content = synthetic_profiles.timeline()
    spans = [(1, 0.0, 0.4), (2, 0.3, 0.6), (11, 0.96, 1.0), (3, 0.7, 0.735), (4, 0.65, 0.76)]
    content["designs"] = [
        {"design": "paper", "seconds": 1e-3, "calls": 1, "spans": [
            {"part": "time_kernel", "batch": number - 1, "begin_s": begin / 1e3, "end_s": end / 1e3}
            for number, begin, end in spans
        ]}
    ]  # fmt: skip
    (axes,) = shown(content).axes
    places = {text.get_text(): round(text.get_position()[0], 4) for text in axes.texts}
    assert places == {"1": 0.15, "2": 0.5, "4": 0.675}


def test_a_figure_of_this_host_and_one_without_any(tmp_path):
    figure = shown(synthetic_profiles.timeline(host="here-2c"))
    assert "this host: here-2c" in words(figure) and "Not profiled" not in words(figure)
    plotting.plt.close(figure)
    empty = shown()
    assert "no host has a timeline yet" in words(empty) and "needs an NVIDIA GPU" in words(empty)
    check_text(empty)


def test_the_figures_command_writes_it_at_column_width(tmp_path):
    path = synthetic_profiles.write(tmp_path / "t.json", synthetic_profiles.timeline())
    run = CliRunner().invoke(thesis_fig6.main, [path, "--host=here-2c", f"--out={tmp_path / 'f'}"])
    assert run.exit_code == 0, run.output
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.width == round(plotting.ONE_COLUMN * 300)


def test_a_run_profiles_only_where_a_gpu_can_be_used():
    wanted = [f"results/tables/thesis_tab{n}.md" for n in (4, 5)]
    wanted += [f"results/figures/{figure}.svg" for figure in ("thesis_fig6", "gpu_occupancy")]
    dry_run = [sys.executable, "-m", "snakemake", "-n", "--forceall", *wanted]
    done = subprocess.run(dry_run, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    planned = done.stdout.partition("Job stats:")[2].partition("total")[0]
    rules = dict(re.findall(r"^(\w+) +(\d+)$", planned, re.MULTILINE))
    usable = bool(host.gpus()) and gpu_problem() is None
    assert rules == {"kernel_table": "2", "profile_figure": "2"} | ({"profile": "3"} if usable else {})
