"""thesis Tab 7: the data sets in use, beside the thesis' and those that recorded hosts raced."""

import json

from click.testing import CliRunner

from tests.tables import ROOT, lambda_reads, read_csv
from wfa_kernels import PairBatch
from workflow.race import samples
from workflow.race.data_card import data_card
from workflow.scripts.tables.thesis_tab7 import main


def draw_tab7(tmp_path, dataset, *further):
    """Draw thesis Tab 7 as tmp_path/tab7, with a pair file of two pairs of one data set."""
    data = tmp_path / "data"
    data.mkdir()
    batch = PairBatch.from_strings(["ACGT" * 3, "A" * 20], ["ACG", "T" * 31], {"source": "made up", "realised": "{}"})
    batch.to_arrow(data / f"{dataset}.arrow")
    run = CliRunner().invoke(main, [
        f"--paper={ROOT / 'config/papers/thesis_tab7.csv'}", f"--data={data}",
        f"--lane={ROOT / 'config/lanes/kick.yaml'}", f"--out={tmp_path / 'tab7'}", *further,
    ])  # fmt: skip
    assert run.exit_code == 0, run.output


def test_tab7_says_why_reads_are_not_mapped_and_shows_their_stand_in(tmp_path):
    draw_tab7(tmp_path, "nanopore", f"--real-data={lambda_reads(tmp_path)}", "--unmapped=no mappy")
    ours = {row["dataset"]: row for row in read_csv(tmp_path / "tab7.csv") if row["from"] == "here"}
    assert ours["real_lambda"]["status"] == "not mapped: no mappy"
    assert (ours["nanopore"]["status"], ours["nanopore"]["pairs"]) == ("ok", "2")
    text = (tmp_path / "tab7.md").read_text()
    assert "Simulated, in the place of real reads that are not mapped here: Nanopore." in text
    assert "real reads in config/real_data.tsv: Illumina 150, Illumina 250, Moleculo, PacBio CCS, PacBio HiFi." in text


def test_tab7_is_computed_from_the_pair_files(tmp_path):
    draw_tab7(tmp_path, "illumina_150")
    paper, ours, *_ = read_csv(tmp_path / "tab7.csv")
    assert (paper["pairs"], paper["text_min_bp"], paper["text_mean_bp"]) == ("100000000", "134", "148")
    lengths = [ours[f"{side}_{which}_bp"] for side in ("text", "pattern") for which in ("min", "mean", "max")]
    assert lengths == ["3", "17", "31", "12", "16", "20"] and ours["data"] == "simulated"
    text = (tmp_path / "tab7.md").read_text()
    assert "no pair file of lane kick yet" in text and "Simulated, for want of real reads" in text
    tidy = [r for r in read_csv(tmp_path / "tab7.tidy.csv") if r["dataset"] == "illumina_150" and r["source"] == "here"]
    assert {r["quantity"]: r["value"] for r in tidy}["pattern_length_max"] == "20"


def recorded_race(path, host, lane, batch, **card):
    """Write a race file of thesis Tab 9 that ran on these pairs."""
    row = {"experiment": "thesis_tab9", "dataset": "real_lambda", "host": host, "lane": lane, "tool": "edlib"}
    samples.write(path, [row], {"data": data_card(batch), **card})
    return str(path)


def test_tab7_shows_what_recorded_hosts_raced(tmp_path):
    realised = {"pairs": 2, "reads": 3, "unmapped": 1, "error_rate": 0.125, "mismatches": 4}
    note = {"model": "nanopore", "source": "real nanopore reads", "realised": json.dumps(realised)}
    two = PairBatch.from_strings(["ACGT" * 3, "A" * 20], ["ACG", "T" * 31], note)
    files = [recorded_race(tmp_path / "full.parquet", "h200", "full", two)]
    files += [recorded_race(tmp_path / "lite.parquet", "h200", "lite", two[:1])]
    files += [recorded_race(tmp_path / "other.parquet", "xeon", "lite", two[:1])]
    files += [recorded_race(tmp_path / "old.parquet", "xeon", "cpu", two, data={})]
    draw_tab7(tmp_path, "nanopore", *files)
    rows = [row for row in read_csv(tmp_path / "tab7.csv") if row["technology"] == "Nanopore"]
    origins = ["thesis", "here", "recorded: h200 · full", "recorded: xeon · lite"]
    assert [(row["from"], row["pairs"]) for row in rows] == list(zip(origins, ("10000000", "2", "2", "1"), strict=True))
    whole = rows[2]
    lengths = [whole[f"{side}_{which}_bp"] for side in ("text", "pattern") for which in ("min", "mean", "max")]
    assert lengths == ["3", "17", "31", "12", "16", "20"] and whole["error_rate"] == "0.125"
    assert (whole["data"], whole["mapping"]) == ("real: lambda", "reads 3, unmapped 1")
    text = (tmp_path / "tab7.md").read_text()
    assert text.count("real_lambda: real nanopore reads. Mapping: reads 3, unmapped 1.") == 1
    assert "Recorded before" not in text, "another race of these reads says what it ran on"
    tidy = [r for r in read_csv(tmp_path / "tab7.tidy.csv") if r["source"] == "recorded"]
    assert {r["lane"] for r in tidy} == {"full", "lite"} and {r["dataset"] for r in tidy} == {"real_lambda"}


def test_tab7_names_recorded_data_sets_of_which_nothing_is_known(tmp_path):
    batch = PairBatch.from_strings(["ACGT"], ["ACG"])
    draw_tab7(tmp_path, "nanopore", recorded_race(tmp_path / "old.parquet", "xeon", "cpu", batch, data={}))
    assert "Recorded before races kept what they ran on: real_lambda." in (tmp_path / "tab7.md").read_text()
