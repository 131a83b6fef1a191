"""thesis Tab 1 beyond a plain table of times: packed input, external figures, the floor of a GPU's time."""

from pathlib import Path

import pytest
import yaml

from tests.synthetic import measurement, race_rows
from tests.tables import ROOT, cells, drawer, read_csv
from workflow.race import samples
from workflow.scripts import peaks, table_build, table_floor, table_peers
from workflow.scripts.tables import thesis_tab1

TAB1 = yaml.safe_load((ROOT / "config/experiments/thesis_tab1.yaml").read_text())
PEER = ROOT / "config/peers/ewfa_gpu_h200.yaml"


@pytest.fixture
def make(tmp_path):
    """make(table, rows) draws up a table from collected rows and gives the path without suffix."""
    return drawer(tmp_path)


def test_input_packed_beforehand_has_a_row_of_its_own_and_no_rate(make):
    ours = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU", "pairs": 20_000}
    pinned = measurement(quantity="time_end_to_end_pinned", median_s=0.02, **ours)
    rows = [measurement(quantity="time_end_to_end_packed", input="packed2", median_s=0.01, **ours), pinned]
    out = make("thesis_tab1", rows)
    found = {r["row"]: r for r in cells(out, scope="cigar", dataset="uniform_150_e5", source="here", status="ok")}
    fast, packed = found["wavebench, fast design (GPU)"], found[thesis_tab1.PACKED_LABEL]
    assert (fast["time_measured_s"], packed["time_measured_s"]) == ("0.02", "0.01")
    assert fast["gcups_end_to_end"] and not packed["gcups_end_to_end"] and "another quantity" in packed["row"]
    tidy = [r for r in read_csv(f"{out}.tidy.csv") if r["quantity"] == "time_end_to_end_packed" and r["value"]]
    assert [(r["tool"], r["variant"], r["input"], r["value"]) for r in tidy] == [
        ("wavebench-edit", "fast", "packed2", "0.01")
    ]  # fmt: skip
    lane = {"name": "tiny", "pairs": {}}
    filled = table_build.build(thesis_tab1.make_layout(TAB1, "", []), rows[:1], {}, TAB1, lane)
    assert not any(standing.end_to_end or standing.kernel for standing in peaks.standings(filled))


def kernel_race(seconds, table="thesis_tab1", **changes):
    """Collected rows of our fast design, its kernels at work for so many seconds on 22.5e9 cells."""
    tool = "wavebench-edit" if table == "thesis_tab1" else "wavebench-affine"
    ours = {"experiment": table, "tool": tool, "variant": "fast", "gpu": "Some GPU", "cells": 22.5e9} | changes
    times = {"time_end_to_end_pinned": 0.1, "time_end_to_end_pageable": 0.2, "time_kernel": seconds}
    bounds = {"ci_low_s": seconds / 2, "ci_high_s": seconds * 2}
    return [measurement(quantity=name, median_s=value, **bounds, **ours) for name, value in times.items()]


@pytest.mark.parametrize("table", ["thesis_tab1", "thesis_tab8"])
@pytest.mark.parametrize(("seconds", "told"), [(0.01, "2.25 TCUPS"), (0.05, "450 GCUPS")])
def test_the_rate_of_the_kernels_alone_stands_below_a_gpus_time(make, table, seconds, told):
    out = make(table, kernel_race(seconds, table))
    text, page = (Path(f"{out}.{kind}").read_text() for kind in ("md", "html"))
    assert text.count(f" · kernels {told} · pageable ") == 1 and text.count("· kernels ") == 1
    assert f"<small>kernels {told}</small>" in page.replace("\N{NO-BREAK SPACE}", " ")
    (row,) = [r for r in cells(out, scope="cigar", dataset="uniform_150_e5", source="here") if r["gcups_kernel"]]
    assert float(row["gcups_kernel"]) == pytest.approx(22.5 / seconds)
    assert float(row["gcups_end_to_end"]) == pytest.approx(225)
    (rate,) = [r for r in read_csv(f"{out}.tidy.csv") if r["quantity"] == "gcups_kernel"]
    assert [float(rate[key]) for key in ("value", "ci_low", "ci_high")] == pytest.approx(
        [22.5 / seconds, 22.5 / seconds / 2, 22.5 / seconds * 2]
    )


