"""Tables: every value in its cell, nothing empty."""

import importlib
import os
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
import yaml

from tests.synthetic import measurement, race_rows, write_measurements
from tests.tables import ROOT, cells, drawer, lambda_reads, read_csv, refuse, refuse_absent_files
from workflow import aligners
from workflow.race import planning, samples
from workflow.scripts.table_plain import PlainTable, write_all


@pytest.fixture
def make(tmp_path):
    """make(table, rows) draws up a table from collected rows and gives the path without suffix."""
    return drawer(tmp_path)


def test_paper_values_stand_in_their_cells(make):
    out = make("thesis_tab1", [])
    (edlib,) = cells(out, row="Edlib", source="paper", dataset="uniform_1000_e2")
    assert float(edlib["time_s"]) == pytest.approx(120.248)
    assert edlib["threads"] == "80"
    both = cells(out, row="eWFA-GPU", source="paper", dataset="uniform_150_e10")
    assert [float(row["time_s"]) for row in both] == pytest.approx([0.100, 0.116])
    markdown = Path(f"{out}.md").read_text()
    assert "| Edlib | thesis | 80 | 8.928 s | 9.001 s | 9.057 s |" in markdown
    assert "| GASAL2 | thesis | GPU | 1.206 s |" in markdown


def test_doubts_about_the_papers_values_and_its_words_stand_under_the_table(make):
    text = Path(f"{make('thesis_tab1', [])}.md").read_text()
    assert text.count("read as NVBIO.BPM") == 1 and "\n- thesis, NVBio BPM: row label reads only 'GPU'" in text
    assert "\n- thesis: n/a: not available\n" in text
    text = Path(f"{make('thesis_tab8', [])}.md").read_text()
    assert "\n- thesis, GASAL2 (100M x 150bp e=2%): the block label before this row reads CPU" in text
    assert (
        "\n- thesis: n/c: not comparable; error: the tool failed\n" in text
    )  # its n/a, a failed tool's recall, is not


def test_a_measured_time_is_scaled_to_the_papers_count(make):
    out = make("thesis_tab1", [measurement(median_s=0.5, ci_low_s=0.49, ci_high_s=0.52, pairs=20_000)])
    (cell,) = cells(out, tool="edlib", source="here", dataset="uniform_150_e5", scope="cigar")
    assert float(cell["time_measured_s"]) == pytest.approx(0.5)
    assert float(cell["time_s"]) == pytest.approx(0.5 * 10_000_000 / 20_000)
    assert [float(cell[k]) for k in ("ci_low_s", "ci_high_s")] == pytest.approx([245, 260])
    assert float(cell["gcups_end_to_end"]) == pytest.approx(20_000 * 150 * 150 / 0.5 / 1e9)
    assert cell["note"] == "20000 of 10000000 pairs"
    assert "250 s ±4.0 % · 20K of 10M pairs" in Path(f"{out}.md").read_text()


def test_the_recall_of_a_heuristic_stands_beside_its_scores_too(make):
    ours = {"tool": "wavebench-wfa", "variant": "band", "exact": False, "metric": "affine", "penalties": "4,6,2",
            "experiment": "thesis_tab8", "recall_native": 0.985, "pairs": 1000}  # fmt: skip
    out = make(
        "thesis_tab8", [measurement(**ours, scope="score"), measurement(**ours, scope="cigar", recall_affine=0.975)]
    )
    told = Path(f"{out}.md").read_text()
    assert "R 98.5 %" in told and "R 97.5 %" in told
    assert {row["struck_out"] for row in cells(out, tool="wavebench-wfa", variant="band", status="ok")} == {"false"}


def test_the_recall_of_exact_scores_stands_beside_them_where_that_of_cigars_does(make):
    exact = {"metric": "affine", "penalties": "4,6,2", "experiment": "thesis_tab8", "pairs": 1000, "scope": "score"}
    out = make("thesis_tab8", [measurement(**exact, tool="wavebench-wfa", variant="cpu")])
    (line,) = (row for row in Path(f"{out}.md").read_text().splitlines() if "1K of" in row and "R 100 %" in row)
    assert "this host · kick" in line


