"""thesis Tab 3: the thesis' devices, the original on a later one, and our designs on every GPU that has raced."""

from pathlib import Path

import pytest

from tests.synthetic import measurement, race_rows
from tests.tables import ROOT, draw_up, markdown_rows, read_csv, refuse_absent_files
from workflow.race import samples
from workflow.scripts.table_output import TIDY_COLUMNS

H200 = {"tool": "wavebench-edit", "host": "h200-16c", "source": "recorded", "lane": "lite", "gpu": "NVIDIA H200",
        "pairs": 10**6, "pairs_total": 10**6, "verified": 10**6, "quantity": "time_end_to_end_pinned"}  # fmt: skip


@pytest.fixture
def make(tmp_path):
    """make(row, ...) draws up the table from collected rows and gives the path without suffix."""

    def make(*rows, races=()):
        options = {
            "paper": ROOT / "config/papers/thesis_tab3.csv",
            "config": ROOT / "config/experiments/thesis_tab1.yaml",
            "lane": ROOT / "config/lanes/kick.yaml",
            "peer": ROOT / "config/peers/ewfa_gpu_h200.yaml",
        }
        return draw_up("thesis_tab3", tmp_path, list(rows), options, races)

    return make


def timed(seconds, **changes):
    """One collected row of 1M pairs of 150 letters at 5 %."""
    interval = {"median_s": seconds, "ci_low_s": seconds * 0.9, "ci_high_s": seconds * 1.1}
    return measurement(**{**H200, **interval, **changes})


def grid(out):
    """(head, {data set: cells}) of the Markdown table."""
    head, *body = markdown_rows(out)
    return head, {line[0]: line[1:] for line in body}


def test_the_thesis_and_the_external_columns(make):
    out = make()
    head, body = grid(out)
    assert head[1:4] == ["V100 (thesis)", "RTX 2080 Ti (thesis)", "RTX 3080 (thesis)"] and len(head) == 5
    assert head[4].startswith("eWFA-GPU, the original program (external, not raced here: NVIDIA H200, driver 580.159")
    assert body["1000 nt e = 10 %"] == ["1.928 s", "2.9 s", "2.103 s", "0.96 s · 2M of 10M pairs"]
    assert len(body) == 9
    text = Path(f"{out}.md").read_text()
    assert "n of 10M pairs: fewer were timed, and the time is scaled" in text and "kernels: the rate of" in text
    assert "No GPU has raced thesis Tab 1 yet." in text and "This host has no column: no GPU." in text
    assert text.count("equals the eWFA-GPU full-alignment row of thesis Tab 1") == 1


def test_both_designs_of_every_gpu_have_a_column(make, tmp_path):
    card = {"host_card": {"gpus": [{"name": "NVIDIA H200"}], "pcie_gb_s": {"h2d_pinned": 50.0}}}
    samples.write(tmp_path / "r.parquet", race_rows("uniform_150_e5", {("edlib", "", 1): 1.0}, host="h200-16c"), card)
    out = make(
        timed(0.009, variant="fast"), timed(0.015, variant="paper"), timed(0.001, variant="fast", scope="score"),
        timed(0.02, variant="paper", host="other", gpu="GB"), measurement(), races=[tmp_path / "r.parquet"],
    )  # fmt: skip
    head, body = grid(out)
    assert [name.split(" (recorded: ")[0] for name in head[5:]] == [
        "NVIDIA H200: wavebench, eWFA-GPU's design (GPU)", "NVIDIA H200: wavebench, fast design (GPU)",
        "GB: wavebench, eWFA-GPU's design (GPU)", "GB: wavebench, fast design (GPU)",
    ]  # fmt: skip
    assert body["150 nt e = 5 %"][4:] == [
        "0.150 s ±10 % · 2.50 × floor · 1M of 10M pairs",
        "0.0900 s ±10 % · 1.50 × floor · 1M of 10M pairs · **short call**",
        "0.200 s ±10 % · 1M of 10M pairs", "*not recorded*",
    ]  # fmt: skip
    assert body["300 nt e = 2 %"][4:] == ["*not recorded*"] * 4
    assert "<td></td>" not in Path(f"{out}.html").read_text()


def test_the_files_for_machines(make):
    out = make(timed(0.009, variant="fast"))
    (ours,) = [r for r in read_csv(f"{out}.csv") if r["source"] == "recorded" and r["status"] == "ok"]
    assert (ours["table"], ours["time_measured_s"], ours["time_s"]) == ("thesis_tab3", "0.009", "0.09")
    rows = read_csv(f"{out}.tidy.csv")
    assert list(rows[0]) == TIDY_COLUMNS and all(bool(r["value"]) == (r["status"] == "ok") for r in rows)
    paper = [r for r in rows if r["source"] == "paper"]
    assert len(paper) == 27 and {r["host"] for r in paper} == {"V100", "RTX 2080 Ti", "RTX 3080"}


def test_bad_input_is_one_message_and_exit_code_2():
    refuse_absent_files("thesis_tab3", "paper", "config", "lane")
