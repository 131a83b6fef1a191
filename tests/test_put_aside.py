"""Samples of reads that are no longer named go out of the tables' sight, and nothing else does."""

import pytest

from workflow.race import host
from workflow.scripts import put_aside, settings
from workflow.scripts.config_files import SettingsError

FILES = (
    "kick/own/thesis_tab9/real_a",
    "lite/own/thesis_tab9/real_b",
    "lite/own/thesis_tab9/real_a",
    "kick/own/thesis_tab9/nanopore",
    "kick/another/thesis_tab9/real_b",
    "kick/own/thesis_tab8/uniform_150_e5",
)


@pytest.fixture
def results(tmp_path):
    for name in FILES:
        path = tmp_path / f"results/samples/{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "results"


def held(folder):
    return {str(path.relative_to(folder)).removesuffix(".parquet") for path in folder.rglob("*.parquet")}


@pytest.mark.parametrize(
    ("named", "aside"),
    [
        ({"real_a", "real_b"}, set()),
        ({"real_a", "real_c"}, {FILES[1]}),
        (set(), {FILES[0], FILES[1], FILES[2]}),
    ],
)
def test_this_hosts_samples_of_reads_with_other_names_are_moved(results, named, aside):
    moved = put_aside.put_aside(results, "own", named)
    assert held(results / "samples") == set(FILES) - aside and held(results / "put_aside") == aside
    assert {path.read_text() for path in moved} == aside


def test_it_says_what_is_moved_and_where_to(results, monkeypatch, capsys):
    monkeypatch.setattr(put_aside, "ROOT", results.parent)
    monkeypatch.setattr(host, "host_id", lambda: "own")
    assert put_aside.main() == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3 and all("config/real_data.tsv no longer names it" in line for line in said)
    assert put_aside.main() == 0 and capsys.readouterr().out == ""


def test_a_wrong_configuration_is_one_message(monkeypatch, capsys):
    def fail():
        raise SettingsError("config/real_data.tsv: line 2: wrong")

    monkeypatch.setattr(settings, "load", fail)
    assert put_aside.main() == 2
    assert capsys.readouterr().err == "error: config/real_data.tsv: line 2: wrong\n"
