"""The papers' values: all of them are there, unchanged, and read as what they mean."""

import csv
from pathlib import Path

import pytest
import yaml

from workflow.scripts import papers

FOLDER = Path(__file__).resolve().parents[1] / "config" / "papers"
#: Values per table of the checked transcriptions (1111 of tables, 68 of indexes and prose).
VALUES = {
    "anyseq_tab1": 140, "anyseq_tab2": 24, "ewfa_prose_values": 16, "ewfa_tab_index": 7, "figures_prose_values": 45,
    "longed_tab1": 8, "longed_tab2": 36, "longed_tab3": 144, "longed_tab4": 27, "saloba_tab1": 12, "saloba_tab2": 18,
    "thesis_tab1": 90, "thesis_tab2": 33, "thesis_tab3": 27, "thesis_tab4": 33, "thesis_tab5": 27, "thesis_tab6": 72,
    "thesis_tab7": 30, "thesis_tab8": 234, "thesis_tab9": 156,
}  # fmt: skip


def test_no_value_is_dropped():
    found = {}
    for path in FOLDER.glob("*.csv"):
        with open(path, newline="", encoding="utf-8") as lines:
            found[path.stem] = len(list(csv.DictReader(lines)))
    assert found == VALUES
    assert sum(VALUES.values()) == 1111 + 68


@pytest.mark.parametrize("table", sorted(VALUES))
def test_every_value_says_where_it_stands(table):
    for value in papers.read(FOLDER / f"{table}.csv").values():
        assert all(one.value for one in value.values())
    with open(FOLDER / f"{table}.csv", newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            assert row["table"] and row["row"] and row["column"] and row["quantity"]


def test_times_are_converted_to_seconds():
    tab1, tab9 = papers.read(FOLDER / "thesis_tab1.csv"), papers.read(FOLDER / "thesis_tab9.csv")
    assert tab1[("Edlib (full alignment, CPU)", "1000 nt e=2%")]["time"].seconds == pytest.approx(120.248)
    assert tab1[("eWFA-GPU (distance only, GPU)", "150 nt e=2%")]["time"].seconds == pytest.approx(0.089)
    assert tab9[("WFA (CPU)", "Nanopore")]["time"].seconds == 17350


def test_words_are_no_numbers():
    tab8, tab9 = papers.read(FOLDER / "thesis_tab8.csv"), papers.read(FOLDER / "thesis_tab9.csv")
    timeout = tab9[("Seqan (CPU)", "Moleculo")]
    assert timeout["time"].seconds is None and timeout["time"].value == "timeout"
    assert "48 h" in timeout["time"].note
    assert tab8[("ADEPT (GPU)", "100M x 150bp e=2%")]["recall"].number is None
    lost = tab9[("WFA (CPU)", "Nanopore")]["recall"]
    assert lost.value == "missing" and lost.value in papers.WORDS


def test_every_word_in_the_place_of_a_time_is_known():
    for table in ("thesis_tab1", "thesis_tab8", "thesis_tab9"):
        for values in papers.read(FOLDER / f"{table}.csv").values():
            assert values["time"].seconds is not None or values["time"].value in papers.WORDS


def test_a_value_that_is_no_time_is_not_converted():
    values = papers.read(FOLDER / "thesis_tab7.csv")
    with pytest.raises(papers.PapersError, match="bp"):
        _ = values[("Nanopore", "min")]["sequence length"].seconds


def test_wrong_files_are_named(tmp_path):
    with pytest.raises(papers.PapersError, match="absent.csv"):
        papers.read(tmp_path / "absent.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(papers.PapersError, match="other.csv.*columns"):
        papers.read(tmp_path / "other.csv")


def test_aliases_agree_with_the_journals_index():
    aliases = yaml.safe_load((FOLDER.parent / "aliases.yaml").read_text())
    with open(FOLDER / "ewfa_tab_index.csv", newline="", encoding="utf-8") as lines:
        printed = {row["table"]: row["row"] for row in csv.DictReader(lines)}
    expected = {
        table.replace(" Tab ", "_tab"): thesis.replace(" Tab ", "_tab")
        for table, thesis in printed.items()
        if thesis != "none"
    }
    assert len(expected) == 6
    assert {alias: of for alias, of in aliases.items() if "_tab" in alias} == expected