@pytest.mark.parametrize("doubt", [{"rescued": 1}, {"coverage": 0.995}, {"recall_native": 0.9}])
def test_kernels_that_did_not_do_all_pairs_right_have_no_rate(make, doubt):
    assert "· kernels " not in Path(f"{make('thesis_tab1', kernel_race(0.01, **doubt))}.md").read_text()


def test_an_external_row_is_scaled_dated_and_no_race(make):
    out = make("thesis_tab1", [], peers=[PEER])
    rows = cells(out, source="external")
    assert {(r["block"], r["tool"], r["status"]) for r in rows} == {("Full alignment, GPU", "ewfa-gpu", "ok")}
    (short,) = [r for r in rows if r["dataset"] == "uniform_150_e5"]
    (long,) = [r for r in rows if r["dataset"] == "uniform_1000_e10"]
    assert (short["time_s"], short["note"]) == ("0.129", "")
    assert (long["time_measured_s"], long["time_s"]) == ("0.192", "0.96")
    assert (long["pairs_measured"], long["note"]) == ("2000000", "2M pairs, scaled to 10M")
    text = Path(f"{out}.md").read_text()
    assert "| external, not raced here: NVIDIA H200, driver 580.159, day not recorded | GPU | 0.127 s |" in text
    assert "(CUDA C++, commit 8b7817c)" in text and "No ratio is taken with it." in text
    tidy = {r["dataset"]: r for r in read_csv(f"{out}.tidy.csv") if r["source"] == "external"}
    assert (tidy["uniform_1000_e10"]["value"], tidy["uniform_1000_e10"]["pairs"]) == ("0.192", "2000000")
    assert not cells(make("thesis_tab8", [], peers=[PEER]), source="external")


def test_external_rows_of_gap_affine_programs_tell_what_was_extrapolated(make):
    peers = sorted((ROOT / "config/peers").glob("*.yaml"))
    out = make("thesis_tab8", [], peers=peers)
    rows = cells(out, source="external")
    assert {r["tool"] for r in rows} == {"gasal2", "adept", "cudaaligner", "wfa-gpu"}
    by_cell = {(r["tool"], r["scope"], r["dataset"]): r for r in rows}
    slow = by_cell["wfa-gpu", "cigar", "uniform_10000_e10"]
    assert (slow["time_s"], slow["note"]) == ("19.56", "19K pairs, scaled to 100K")
    assert (slow["pairs_measured"], float(slow["time_measured_s"])) == ("19000", pytest.approx(19.56 * 0.19))
    assert by_cell["wfa-gpu", "score", "uniform_1000_e5"]["note"] == "1M pairs, scaled to 10M"
    assert by_cell["adept", "cigar", "uniform_150_e2"]["status"].endswith("was not measured on this data set")
    assert by_cell["gasal2", "cigar", "uniform_150_e5"]["status"] == (
        "not measured: GASAL2 (scores only), the original program was not measured on this data set; "
        "1M pairs of uniform_300_e5 took it 219 ms"
    )
    text = Path(f"{out}.md").read_text()
    assert "| 5.38 s · 67K of 100K pairs | 19.56 s · 19K of 100K pairs |" in text
    assert "| 1.917 s | 6.83 s · 58K of 100K pairs |" in text  # all 100K were measured
    notes = [line for line in text.splitlines() if line.startswith("- External, not raced")]
    assert len(notes) == 5 and not any("eWFA-GPU" in note for note in notes)  # of its rows alone
    (elsewhere,) = [note for note in notes if "of which the table has no column" in note]
    assert "GASAL2" in elsewhere and "1M pairs of uniform_300_e5 took it 219 ms" in elsewhere
    assert not cells(make("thesis_tab9", [], peers=peers), source="external")


def test_an_external_figure_of_another_metric_is_not_shown(make, tmp_path):
    peer = yaml.safe_load((ROOT / "config/peers/adept_h200.yaml").read_text())
    for metric, shown in (("affine", True), ("edit", False)):
        (tmp_path / "peer.yaml").write_text(yaml.safe_dump(peer | {"metric": metric}))
        assert bool(cells(make("thesis_tab8", [], peers=[tmp_path / "peer.yaml"]), source="external")) == shown


