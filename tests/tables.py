"""Drawing up a table from made-up measurements, for the tests of tables."""

import csv
import importlib
from pathlib import Path

import yaml
from click.testing import CliRunner

from tests.synthetic import write_measurements

ROOT = Path(__file__).resolve().parents[1]


def read_csv(path):
    """Rows of a CSV file as dicts."""
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def cells(out, **wanted):
    """Rows of a table's CSV file with these values."""
    rows = read_csv(f"{out}.csv")
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def drawer(folder):
    """make(table, rows), which draws up a table from collected rows in the folder and gives its path without suffix."""

    def make(table, rows, lane="kick", real_data="", experiment=None, peers=(), races=(), unmapped=""):
        write_measurements(folder / "m.parquet", rows)
        config = ROOT / f"config/experiments/{table}.yaml"
        if experiment:
            config = folder / "experiment.yaml"
            config.write_text(yaml.safe_dump(experiment))
        command = importlib.import_module(f"workflow.scripts.tables.{table}").main
        arguments = {
            "measurements": folder / "m.parquet",
            "paper": ROOT / f"config/papers/{table}.csv",
            "config": config,
            "lane": ROOT / f"config/lanes/{lane}.yaml",
            "real-data": real_data,
            "unmapped": unmapped,
            "out": folder / "out" / table,
        }
        options = [*(f"--{name}={value}" for name, value in arguments.items()), *(f"--peer={path}" for path in peers)]
        run = CliRunner().invoke(command, [*options, *map(str, races)])
        assert run.exit_code == 0, run.output
        return folder / "out" / table

    return make