def test_a_heuristic_of_the_gpu_stands_among_the_tools_of_the_gpu(make):
    place = {"experiment": "thesis_tab8", "metric": "affine", "exact": False, "recall_native": 0.9, "gpu": "Some GPU"}
    told = place | {"tool": "wavebench-affine", "variant": "paper-band", "quantity": "time_end_to_end_pinned"}
    out = make("thesis_tab8", [measurement(**told, scope=scope) for scope in ("cigar", "score")], lane="full")
    ours = [row for row in cells(out, source="here") if row["tool"] == "wavebench-affine"]
    assert {row["block"] for row in ours} == {"GPU"}
    assert {(r["scope"], r["row"].endswith("(distance)")) for r in ours} == {("cigar", False), ("score", True)}
    name = "wavebench, WFA-GPU's design, static band of 32 (GPU, heuristic)"
    lines = [line for line in Path(f"{out}.md").read_text().splitlines() if line.startswith(f"| {name}")]
    assert len(lines) == 2 and all("| this host · kick | GPU |" in line for line in lines)
    without = cells(make("thesis_tab8", [], lane="full"), source="here", tool="wavebench-affine", variant="paper-band")
    assert {row["status"] for row in without} == {"no GPU: not measured on a host without one"}


def test_a_librarys_own_thread_pool_has_a_row_of_its_own(make):
    rows = [measurement(tool="rapidfuzz", variant=variant, threads=threads, median_s=seconds, scope="score")
            for variant, threads, seconds in (("", 1, 1.0), ("", 2, 0.5), ("pool", 2, 0.6))]  # fmt: skip
    experiment = yaml.safe_load((ROOT / "config/experiments/thesis_tab1.yaml").read_text())
    experiment["tools"] = list(dict.fromkeys([*experiment["tools"], "rapidfuzz", "rapidfuzz:pool"]))
    text = Path(f"{make('thesis_tab1', rows, experiment=experiment)}.md").read_text()
    told = [line.split(" | ")[:3] for line in text.splitlines() if line.startswith("| RapidFuzz") and "kick" in line]
    assert [(name.strip("| "), threads) for name, _, threads in told] == [
        ("RapidFuzz", "1"), ("RapidFuzz", "2 (all)"), ("RapidFuzz (own thread pool)", "2 (all)")
    ]  # fmt: skip


def test_a_further_variant_that_can_never_do_a_scope_has_a_note_in_the_place_of_a_row(make):
    unable = {"status": "unsupported", "reason": "distances only", "median_s": None, "pairs": 0, "rounds": 0}
    rows = [measurement(tool="rapidfuzz"), measurement(tool="rapidfuzz", variant="pool", **unable),
            measurement(tool="rapidfuzz", variant="pool", scope="score"),
            measurement(tool="edlib", **unable)]  # fmt: skip
    out = make("thesis_tab1", rows)
    shown = {(r["row"], r["scope"]) for r in cells(out, source="here")}
    pool = "RapidFuzz (own thread pool)"
    assert (pool, "score") in shown and (pool, "cigar") not in shown
    assert {("RapidFuzz", "cigar"), ("Edlib", "cigar")} <= shown
    assert f"{pool} has no row in 'Full alignment, CPU': distances only" in Path(f"{out}.md").read_text()


def test_no_cell_is_empty_and_every_reason_is_the_right_one(make):
    failed = measurement(tool="rapidfuzz", status="unsupported", reason="gives no CIGAR", median_s=None, pairs=0,
                         recall_native=None, coverage=None, rounds=0)  # fmt: skip
    out = make("thesis_tab1", [measurement(), failed])
    here = {(r["row"], r["scope"], r["dataset"]): r["status"] for r in cells(out, source="here")}
    assert here[("RapidFuzz", "cigar", "uniform_150_e5")] == "unsupported: gives no CIGAR"
    assert here[("Edlib", "cigar", "uniform_300_e5")].startswith("not in this lane")
    assert here[("Edlib", "cigar", "uniform_150_e2")].startswith("no sample yet")
    assert here[("wavebench, fast design (GPU)", "cigar", "uniform_150_e2")].startswith("no GPU")
    assert here[("eWFA-GPU", "cigar", "uniform_150_e2")] == "not raced yet: no race has this tool yet"
    for line in Path(f"{out}.md").read_text().splitlines():
        if line.startswith("|"):
            assert all(cell.strip() for cell in line.strip("|").split("|")), line
    assert "<td></td>" not in Path(f"{out}.html").read_text()