def test_a_program_with_external_figures_that_no_race_has_has_no_line_of_a_host(make):
    out = make("thesis_tab1", [measurement(gpu="Some GPU")], peers=[PEER])
    theirs = [cell for cell in cells(out, scope="cigar") if cell["row"].startswith("eWFA-GPU")]
    assert {cell["source"] for cell in theirs} == {"paper", "external"}


def test_an_external_figure_that_was_not_taken_says_so(make, tmp_path):
    peer = yaml.safe_load(PEER.read_text())
    del peer["times"]["uniform_300_e5"]
    (tmp_path / "peer.yaml").write_text(yaml.safe_dump(peer | {"date": "2026-01-02"}))
    out = make("thesis_tab1", [], peers=[tmp_path / "peer.yaml"])
    (cell,) = cells(out, source="external", dataset="uniform_300_e5")
    assert cell["status"].startswith("not measured: ") and "2026-01-02" in cell["host"]
    (tmp_path / "peer.yaml").write_text(yaml.safe_dump(peer | {"scope": "cigars"}))
    with pytest.raises(ValueError, match=r"peer.yaml: key 'scope' must be score or cigar"):
        table_peers.read([tmp_path / "peer.yaml"])


def test_the_floor_is_the_letters_over_the_bandwidth_of_the_host_card(make, tmp_path):
    shared = {"host": "h200", "source": "recorded", "gpu": "Some GPU"}
    old = measurement(**shared | {"host": "older"})
    ours = measurement(tool="wavebench-edit", variant="fast", quantity="time_end_to_end_pinned", pairs=20_000,
                       median_s=0.0003, **shared)  # fmt: skip
    card = {"host_card": {"gpus": [{"name": "Some GPU"}], "pcie_gb_s": {"h2d_pinned": 50.0}}}
    samples.write(tmp_path / "r.parquet", race_rows("uniform_150_e5", {("edlib", "", 1): 1.0}, host="h200"), card)
    out = make("thesis_tab1", [ours, old], races=[tmp_path / "r.parquet"])
    floor = {(r["host"], r["dataset"]): r for r in cells(out, tool="floor", scope="cigar")}
    assert float(floor["h200", "uniform_150_e5"]["time_s"]) == pytest.approx(2 * 150 * 10**7 / 50e9)
    assert float(floor["h200", "uniform_1000_e5"]["time_s"]) == pytest.approx(0.4)
    assert floor["older", "uniform_150_e5"]["status"].startswith("not known: the host's races are older than")
    assert floor["this host", "uniform_150_e5"]["status"].startswith("no GPU")
    text = Path(f"{out}.md").read_text()
    assert "0.150 s ±" in text and "2.50 × floor" in text and "(50 GB/s on h200)" in text
    tidy = [r for r in read_csv(f"{out}.tidy.csv") if r["quantity"] == "time_floor" and r["status"] == "ok"]
    assert len(tidy) == 18 and all(r["value"] for r in tidy)
    assert "× floor" not in Path(f"{make('thesis_tab1', [ours])}.md").read_text()


@pytest.mark.parametrize(("bytes_in", "bytes_out", "told"), [
    (3_000_000, 1_000_000, "1.67 × own floor"),  # 60 us in at 50 GB/s
    (1_000_000, 2_000_000, "1.25 × own floor"),  # 80 us out at 25 GB/s
    (5_500_000, 2_000_000, "0.909 × own floor"),  # 110 us in at 50 GB/s
    (None, 2_000_000, ""),
    (None, None, ""),
])  # fmt: skip
def test_packed_input_stands_beside_its_own_bytes_on_the_wire(make, tmp_path, bytes_in, bytes_out, told):
    """100 us of 20K pairs: the way that takes longer counts, of the measured pairs."""
    ours = measurement(tool="wavebench-edit", variant="fast", quantity="time_end_to_end_packed", input="packed2",
                       median_s=1e-4, pairs=20_000, gpu="Some GPU", host="h200", source="recorded",
                       bytes_in=bytes_in, bytes_out=bytes_out)  # fmt: skip
    card = {"host_card": {"gpus": [{"name": "Some GPU"}], "pcie_gb_s": {"h2d_pinned": 50.0, "d2h_pinned": 25.0}}}
    samples.write(tmp_path / "r.parquet", race_rows("uniform_150_e5", {("edlib", "", 1): 1.0}, host="h200"), card)
    text = Path(f"{make('thesis_tab1', [ours], races=[tmp_path / 'r.parquet'])}.md").read_text()
    tidy = {r["quantity"]: r["value"] for r in read_csv(tmp_path / "out/thesis_tab1.tidy.csv") if r["unit"] == "bytes"}
    assert [tidy.get(name) for name in ("bytes_in", "bytes_out")] == [n and str(n) for n in (bytes_in, bytes_out)]
    (row,) = [line for line in text.splitlines() if thesis_tab1.PACKED_LABEL in line and "| 0.0500 s ±" in line]
    assert row.count("floor") == bool(told) and told in row
    assert ("- Own floor: " in text) == ("(25 GB/s on h200)" in text) == bool(told)
    assert ("Less than 1 of it: the wire was faster" in text) == told.startswith("0.")
    without = Path(f"{make('thesis_tab1', [ours])}.md").read_text()
    assert "× own floor" not in without and "- Own floor: " not in without


