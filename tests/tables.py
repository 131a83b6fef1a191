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


def markdown_rows(out):
    """The lines of a Markdown table, head first, each as its cells; the rule under the head is left out."""
    lines = [line for line in Path(f"{out}.md").read_text().splitlines() if line.startswith("|")]
    head, _, *body = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [head, *body]


def draw_up(table, folder, rows, options, arguments=()):
    """Draw up a table from collected rows by its command; its path without suffix.

    options: {name: value} beside --measurements and --out. arguments: any others.
    """
    write_measurements(folder / "m.parquet", rows)
    out = folder / "out" / table
    told = {"measurements": folder / "m.parquet", **options, "out": out}
    run = CliRunner().invoke(_command(table), [*(f"--{name}={told[name]}" for name in told), *map(str, arguments)])
    assert run.exit_code == 0, run.output or run.exception
    return out


def refuse_absent_files(table, *names):
    """A table's command given files that are not there: one message and exit code 2."""
    run = CliRunner().invoke(_command(table), [f"--{name}=absent" for name in ("measurements", *names, "out")])
    assert run.exit_code == 2 and "absent" in run.output and "Traceback" not in run.output


def refuse(table, message, **options):
    """A table's command given these options and else files that fit: the message and exit code 2."""
    told = {"paper": ROOT / f"config/papers/{table}.csv", "config": ROOT / f"config/experiments/{table}.yaml",
            "lane": ROOT / "config/lanes/kick.yaml", **options}  # fmt: skip
    run = CliRunner().invoke(_command(table), [f"--{name}={value}" for name, value in told.items()])
    assert run.exit_code == 2 and message in run.output, run.output or run.exception


def _command(table):
    return importlib.import_module(f"workflow.scripts.tables.{table}").main


def drawer(folder):
    """make(table, rows), which draws up a table from collected rows in the folder and gives its path without suffix."""

    def make(table, rows, lane="kick", real_data="", experiment=None, peers=(), races=(), unmapped=""):
        config = ROOT / f"config/experiments/{table}.yaml"
        if experiment:
            config = folder / "experiment.yaml"
            config.write_text(yaml.safe_dump(experiment))
        options = {
            "paper": ROOT / f"config/papers/{table}.csv",
            "config": config,
            "lane": ROOT / f"config/lanes/{lane}.yaml",
            "real-data": real_data,
            "unmapped": unmapped,
        }
        return draw_up(table, folder, rows, options, [*(f"--peer={path}" for path in peers), *races])

    return make


def lambda_reads(tmp_path):
    """A table of real reads: Nanopore's of phage lambda."""
    table = tmp_path / "real.tsv"
    head = ["name", "technology", "preset", "reads", "reads_sha256", "reference", "reference_sha256"]
    row = ["lambda", "nanopore", "map-ont", "r.fq", "", "g.fa", ""]
    table.write_text("\n".join("\t".join(fields) for fields in (head, row)) + "\n")
    return table