def test_a_tool_that_failed_on_more_pairs_says_so(make):
    fewer = measurement(pairs=2500, reason="on 10000 pairs: out of memory")
    text = Path(f"{make('thesis_tab1', [fewer])}.md").read_text()
    assert "Timed on fewer pairs, as it failed on 10000 pairs: out of memory (Edlib, " in text
    assert "as it failed" not in Path(f"{make('thesis_tab1', [measurement(pairs=2500)])}.md").read_text()


def test_of_two_runs_of_one_race_the_newest_is_shown(make):
    days = {"2026-11-21T00:00:00+00:00": 9.0, "2026-11-22T00:00:00+00:00": 1.0}
    runs = [measurement(median_s=seconds, time_utc=day) for day, seconds in days.items()]
    for rows in (runs, runs[::-1]):
        (cell,) = cells(make("thesis_tab1", rows), source="here", row="Edlib", scope="cigar", dataset="uniform_150_e5")
        assert float(cell["time_measured_s"]) == 1.0


def test_a_scope_that_the_lane_narrows_away_is_not_in_it(make, tmp_path):
    lane = yaml.safe_load((ROOT / "config/lanes/kick.yaml").read_text())
    lane["narrow"]["thesis_tab1"]["scopes"] = ["score"]
    (tmp_path / "narrow.yaml").write_text(yaml.safe_dump(lane))
    narrow = os.path.relpath(tmp_path / "narrow", "config/lanes")
    told = cells(make("thesis_tab1", [], lane=narrow), source="here", row="Edlib", dataset="uniform_150_e5")
    status = {cell["scope"]: cell["status"] for cell in told}
    assert status["cigar"] == "not in this lane: lane kick does not race scope cigar"
    assert status["score"].startswith("no sample yet")


@pytest.mark.parametrize(
    ("cores", "told"),
    [
        (2, "not in this lane: lane kick does not race 1 thread"),
        (1, "no sample yet: lane kick has not measured this cell yet"),
    ],
)
def test_a_number_of_threads_that_the_lane_does_not_race_is_not_in_it(make, monkeypatch, cores, told):
    monkeypatch.setattr(planning, "usable_cores", lambda: cores)
    of = {"experiment": "thesis_tab9", "dataset": "illumina_150", "dataset_model": "illumina_150"}
    out = make("thesis_tab9", [measurement(**of, lane="lite", recall_affine=1.0), measurement(**of, threads=2)])
    here = {(c["threads"], c["dataset"]): c["status"] for c in cells(out, source="here", tool="edlib", scope="cigar")}
    assert here["1", "illumina_150"] == "ok" and here["1", "nanopore"] == told
    if cores == 2:
        assert here["2", "nanopore"].startswith("no sample yet")


def test_a_cell_that_only_a_race_has_which_is_not_shown_says_so(make):
    shown = measurement(pairs_total=10**6, race_id="large", lane="lite")
    other = measurement(tool="rapidfuzz", pairs_total=10**4, race_id="small")
    told = cells(make("thesis_tab1", [shown, other]), source="here", scope="cigar", dataset="uniform_150_e5")
    status = {cell["row"]: cell["status"] for cell in told}
    assert status["RapidFuzz"] == "not in this race: in a race of lane kick alone, which is not the one shown"
    assert status["Edlib"] == "ok" and status["BPM"].startswith("not in this lane")


