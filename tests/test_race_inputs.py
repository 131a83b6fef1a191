"""What the engine is given: files with mistakes, folders, data sets that are not there."""

import shutil
from types import SimpleNamespace

import pytest
import yaml

from workflow.race import engine
from workflow.race.__main__ import main


def test_a_folder_that_cannot_be_written_fails_at_once(arena, tmp_path):
    (tmp_path / "store").write_text("a file stands here")
    with pytest.raises(engine.EngineError, match="store: cannot be written"):
        arena(["honest"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tools": ["nonesuch"]}, "unknown 'nonesuch' (known are absent, "),
        ({"tools": "honest"}, "key 'tools' must be a list of ids of tools, not 'honest'"),
        ({"penalties": [4, 6]}, "key 'penalties' must be edit, or [mismatch >= 1, "),
        ({"datasets": 5}, "key 'datasets' must be a list of names of data sets, not 5"),
        ({"threads": [3]}, "key 'threads' must be a list of: 1, all, not [3]"),
        ({"threads": [1.0]}, "key 'threads' must be a list of: 1, all, not [1.0]"),
        ({"datasets": ["large"]}, "holds no <dataset>.arrow of"),
        ({"twin": "edlib"}, "key 'twin' must be one of its tools (honest), not 'edlib'"),
        ({"penalties": [0, 6, 2]}, "mismatch must be an integer >= 1"),
        ({"scopes": None}, "'scopes' is missing"),
    ],
)
def test_bad_experiment_is_one_message(arena, tmp_path, capsys, change, message):
    arena(["honest"], scopes=["score"])
    experiment = yaml.safe_load((tmp_path / "experiment.yaml").read_text())
    for key, value in change.items():
        experiment.pop(key) if value is None else experiment.update({key: value})
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(experiment))
    assert run_fake(tmp_path) == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"rounds": {"min": 4, "max": 9}},
            "lane.yaml: key 'rounds' must be {min, max}, whole numbers, 5 <= min",
        ),
        ({"rounds": {"min": 9, "max": 8}}, "5 <= min <= max, not {'max': 8, 'min': 9}"),
        ({"race_seconds": "long"}, "lane.yaml: key 'race_seconds' must be a number of seconds > 0, not 'long'"),
        ({"narrow": {"fake": {"scopes": ["path"]}}}, "key 'narrow.fake.scopes' must be a list of: score, cigar"),
        ({"narrow": 3}, "key 'narrow' must be {experiment: a mapping with some of: scopes, threads, datasets, "),
        ({"narrow": {"fake": 3}}, "key 'narrow' must be {experiment: a mapping with some of: "),
        ({"narrow": {"fake": {"without": ["lying"]}}}, "'narrow.fake.without' has unknown value 'lying'; allowed are "),
        ({"narrow": {"fake": {"datasets": []}}}, "lane.yaml: leaves fake out; --datasets names what to race"),
    ],
)
def test_bad_lane_is_one_message(arena, tmp_path, capsys, change, message):
    arena(["honest"], scopes=["score"])
    lane = yaml.safe_load((tmp_path / "lane.yaml").read_text()) | change
    (tmp_path / "lane.yaml").write_text(yaml.safe_dump(lane))
    assert run_fake(tmp_path) == 2 and message in capsys.readouterr().err


def test_bad_data_and_host_are_found_before_the_first_race(arena, tmp_path, capsys):
    arena(["honest"], scopes=["score"])
    (tmp_path / "data" / "real_bad.arrow").write_bytes(b"no arrow")
    (tmp_path / "out" / "small.parquet").unlink()
    assert run_fake(tmp_path, "--datasets", "small,real_bad") == 2
    assert "bad.arrow" in capsys.readouterr().err and not list((tmp_path / "out").iterdir())
    assert run_fake(tmp_path, "--datasets", "real_none") == 2 and "real_none.arrow" in capsys.readouterr().err
    assert run_fake(tmp_path, "--datasets", "nonesuch") == 2
    assert "names no data set 'nonesuch'; allowed are small, real_<name>" in capsys.readouterr().err
    for names in ("", "small,"):
        with pytest.raises(SystemExit, match="2"):
            run_fake(tmp_path, "--datasets", names)
        assert f"names of data sets with a comma between, not {names!r}" in capsys.readouterr().err
    for name in ("a/b", ""):
        assert run_fake(tmp_path, "--host", name) == 2 and f"--host {name!r}: must be" in capsys.readouterr().err