def test_without_the_bandwidth_out_packed_input_has_no_ratio():
    sent = {"bytes_in": 5 * 10**9, "bytes_out": 1}
    assert table_floor.own_seconds(sent, table_floor.Wire(50.0)) is None
    assert table_floor.own_seconds(sent, None) is None
    assert table_floor.own_seconds(sent, table_floor.Wire(50.0, 50.0)) == pytest.approx(0.1)


def test_the_floor_is_by_the_bandwidth_of_the_race_that_is_shown(make, tmp_path):
    ours = {"host": "h200", "source": "recorded", "gpu": "Some GPU", "tool": "wavebench-edit", "variant": "fast",
            "quantity": "time_end_to_end_pinned", "median_s": 0.06, "pairs": 10**7}  # fmt: skip
    races, shown = [], []
    for speed, dataset in ((50.0, "uniform_150_e5"), (60.0, "uniform_150_e10")):
        told = {"host_card": {"gpus": [{"name": "Some GPU"}], "pcie_gb_s": {"h2d_pinned": speed}}}
        run = {"dataset": dataset, "host": "h200", "race_id": dataset, "time_utc": f"2026-01-01T{speed}"}
        races.append(tmp_path / f"{dataset}.parquet")
        samples.write(races[-1], race_rows(seconds={("edlib", "", 1): 1.0}, **run), told)
        shown.append(measurement(**ours | run))
    out = make("thesis_tab1", shown, races=races)
    floor = {r["dataset"]: float(r["time_s"]) for r in cells(out, tool="floor", scope="cigar", host="h200")}
    assert floor["uniform_150_e5"] == pytest.approx(0.06) and floor["uniform_150_e10"] == pytest.approx(0.05)
    assert floor["uniform_150_e2"] == pytest.approx(0.05), "not raced: by the newest card"
    text = Path(f"{out}.md").read_text()
    assert "1.00 × floor" in text and "1.20 × floor" in text and "(50 to 60 GB/s on h200)" in text


def test_a_race_that_was_run_again_has_its_own_floor(make, tmp_path):
    """It keeps its race_id: here on a slower wire than when it was recorded."""
    races, shown = [], []
    for speed, source in ((60.0, "recorded"), (30.0, "here")):
        run = {"dataset": "uniform_150_e5", "host": "h200", "time_utc": f"2026-01-01T{speed}"}
        races.append(tmp_path / f"{source}.parquet")
        told = {"host_card": {"gpus": [{"name": "Some GPU"}], "pcie_gb_s": {"h2d_pinned": speed}}}
        samples.write(races[-1], race_rows(seconds={("edlib", "", 1): 1.0}, **run), told)
        ours = {"tool": "wavebench-edit", "variant": "fast", "quantity": "time_end_to_end_pinned", "median_s": 0.1}
        shown.append(measurement(**ours | run, gpu="Some GPU", pairs=10**7, source=source))
    for order in (races, races[::-1]):
        text = Path(f"{make('thesis_tab1', shown, races=order)}.md").read_text()
        assert "2.00 × floor" in text and "1.00 × floor" in text and "(30 to 60 GB/s on h200)" in text