def test_a_peer_that_is_not_installed_says_so(make):
    place = {"experiment": "thesis_tab8", "dataset": "uniform_150_e5", "scope": "cigar"}
    absent = measurement(tool="seqan", variant="", pairs=0, rounds=0, status="not_installed", reason="no headers",
                         median_s=None, recall_native=None, **place)  # fmt: skip
    out = make("thesis_tab8", [measurement(tool="ksw2", variant="", recall_affine=1.0, **place), absent])
    here = {(r["row"], r["dataset"]): r["status"] for r in cells(out, source="here", scope="cigar")}
    assert here[("KSW2", "uniform_150_e5")] == "ok"
    assert here[("SeqAn", "uniform_150_e5")] == "not installed: no headers"


def test_tools_that_the_lane_does_not_race_are_a_note_unless_a_host_has_raced_them(make):
    place = {"experiment": "thesis_tab8", "dataset": "uniform_150_e5", "scope": "cigar"}
    raced = measurement(tool="wfa2-lib", variant="biwfa", source="recorded", host="h", recall_affine=1.0, **place)
    out = make("thesis_tab8", [raced])
    assert "Not raced in lane kick: " in Path(f"{out}.md").read_text()
    rows = {r["row"]: r["status"] for r in cells(out, source="here", dataset="uniform_150_e5")}
    assert "Parasail, native (scan)" not in rows and "WFA2-lib, native (BiWFA)" in rows
    assert rows["WFA2-lib (BiWFA)"] == "not in this lane: lane kick does not race this tool"


def test_a_data_set_that_the_lane_narrows_away_is_not_in_it(make):
    here = {r["dataset"]: r["status"] for r in cells(make("thesis_tab8", []), source="here", row="WFA (WFA2-lib)")}
    assert here["uniform_150_e2"].startswith("not in this lane") and here["uniform_150_e5"].startswith("no sample yet")


def test_our_gpu_kernel_has_a_row_that_says_why_it_was_not_timed(make):
    absent = measurement(tool="wavebench-edit", variant="fast", quantity="time_end_to_end_pageable", pairs=0, rounds=0,
                         status="not_installed", reason="no driver", median_s=None, recall_native=None)  # fmt: skip
    wanted = {"row": "wavebench, fast design (GPU)", "scope": "cigar", "source": "here"}
    out = make("thesis_tab1", [measurement(), absent])
    assert {cell["status"] for cell in cells(out, **wanted)} == {"no GPU: not measured on a host without one"}
    out = make("thesis_tab1", [measurement(gpu="Some GPU"), absent | {"gpu": "Some GPU"}])
    (cell,) = cells(out, **wanted, dataset="uniform_150_e5")
    assert cell["status"] == "not installed: no driver"


def test_hosts_without_a_gpu_have_one_note_in_place_of_a_line_for_each_of_its_tools(make):
    ours = {"tool": "wavebench-edit", "variant": "fast", "quantity": "time_end_to_end_pinned", "gpu": "Some GPU"}
    recorded = [measurement(**ours, host="h200", source="recorded", scope=scope) for scope in ("score", "cigar")]
    note = "No GPU, and so no line of the tools that run on one: recorded: old-2c, this host."
    name = "wavebench, fast design (GPU)"

    def drawn(measurements):
        out = make("thesis_tab1", measurements)
        of_tool = [line for line in Path(f"{out}.md").read_text().splitlines() if line.startswith(f"| {name} ")]
        assert Path(f"{out}.html").read_text().count(f"<td>{name}</td>") == len(of_tool)
        told = [note in Path(f"{out}.{kind}").read_text() for kind in ("md", "html")]
        assert cells(out, row=name, source="here"), "files for machines have every line"
        return of_tool, told

    lines, told = drawn([*recorded, measurement(host="old-2c", source="recorded")])
    assert told == [True, True] and len(lines) == 2 and all("recorded: h200" in line for line in lines)
    lines, told = drawn([measurement()])
    assert told == [False, False] and len(lines) == 2 and all("no GPU" in line for line in lines), "else nothing tells"


