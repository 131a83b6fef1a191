"""Samples of reads that are no longer named so go out of the tables' sight, and nothing else does."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.synthetic import race_rows
from workflow.race import host, samples
from workflow.scripts import put_aside, settings
from workflow.scripts.config_files import SettingsError
from workflow.scripts.fetch import cached_name
from workflow.scripts.real_data import RealData, mapped_text

URL = "https://some.host/b.fa.gz"
A = RealData("a", "nanopore", "map-ont", "some/a.fq", "", "file:///genomes/a%20b.fa", "")
B = RealData("b", "nanopore", "map-ont", "b.fq", "", URL, "")
SOURCES = {
    "real_a": mapped_text("nanopore", "a.fq", "a b.fa", "map-ont") + " 3 pairs of 4 reads, 1 unmapped",
    "real_b": mapped_text("nanopore", "b.fq", cached_name(URL), "map-ont") + " 5 pairs of 5 reads, 0 unmapped",
}
FILES = (
    "kick/own/thesis_tab9/real_a",
    "lite/own/thesis_tab9/real_b",
    "lite/own/thesis_tab9/real_a",
    "kick/own/thesis_tab9/nanopore",
    "kick/another/thesis_tab9/real_b",
    "kick/own/thesis_tab8/uniform_150_e5",
)
ALL_A = {FILES[0], FILES[2]}


@pytest.fixture
def results(tmp_path):
    for name in FILES:
        path = tmp_path / f"results/samples/{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = {"source": SOURCES.get(path.stem, "simulated")}
        samples.write(path, race_rows(path.stem, {("edlib", "", 1): 1.0}, rounds=1), {"data": data})
    return tmp_path / "results"


def held(folder):
    return {str(path.relative_to(folder)).removesuffix(".parquet") for path in folder.rglob("*.parquet")}


@pytest.mark.parametrize(
    ("rows", "aside"),
    [
        ([A, B], set()),
        ([A, replace(B, name="c")], {FILES[1]}),
        ([replace(A, name="aa"), B], ALL_A),
        ([replace(A, preset="lr:hq"), B], ALL_A),
        ([replace(A, technology="pacbio_clr"), B], ALL_A),
        ([replace(A, reads="some/a.fq.gz"), B], ALL_A),
        ([A, replace(B, reference=URL.replace("host", "other"))], {FILES[1]}),
        ([], {*ALL_A, FILES[1]}),
    ],
)
def test_this_hosts_samples_of_other_reads_are_moved(results, rows, aside):
    before = {name: (results / f"samples/{name}.parquet").read_bytes() for name in FILES}
    moved = put_aside.put_aside(results, "own", rows)
    assert held(results / "samples") == set(FILES) - aside and held(results / "put_aside") == aside
    assert sorted(path.read_bytes() for path in moved) == sorted(before[name] for name in aside)


@pytest.mark.parametrize("card", [{}, {"data": None}])
def test_samples_that_do_not_tell_of_what_reads_they_are_stay(results, card):
    path = results / f"samples/{FILES[0]}.parquet"
    samples.write(path, race_rows("real_a", {("edlib", "", 1): 1.0}, rounds=1), card)
    put_aside.put_aside(results, "own", [replace(A, preset="lr:hq"), B])
    assert held(results / "put_aside") == {FILES[2]}


def test_it_says_what_is_moved_and_where_to(results, monkeypatch, capsys):
    monkeypatch.setattr(put_aside, "ROOT", results.parent)
    monkeypatch.setattr(host, "host_id", lambda: "own")
    assert put_aside.main() == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3 and all("config/real_data.tsv no longer names these reads" in line for line in said)
    assert put_aside.main() == 0 and capsys.readouterr().out == ""


def test_samples_of_reads_that_cannot_be_mapped_here_now_stay(results, monkeypatch, capsys):
    chosen = SimpleNamespace(real_rows=(), left_rows=(A, B), config={"real_data": "config/real_data.tsv"})
    monkeypatch.setattr(put_aside, "ROOT", results.parent)
    monkeypatch.setattr(host, "host_id", lambda: "own")
    monkeypatch.setattr(settings, "load", lambda: chosen)
    assert put_aside.main() == 0 and capsys.readouterr().out == ""
    assert held(results / "samples") == set(FILES)


def test_a_file_that_holds_no_samples_is_one_message(results, monkeypatch, capsys):
    monkeypatch.setattr(put_aside, "ROOT", results.parent)
    monkeypatch.setattr(host, "host_id", lambda: "own")
    (results / f"samples/{FILES[0]}.parquet").write_text("none")
    assert put_aside.main() == 2 and f"{FILES[0]}.parquet" in capsys.readouterr().err


def test_a_wrong_configuration_is_one_message(monkeypatch, capsys):
    def fail():
        raise SettingsError("config/real_data.tsv: line 2: wrong")

    monkeypatch.setattr(settings, "load", fail)
    assert put_aside.main() == 2
    assert capsys.readouterr().err == "error: config/real_data.tsv: line 2: wrong\n"
