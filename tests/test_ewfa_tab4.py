"""ewfa Tab 4: threads per block, scaled, the least time of each column marked, and why a host has none."""

from pathlib import Path

import pytest

from tests.synthetic import measurement
from tests.tables import ROOT, draw_up, markdown_rows, read_csv, refuse_absent_files
from workflow.scripts import table_build
from workflow.scripts.table import Cell, Column
from workflow.scripts.table_output import TIDY_COLUMNS

H200 = {"tool": "wavebench-edit", "experiment": "ewfa_tab4", "host": "h200-16c", "source": "recorded", "lane": "lite",
        "gpu": "NVIDIA H200", "pairs": 10**6, "pairs_total": 10**6, "verified": 10**6}  # fmt: skip


@pytest.fixture
def make(tmp_path):
    """make(row, ...) draws up the table from collected rows and gives the path without suffix."""

    def make(*rows):
        options = {
            "config": ROOT / "config/experiments/ewfa_tab4.yaml",
            "lane": ROOT / "config/lanes/kick.yaml",
        }
        return draw_up("ewfa_tab4", tmp_path, list(rows), options)

    return make


def timed(threads, kernel, whole, length=150, **changes):
    """The two collected rows of one cell of 1M pairs."""
    shared = H200 | {"variant": f"paper-t{threads}", "dataset": f"uniform_{length}_e10", "race_id": f"r{length}"}
    for quantity, seconds in (("time_end_to_end_pinned", whole), ("time_kernel", kernel)):
        interval = {"median_s": seconds, "ci_low_s": seconds * 0.9, "ci_high_s": seconds * 1.1}
        yield measurement(**{**shared, **interval, "quantity": quantity, **changes})


def test_times_are_scaled_and_the_least_of_each_column_is_bold(make):
    out = make(*timed(32, 0.010, 0.050), *timed(64, 0.008, 0.060))
    (first,), (second,) = ([line for line in markdown_rows(out) if line[1] == threads] for threads in ("32", "64"))
    assert first[0] == "recorded: h200-16c · lite"
    assert first[2:4] == ["0.100 s ±10 % · 1M of 10M pairs", "**0.500 s ±10 %** · 1M of 10M pairs"]
    assert second[2:4] == ["**0.0800 s ±10 %** · 1M of 10M pairs", "0.600 s ±10 % · 1M of 10M pairs"]
    page = Path(f"{out}.html").read_text()
    assert "<b>0.500 s ±10 %</b>" in page and '<table class="ranked">' in page
    assert ".wb table.ranked tr.ours td.v { font-weight: 400; }" in page
    row = next(r for r in read_csv(f"{out}.csv") if r["threads_per_block"] == "64" and r["status"] == "ok")
    assert (row["kernel_s"], row["time_s"], row["least_kernel"], row["least_time"]) == ("0.08", "0.6", "true", "false")


def test_wrong_answers_and_uneven_races_are_never_the_least(make):
    out = make(*timed(32, 0.001, 0.002, recall_native=0.9), *timed(64, 0.008, 0.060))
    assert [line[3] for line in markdown_rows(out) if line[1] in ("32", "64") and "h200" in line[0]] == [
        "~~0.0200 s ±10 %~~ · 1M of 10M pairs · **recall 90 %, short call**", "**0.600 s ±10 %** · 1M of 10M pairs"
    ]  # fmt: skip
    page = Path(f"{out}.html").read_text()
    assert '<s>0.0200 s ±10 %</s><small>1M of 10M pairs</small><small class="mark">recall 90 %, short call<' in page
    out = make(*timed(32, 0.001, 0.002, race_valid=False))
    assert not [row for row in read_csv(f"{out}.csv") if row["least_time"] == "true"]


def test_what_is_missing_says_why(make):
    out = make()
    _, paper, here = markdown_rows(out)
    assert paper[:3] == ["ewfa", "32, 64, 128", "*lost in the source's text*"]
    assert here[:2] == ["this host", "32 to 1024"] and set(here[2:]) == {"*no GPU: not measured on a host without one*"}
    out = make(*(row for row in timed(32, 0.01, 0.05) if row["quantity"] != "time_kernel"))
    (line,) = [line for line in markdown_rows(out) if line[1] == "32" and "h200" in line[0]]
    assert line[2] == "*not timed*" and line[3].startswith("**0.500 s")
    assert line[4:] == ["*not recorded*"] * 4
    assert all(cell for line in markdown_rows(out) for cell in line)


def test_another_time_of_a_run_is_of_the_quantity_asked_and_beside_no_floor():
    copies, kernel = (
        measurement(quantity=name, median_s=seconds) for name, seconds in (("time_copies", 9.0), ("time_kernel", 0.25))
    )
    column = Column("", "", "", "uniform_150_e5", 40_000)
    whole = Cell(column, 20_000, time_s=1.0, floor_s=0.5, record=measurement(), others=[copies, kernel])
    found = table_build.other_time(whole, "time_kernel", "")
    assert (found.time_s, found.record["quantity"], found.floor_s) == (0.5, "time_kernel", None)
    assert table_build.other_time(whole, "time_h2d", "why").short == "not timed"


def test_the_tidy_file_has_every_quantity_of_the_pairs_that_ran(make):
    rows = read_csv(f"{make(*timed(128, 0.01, 0.05, length=1000))}.tidy.csv")
    assert list(rows[0]) == TIDY_COLUMNS
    told = {r["quantity"]: r for r in rows if r["variant"] == "paper-t128" and r["status"] == "ok"}
    assert (told["time_kernel"]["value"], told["time_kernel"]["pairs"]) == ("0.01", "1000000")
    assert told["time_end_to_end_pinned"]["value"] == "0.05" and told["time_kernel"]["dataset"] == "uniform_1000_e10"


def test_bad_input_is_one_message_and_exit_code_2():
    refuse_absent_files("ewfa_tab4", "config", "lane")
