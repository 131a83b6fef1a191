"""Where tests race the made-up tools of tests/tools/fakes.py: files of an experiment and a lane in a folder."""

from pathlib import Path

import yaml

from tests.synthetic_pairs import random_pairs
from workflow.race import engine, planning, samples

ROOT = Path(__file__).resolve().parents[1]


class Arena:
    """A folder with a data set, "small"; called, it races the given made-up tools on it."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.monkeypatch = folder, monkeypatch
        monkeypatch.setenv("WAVEBENCH_ALIGNERS", str(ROOT / "tests" / "tools"))
        monkeypatch.setenv("FAKE_TOOLS_FOLDER", str(folder))
        monkeypatch.setenv("WAVEBENCH_LOCK", str(folder / "lock"))
        (folder / "data").mkdir()
        random_pairs(40, 60).to_arrow(folder / "data" / "small.arrow")

    def write(
        self, tools, twin="honest", penalties="edit", scopes=("score", "cigar"), threads=(1,), timeout=20,
        besides=None, **lane
    ):  # fmt: skip
        """Write experiment.yaml, of the tools and the twin, and lane.yaml. besides: further keys of the one. lane: of
        the other."""
        (self.folder / "experiment.yaml").write_text(yaml.safe_dump({
            "id": "fake", "penalties": penalties, "scopes": list(scopes), "threads": list(threads),
            "datasets": ["small"], "tools": list(dict.fromkeys([*tools, twin])), "twin": twin, **(besides or {}),
        }))  # fmt: skip
        (self.folder / "lane.yaml").write_text(yaml.safe_dump({
            "name": "test", "rounds": {"min": 5, "max": 6}, "round_seconds": 0.05, "race_seconds": 5,
            "timeout_seconds": timeout, **lane,
        }))  # fmt: skip

    def __call__(self, tools, cores=2, **asked):
        """(samples as a data frame, card, lines of progress) of a race of the tools. asked: see write()."""
        self.monkeypatch.setattr(planning, "usable_cores", lambda: cores)
        self.write(tools, **asked)
        folder, lines = self.folder, []
        engine.run(
            folder / "experiment.yaml", folder / "lane.yaml", folder / "data", folder / "out", folder / "store",
            host="testhost", say=lines.append,
        )  # fmt: skip
        table, card = samples.read(folder / "out" / "small.parquet")
        return table.to_pandas(), card, lines