def test_a_gpu_time_stands_beside_the_one_from_ordinary_arrays(make):
    ours = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU", "pairs": 20_000}
    pinned = measurement(quantity="time_end_to_end_pinned", median_s=0.02, ci_low_s=0.02, ci_high_s=0.02, **ours)
    ordinary = {"quantity": "time_end_to_end_pageable", "median_s": 0.03, "ci_low_s": 0.0297, "ci_high_s": 0.0301}
    pageable = measurement(**ordinary, **ours)
    out = make("thesis_tab1", [pageable, pinned])
    (line,) = [line for line in Path(f"{out}.md").read_text().splitlines() if "pageable 15.0 s" in line]
    assert line.startswith("| wavebench, fast design (GPU) | this host · kick | GPU |")
    assert "| 10.0 s ±0 % · pageable 15.0 s ±1.0 % · 20K of 10M pairs |" in line
    assert "<small>pageable 15.0\N{NO-BREAK SPACE}s ±1.0\N{NO-BREAK SPACE}%</small>" in Path(f"{out}.html").read_text()
    out = make("thesis_tab1", [row | {"coverage": 0.99} for row in (pageable, pinned)])
    assert "| 10.1 s ±0 % · pageable 15.2 s ±1.0 % · " in Path(f"{out}.md").read_text()  # both per answered pair


def test_recall_of_scores_is_not_shown_as_that_of_cigars(make):
    own = {"experiment": "thesis_tab8", "tool": "ksw2", "pairs": 1000}
    text = Path(f"{make('thesis_tab8', [measurement(**own, recall_affine=None)])}.md").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("| KSW2 | this host") and "1K of" in line]
    assert "R 100 %" not in line


def test_a_host_has_a_gpu_that_races_of_another_experiment_tell_of(make):
    other = measurement(experiment="thesis_tab8", gpu="Some GPU")
    (cell,) = cells(make("thesis_tab1", [measurement(), other]), source="here", dataset="uniform_150_e2",
                    row="wavebench, fast design (GPU)", scope="cigar")  # fmt: skip
    assert cell["status"].startswith("no sample yet")


def test_a_time_of_pairs_shorter_than_the_others_is_scaled_by_their_cells(make):
    part = measurement(pairs=20_000, cells=20_000 * 22_500.0, data_cells=50_000 * 90_000.0, median_s=0.5)
    (cell,) = [r for r in cells(make("thesis_tab1", [part]), source="here", tool="edlib") if r["status"] == "ok"]
    assert float(cell["time_s"]) == pytest.approx(0.5 * 500 * 4, rel=1e-3)  # 10M pairs, of four times the cells
    assert float(cell["time_measured_s"]) == 0.5


def test_a_tool_that_no_race_has_has_one_line_that_says_so(make):
    recorded = measurement(source="recorded", host="h200", race_id="r2", gpu="Some GPU")
    out = make("thesis_tab1", [measurement(gpu="Some GPU"), recorded])
    theirs = cells(out, row="eWFA-GPU", scope="cigar", dataset="uniform_150_e5")
    (line,) = [cell for cell in theirs if cell["source"] != "paper"]
    assert line["status"] == "not raced yet: no race has this tool yet"


def test_a_tool_that_no_race_has_any_more_has_the_lines_of_hosts_that_raced_it(make):
    recorded = measurement(source="recorded", host="h200", race_id="r2", gpu="Some GPU", tool="ewfa-gpu")
    out = make("thesis_tab1", [measurement(), recorded])
    theirs = cells(out, row="eWFA-GPU", scope="cigar", dataset="uniform_150_e5")
    assert [(cell["source"], cell["status"]) for cell in theirs[1:]] == [("recorded", "ok")]


@pytest.mark.parametrize("doubt", ["stale", "older_way"])
def test_a_race_of_the_checkouts_sources_and_procedure_is_shown_before_a_larger_outdated_one(make, doubt):
    stale = measurement(race_id="r2", lane="lite", pairs=10**6, pairs_total=10**6, **{doubt: True})
    (cell,) = [r for r in cells(make("thesis_tab1", [measurement(), stale]), source="here", tool="edlib")
               if r["status"] == "ok"]  # fmt: skip
    assert (cell["lane"], cell["stale"]) == ("kick", "false")