GPU_RUN = {"tool": "wavebench-edit", "variant": "fast", "gpu": "Some GPU", "pairs": 10**7, "verified": 10**7}
FAILED = {"status": "out_of_memory", "reason": "no room for a batch", "median_s": None, "ci_low_s": None,
          "ci_high_s": None, "recall_native": None, "coverage": None, "verified": None, "refused": None}  # fmt: skip


@pytest.mark.parametrize(("pinned", "pageable", "told", "status"), [
    ({}, {}, "0.0500 s ±0 % · pageable 0.0800 s ±0 %", ("ok", "ok")),
    ({}, {"recall_native": 0.5}, "0.0500 s ±0 % · pageable: wrong answers, recall 50 %", ("ok", "ok")),
    ({}, {"exact": False, "recall_native": 0.5, "failing_pairs": '[[3, "score 1, exact 2"]]'},
     "0.0500 s ±0 % · pageable: wrong answers", ("ok", "ok")),
    ({"exact": False, "recall_native": 0.5, "failing_pairs": "[]"}, {},
     "0.0500 s ±0 % · pageable 0.0800 s ±0 % · heuristic, R 50 %", ("ok", "ok")),
    ({}, {"exact": False, "recall_native": 0.5, "failing_pairs": "[]"},
     "0.0500 s ±0 % · pageable 0.0800 s ±0 %", ("ok", "ok")),
    ({}, {"coverage": 0.5}, "0.0500 s ±0 % · pageable: refused 50 %", ("ok", "ok")),
    ({}, {"rescued": 7}, "0.0500 s ±0 % · pageable 0.0800 s ±0 % (7 pairs by the CPU)", ("ok", "ok")),
    ({}, FAILED, "0.0500 s ±0 % · pageable: out of memory", ("ok", "out of memory: no room for a batch")),
    (FAILED, {}, "0.0800 s ±0 % · from ordinary arrays · page-locked: out of memory",
     ("out of memory: no room for a batch", "ok")),
    (FAILED, FAILED, "*out of memory*", ("out of memory: no room for a batch",) * 2),
])  # fmt: skip
def test_each_of_a_gpu_tools_runs_is_judged_by_its_own_answers(make, pinned, pageable, told, status):
    def run(memory, seconds, changes):
        told = {"quantity": f"time_end_to_end_{memory}", "median_s": seconds, "ci_low_s": seconds, "ci_high_s": seconds}
        return measurement(**GPU_RUN | told | changes)

    out = make("thesis_tab1", [run("pinned", 0.05, pinned), run("pageable", 0.08, pageable)])
    text = Path(f"{out}.md").read_text()
    assert f"| {told} |" in text
    assert ("no room for a batch" in text) == (FAILED in (pinned, pageable))
    tidy = [r for r in read_csv(f"{out}.tidy.csv") if (r["dataset"], r["scope"], r["input"], r["source"]) == (
        "uniform_150_e5", "cigar", "ascii", "here") and r["variant"] == "fast"]  # fmt: skip
    found = {r["quantity"]: r for r in tidy}
    for memory, changes, its_status in zip(("pinned", "pageable"), (pinned, pageable), status, strict=True):
        row = found[f"time_end_to_end_{memory}"]
        assert row["status"] == its_status and bool(row["value"]) == (changes is not FAILED)
        assert row["recall_native"] == ("" if changes is FAILED else f"{changes.get('recall_native', 1):g}")


def test_a_time_of_kernels_alone_is_no_time_from_end_to_end(make):
    out = make("thesis_tab1", [measurement(**GPU_RUN | {"quantity": "time_kernel", "median_s": 0.01})])
    (cell,) = [cell for cell in cells(out, variant="fast", scope="cigar", dataset="uniform_150_e5") if cell["lane"]]
    assert not cell["time_s"] and cell["status"] == "not end to end: its time kernel alone is known, 0.0100 s"
    tidy = [row for row in read_csv(f"{out}.tidy.csv") if row["variant"] == "fast" and row["value"]]
    assert {row["quantity"] for row in tidy if row["unit"] in ("s", "GCUPS")} == {"time_kernel", "time_first_call"}
    wrong = measurement(**GPU_RUN | {"quantity": "time_kernel", "median_s": 0.01, "recall_native": 0.9})
    (cell,) = [cell for cell in cells(make("thesis_tab1", [wrong]), variant="fast", scope="cigar") if cell["lane"]]
    assert cell["status"].startswith("wrong answers: ")
