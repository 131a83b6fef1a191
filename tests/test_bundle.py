"""Bundles: what one machine exports another imports, samples and profiles, unedited, whole or not at all."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import synthetic_profiles
from tests.synthetic import race_rows
from wfa_kernels import whole_file
from workflow.race import bundle, samples
from workflow.race.__main__ import main

RECORDED = Path(__file__).resolve().parents[1] / "results/recorded"
HOST = "some-cpu-2c"
RACE = f"{HOST}/kick/thesis_tab1/uniform_150_e5.parquet"


@pytest.fixture
def results(tmp_path):
    """A results folder with a race, a profile of its host, and recorded profiles of this host and of another."""
    rows = race_rows("uniform_150_e5", {("edlib", "", 1): 1.0})
    samples.write(tmp_path / f"samples/kick/{HOST}/thesis_tab1/uniform_150_e5.parquet", rows, {"valid": True})
    synthetic_profiles.write(tmp_path / f"profile/{HOST}/kernels.json", synthetic_profiles.kernels(host=HOST))
    for host in (HOST, "another"):
        of_host = synthetic_profiles.timeline(host=host)
        synthetic_profiles.write(tmp_path / f"recorded/{host}/profile/timeline.json", of_host)
    return tmp_path


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def race_file(rows=None, card=b"{}", columns=samples.SCHEMA.names):
    """Bytes of a race file of some-cpu-2c, with another card, rows, or columns."""
    rows = race_rows("uniform_150_e5", {("edlib", "", 1): 1.0}) if rows is None else rows
    table = pa.Table.from_pylist(rows, schema=samples.SCHEMA).select(columns)
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({b"race": card}), sink)
    return sink.getvalue()


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file())


def test_a_bundle_carries_the_samples_and_the_profiles_of_its_hosts(results, capsys):
    places = {"samples": "samples", "profiles": "profile", "recorded": "recorded"}
    folders = [f"--{name}={results / folder}" for name, folder in places.items()]
    assert main(["export", *folders, "--out", str(results / "b.zip")]) == 0
    assert main(["import", str(results / "b.zip"), "--recorded", str(results / "there")]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"1 races and 2 profiles written to {results / 'b.zip'}"
    assert told[1] == f"1 races and 2 profiles added to {results / 'there'}"
    assert files_in(results / "there") == [RACE, f"{HOST}/profile/kernels.json", f"{HOST}/profile/timeline.json"]
    for here, there in ((f"samples/kick/{HOST}/thesis_tab1/uniform_150_e5.parquet", RACE),
                        (f"profile/{HOST}/kernels.json", f"{HOST}/profile/kernels.json")):  # fmt: skip
        assert (results / here).read_bytes() == (results / "there" / there).read_bytes()
    assert not list(results.glob("*.part"))


def test_a_bundle_carries_the_newer_of_two_profiles_also_where_its_host_has_no_race(results):
    shutil.rmtree(results / "samples")
    older = results / f"recorded/{HOST}/profile/kernels.json"
    older.write_text("older")
    assert bundle.export(results / "samples", results / "b.zip", results / "profile", results / "recorded") == (0, 2)
    with zipfile.ZipFile(results / "b.zip") as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert set(found) == {f"{HOST}/profile/kernels.json", f"{HOST}/profile/timeline.json"}
    assert found[f"{HOST}/profile/kernels.json"] == (results / f"profile/{HOST}/kernels.json").read_bytes()


def test_an_import_says_how_many_files_it_replaced(results, capsys):
    bundle.export(results / "samples", results / "b.zip", results / "profile", results / "none")
    command = ["import", str(results / "b.zip"), "--recorded", str(results / "there")]
    (results / "there" / RACE).parent.mkdir(parents=True)
    (results / "there" / RACE).write_bytes(b"an older race")
    assert main(command) == main(command) == 0
    first, again = capsys.readouterr().out.splitlines()
    assert first == f"1 races and 1 profiles added to {results / 'there'}, 1 of them in the place of others"
    assert again == f"1 races and 1 profiles added to {results / 'there'}"


def test_recorded_samples_of_an_earlier_version_are_taken(tmp_path):
    chosen = [next(RECORDED.glob("*/lite/thesis_tab8/*.parquet")), *RECORDED.glob("*/profile/*.json")]
    for path in chosen:
        (tmp_path / "of" / path.relative_to(RECORDED)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / "of" / path.relative_to(RECORDED))
    shutil.make_archive(str(tmp_path / "b"), "zip", tmp_path / "of")
    assert bundle.take(tmp_path / "b.zip", tmp_path / "there") == (1, len(chosen) - 1, 0)
    assert files_in(tmp_path / "there") == files_in(tmp_path / "of")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("h/profile/kernels.json", b"no JSON", "h/profile/kernels.json is not a JSON file"),
        ("h/profile/kernels.json", b"{}", "h/profile/kernels.json is no profile of kind 'kernels'"),
        ("h/profile/kernels.json", synthetic_profiles.kernels(layout=0), "has layout 0, this version reads 1"),
        ("h/profile/kernels.json", synthetic_profiles.kernels(host="g"), "h/profile/kernels.json is of host 'g'"),
        ("h/profile/other.json", b"{}", "h/profile/other.json is neither <host>/<lane>/"),
        ("../profile/kernels.json", synthetic_profiles.kernels(host=".."), "../profile/kernels.json is neither"),
        ("h/lite/x/y.parquet", b"no Parquet", "h/lite/x/y.parquet: cannot be read as a race file ("),
        ("h/lite/x/y.parquet", {"card": b"{"}, "h/lite/x/y.parquet: cannot be read as a race file ("),
        ("h/lite/x/y.parquet", {"card": b"null"}, "h/lite/x/y.parquet has a race card that is no mapping"),
        ("h/lite/x/y.parquet", {"rows": []}, "h/lite/x/y.parquet: a race file without rows"),
        ("h/lite/x/y.parquet", {"columns": ["host"]}, "y.parquet: not a race file: column 'race_id' is missing"),
        ("h/lite/x/y.parquet", {}, "h/lite/x/y.parquet holds samples of host 'some-cpu-2c'"),
        (f"{HOST}/lite/x/y.parquet", {}, "x/y.parquet holds samples of lane 'kick'"),
        (f"{HOST}/kick/thesis_tab9/y.parquet", {}, "y.parquet holds samples of experiment 'thesis_tab1'"),
        (f"{HOST}/kick/thesis_tab1/y.parquet", {}, "y.parquet holds samples of dataset 'uniform_150_e5'"),
        (
            f"{HOST}/kick/thesis_tab1/x/y.parquet",
            {},
            f"{HOST}/kick/thesis_tab1/x/y.parquet is neither <host>/<lane>/",
        ),
        (".", {}, ": . is neither <host>/<lane>/"),
        (f"{HOST}/kick/thesis_tab1/u$(touch z).parquet", {}, "names are of letters, digits, '_', '.' and '-'"),
    ],
)
def test_a_bundle_with_a_bad_file_is_one_message_and_nothing_is_written(results, capsys, name, content, said):
    race = (results / f"samples/kick/{HOST}/thesis_tab1/uniform_150_e5.parquet").read_bytes()
    if isinstance(content, dict):
        content = race_file(**content) if name.endswith(".parquet") else json.dumps(content)
    path = zipped(results / "b.zip", {RACE: race, name: content})
    assert main(["import", str(path), "--recorded", str(results / "there")]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"error: {path}: ") and said in message and len(message.splitlines()) == 1
    assert not (results / "there").exists()


def test_an_interrupted_import_leaves_no_partial_file(results, monkeypatch):
    bundle.export(results / "samples", results / "b.zip", results / "profile", results / "none")

    def killed(*_paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(whole_file.os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        bundle.take(results / "b.zip", results / "there")
    assert files_in(results / "there") == []


def test_what_no_import_would_take_is_not_exported(results, capsys):
    (results / f"samples/kick/{HOST}").rename(results / "samples/kick/other")
    folders = [f"--{name}={results / name}" for name in ("samples", "profiles", "recorded")]
    assert main(["export", *folders, "--out", str(results / "b.zip")]) == 2
    told = f"/samples/kick/other/thesis_tab1/uniform_150_e5.parquet holds samples of host '{HOST}'"
    assert told in capsys.readouterr().err
    assert not (results / "b.zip").exists()


def test_nothing_to_export_is_said(tmp_path, capsys):
    folders = [f"--{name}={tmp_path}" for name in ("samples", "profiles", "recorded")]
    assert main(["export", *folders, "--out", str(tmp_path / "b.zip")]) == 2
    assert "holds no samples" in capsys.readouterr().err and files_in(tmp_path) == []


def test_a_bundle_without_a_file_is_said(tmp_path):
    with pytest.raises(bundle.BundleError, match=r"b\.zip: holds no samples$"):
        bundle.take(zipped(tmp_path / "b.zip", {}), tmp_path / "there")


def test_a_bundle_with_a_password_is_one_message(tmp_path):
    content = zipped(tmp_path / "b.zip", {RACE: b"secret"}).read_bytes()
    for header, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # of the file itself, and of the list of files
        at = content.index(header) + flags
        content = content[:at] + b"\1" + content[at + 1 :]
    (tmp_path / "b.zip").write_bytes(content)
    with pytest.raises(bundle.BundleError, match=r"b\.zip: not a bundle"):
        bundle.take(tmp_path / "b.zip", tmp_path / "there")


def test_a_folder_that_cannot_be_written_is_named(results):
    (results / "file").touch()
    folders = (results / "samples", results / "file/b.zip", results / "profile", results / "recorded")
    with pytest.raises(bundle.BundleError, match=r"/file/b\.zip: cannot be written \(Not a directory\)$"):
        bundle.export(*folders)
    bundle.export(folders[0], results / "b.zip", *folders[2:])
    with pytest.raises(bundle.BundleError, match=r"/file: cannot be written \(Not a directory\)$"):
        bundle.take(results / "b.zip", results / "file")


@pytest.mark.parametrize(
    ("packing", "said"),
    [
        (zipfile.ZIP_DEFLATED, "not a bundle"),
        (zipfile.ZIP_LZMA, "not a bundle"),
        (zipfile.ZIP_BZIP2, "cannot be read (Invalid data stream)"),
    ],
)
def test_a_damaged_bundle_is_one_message(results, capsys, packing, said):
    """Packed again, as mail programs do, and cut in the middle of a file's bytes."""
    with zipfile.ZipFile(results / "b.zip", "w", packing) as archive:
        archive.writestr(RACE, bytes(range(256)) * 64)
    whole = bytearray((results / "b.zip").read_bytes())
    begin = 30 + len(RACE)  # behind a header with its name
    whole[begin + 4 : begin + 44] = bytes(40)
    (results / "b.zip").write_bytes(whole)
    assert main(["import", str(results / "b.zip"), "--recorded", str(results / "there")]) == 2
    assert f"b.zip: {said}" in capsys.readouterr().err and not (results / "there").exists()