def test_all_hosts_stand_side_by_side(make):
    recorded = measurement(source="recorded", host="h200", lane="lite", race_id="r2", median_s=0.1, threads=16)
    text = Path(f"{make('thesis_tab1', [measurement(), measurement(threads=2), recorded])}.md").read_text()
    lines = [line.split(" | ")[1:3] for line in text.splitlines() if line.startswith("| Edlib |")]
    assert ["thesis", "80"] in lines and ["this host · kick", "1"] in lines and ["this host · kick", "2 (all)"] in lines
    assert ["recorded: h200 · lite", "16 (all)"] in lines


def test_the_largest_valid_lane_is_shown(make):
    small = measurement(median_s=0.5)
    large = measurement(race_id="r2", lane="lite", pairs=1_000_000, pairs_total=1_000_000, median_s=20.0)
    broken = measurement(race_id="r3", lane="full", pairs=10**7, pairs_total=10**7, median_s=99.0, race_valid=False)
    (cell,) = [r for r in cells(make("thesis_tab1", [small, large, broken]), source="here", tool="edlib")
               if r["status"] == "ok"]  # fmt: skip
    assert cell["lane"] == "lite" and float(cell["time_s"]) == pytest.approx(200)


def test_distances_and_alignments_of_one_gpu_tool_have_names_of_their_own(make):
    own = {"experiment": "thesis_tab8", "metric": "affine", "tool": "wavebench-affine", "variant": "fast"}
    pinned = own | {"quantity": "time_end_to_end_pinned", "gpu": "Some GPU"}
    out = make(
        "thesis_tab8", [measurement(**pinned, scope=s, median_s=t) for s, t in (("cigar", 0.5), ("score", 0.25))]
    )
    name = "wavebench, fast design (GPU)"
    lines = {line.split(" | ")[0]: line for line in Path(f"{out}.md").read_text().splitlines() if "this host ·" in line}
    assert " 2500 s " in lines[f"| {name}"] and " 1250 s " in lines[f"| {name} (distance)"]
    assert f"<td>{name} (distance)</td>" in Path(f"{out}.html").read_text()


@pytest.mark.parametrize(
    ("compiled", "name"), [(True, "time_jit"), (False, "time_first_call"), (None, "time_first_call")]
)
def test_a_first_call_is_jit_time_only_where_it_compiled(make, compiled, name):
    out = make("thesis_tab1", [measurement(jit_compiled=compiled)])
    told = {
        r["quantity"]: r["value"] for r in read_csv(f"{out}.tidy.csv") if r["tool"] == "edlib" and r["source"] == "here"
    }
    assert told[name] == "0.1" and not {"time_jit", "time_first_call"} - {name} & set(told)


def test_twins_and_subsets_are_not_shown(make):
    rows = [measurement(tool="wavebench-wfa", variant="cpu", main=False, twin=True, median_s=7.0)]
    assert all(r["status"] != "ok" for r in cells(make("thesis_tab1", rows), source="here"))


def test_tab9_says_why_reads_are_not_mapped_and_shows_their_stand_in(make, tmp_path):
    stand_in = measurement(experiment="thesis_tab9", dataset="nanopore", metric="affine", dataset_model="nanopore")
    out = make("thesis_tab9", [stand_in], real_data=lambda_reads(tmp_path), unmapped="no mappy")
    here = {(r["tool"], r["dataset"]): r["status"] for r in cells(out, source="here", scope="cigar")}
    assert here["edlib", "real_lambda"] == "not mapped: no mappy" and here["edlib", "nanopore"] == "ok"
    assert not any(status.startswith("real reads instead") for status in here.values())


def test_tab9_says_of_reads_that_another_host_has_raced_what_this_one_would_race(make, tmp_path):
    theirs = {"experiment": "thesis_tab9", "dataset": "real_other", "metric": "affine", "dataset_model": "nanopore"}
    raced = [measurement(**theirs, source="recorded", host="h200", recall_affine=1.0)]
    wanted = {"source": "here", "tool": "edlib", "scope": "cigar"}

    def told(out):
        return {row["dataset"]: row["status"] for row in cells(out, **wanted)}

    reads = "no sample yet: raced where config/real_data.tsv names its reads"
    simulated = raced + [measurement(**theirs | {"dataset": "nanopore"}, source="recorded", host="h200")]
    without = told(make("thesis_tab9", simulated))
    unmeasured = "no sample yet: lane kick has not measured this cell yet"
    assert (without["real_other"], without["nanopore"]) == (reads, unmeasured)
    found = told(make("thesis_tab9", simulated, real_data=lambda_reads(tmp_path)))
    assert (found["real_other"], found["real_lambda"]) == (reads, unmeasured)
    assert found["nanopore"].startswith("real reads instead")