def test_a_data_set_without_a_file_is_named(arena, tmp_path, capsys):
    arena(["honest"], scopes=["score"])
    experiment = yaml.safe_load((tmp_path / "experiment.yaml").read_text())
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(experiment | {"datasets": ["large", "small", "huge"]}))
    assert run_fake(tmp_path, "--host", "testhost") == 0
    assert f"not raced, {tmp_path / 'data'} holds no pair file of: large, huge" in capsys.readouterr().err
    assert run_fake(tmp_path, "--host", "testhost", "--datasets", "small") == 0
    assert "not raced" not in capsys.readouterr().err


def test_a_lane_narrows_the_data_sets_that_are_not_asked_for_by_name(arena, tmp_path, monkeypatch):
    arena(["honest"], scopes=["score"])
    experiment, lane = (yaml.safe_load((tmp_path / f"{name}.yaml").read_text()) for name in ("experiment", "lane"))
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(experiment | {"datasets": ["small", "other"]}))
    (tmp_path / "lane.yaml").write_text(yaml.safe_dump(lane | {"narrow": {"fake": {"datasets": ["other"]}}}))
    shutil.copy(tmp_path / "data/small.arrow", tmp_path / "data/other.arrow")
    raced = []
    monkeypatch.setattr(engine, "_race_once", lambda _conductor, dataset, *_: raced.append(dataset))
    assert run_fake(tmp_path) == 0 and raced == ["other"]
    assert run_fake(tmp_path, "--datasets", "small") == 0 and raced == ["other", "small"]


def test_a_commit_that_is_none_is_one_message_before_the_races(arena, tmp_path, capsys, monkeypatch):
    arena(["honest"], scopes=["score"])
    for named, code in (("pending", 2), ("012345g", 2), ("0123abc", 0), ("0123abc+dirty", 0), ("unknown", 0)):
        monkeypatch.setenv("WAVEBENCH_COMMIT", named)
        assert run_fake(tmp_path, "--host", "testhost") == code
        message = f"error: WAVEBENCH_COMMIT must be a commit of 7 to 40 hex digits, or unknown, not '{named}'"
        assert (message in capsys.readouterr().err) == (code == 2)


def test_no_race_begins_that_would_end_after_the_time_limit(arena, tmp_path, monkeypatch, capsys):
    arena(["honest"], scopes=["score"])
    for name in ("real_b", "real_c"):
        shutil.copy(tmp_path / "data/small.arrow", tmp_path / f"data/{name}.arrow")
    asked = "--datasets", "small,real_b,real_c", "--time-limit"
    raced, clock = [], [0]

    def race(_conductor, dataset, *_):
        raced.append(dataset)
        clock[0] += 100

    monkeypatch.setattr(engine, "_race_once", race)
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    assert run_fake(tmp_path, *asked, "250") == 3 and raced == ["small", "real_b"]
    assert "stopped by its time limit with 1 data sets to go" in capsys.readouterr().err
    assert run_fake(tmp_path, *asked, "350") == 0 and len(raced) == 5


def run_fake(tmp_path, *further):
    """Exit code of the command line on the files of an arena."""
    return main([
        "run", "--experiment", str(tmp_path / "experiment.yaml"), "--lane", str(tmp_path / "lane.yaml"), "--data",
        str(tmp_path / "data"), "--out", str(tmp_path / "out"), "--store", str(tmp_path / "store"), *further,
    ])  # fmt: skip