def test_tab9_says_what_is_real(make, tmp_path):
    table = lambda_reads(tmp_path)
    measured = measurement(experiment="thesis_tab9", dataset="real_lambda", metric="affine", penalties="4,6,2",
                           recall_affine=0.0, dataset_model="mapped", length_bp=6000, error=None)  # fmt: skip
    out = make("thesis_tab9", [measured], real_data=table)
    header = next(line for line in Path(f"{out}.md").read_text().splitlines() if line.startswith("| Tool"))
    assert "Illumina 150 simulated" in header and "Nanopore real: lambda" in header
    assert "Nanopore simulated" not in header
    (cell,) = cells(out, source="here", tool="edlib", dataset="real_lambda", scope="cigar")
    assert cell["recall_affine"] == "0" and cell["column"] == "Nanopore real: lambda"
    (paper,) = cells(out, source="paper", row="Edlib (edit distance)", dataset="nanopore")
    assert float(paper["time_s"]) == 22620


def test_bad_input_is_one_message_and_exit_code_2():
    refuse_absent_files("thesis_tab1", "paper", "config", "lane")


def test_a_file_of_another_kind_is_one_message_and_exit_code_2(tmp_path):
    collected, race, out = tmp_path / "m.parquet", tmp_path / "race.parquet", tmp_path / "out/t"
    write_measurements(collected, [measurement()])
    samples.write(race, race_rows("uniform_150_e5", {("edlib", "", 1): 1.0}), {})
    lane, experiment = ROOT / "config/lanes/kick.yaml", ROOT / "config/experiments/thesis_tab1.yaml"
    message = f"{race}: holds no collected measurements: column 'median_s' is missing"
    refuse("thesis_tab1", message, measurements=race, out=out)
    for name, wrong, key in (("lane", experiment, "datasets"), ("config", lane, "name")):
        message = f"{wrong}: unknown key '{key}'"
        refuse("thesis_tab1", message, measurements=collected, out=out, **{name: wrong})


def test_a_table_that_cannot_be_written_is_one_message_and_exit_code_2(tmp_path):
    write_measurements(tmp_path / "m.parquet", [measurement()])
    (tmp_path / "file").touch()
    for out in (tmp_path / "file/t", "/proc/x/t"):
        message = f"{out}.csv: cannot be written ("
        refuse("thesis_tab1", message, measurements=tmp_path / "m.parquet", out=out)
    with pytest.raises(click.UsageError, match=r"file/t.csv: cannot be written \("):
        write_all(PlainTable("t", "t", "", [], [], []), str(tmp_path / "file/t"), [], [], [])


def test_every_tool_has_one_row_a_scope_in_a_block_of_its_device(monkeypatch):
    """The experiment's own, an external program for GPUs, and one that no adapter is of any more."""
    adapters = aligners.load()
    monkeypatch.setattr(aligners, "load", lambda: adapters | {"mygpu": SimpleNamespace(device="cuda")})
    for table in ("thesis_tab1", "thesis_tab8", "thesis_tab9"):
        module = importlib.import_module(f"workflow.scripts.tables.{table}")
        experiment = yaml.safe_load((ROOT / f"config/experiments/{table}.yaml").read_text())
        experiment["tools"] += ["mygpu", "gone"]
        layout = module.make_layout(experiment, "", [])
        for scope in experiment["scopes"]:
            of_scope = [row for row in layout.rows if row.scope == scope]
            for tool in {tool.split("@")[0] for tool in experiment["tools"]}:  # "@": another quantity of the same tool
                (row,) = [row for row in of_scope if row.tool == tool]
                on_gpu = tool != "gone" and aligners.load()[tool].device == "cuda"
                assert row.device == ("GPU" if on_gpu else "CPU") and row.device in row.block
