"""The command line that the scripts of measured tables share."""

import os
from dataclasses import replace

import click
import pyarrow.parquet as pq

from workflow.scripts import config_files, papers, table_build, table_floor, table_output, table_peers

#: Of the columns that collecting adds those that tell its file from a race's.
_COLLECTED = ("median_s", "main", "source")
#: The option of the tables that show real reads.
UNMAPPED = click.option("--unmapped", default="", help="Why real reads are not mapped on this host.")


def read_yaml(path, schema):
    """A YAML file as a dict; a clear error names the file. schema: that it must fit, "experiment" or "lane"."""
    try:
        return config_files.read(path, schema)
    except config_files.SettingsError as error:
        raise click.UsageError(str(error)) from None


def read_measurements(path):
    """Rows of the collected measurements as dicts; a clear error names a file that holds none."""
    try:
        table = pq.read_table(path)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{path}: cannot be read as Parquet ({error})") from None
    missing = [name for name in _COLLECTED if name not in table.column_names]
    if missing:
        made = "workflow.scripts.collect makes them of race files"
        raise click.UsageError(f"{path}: holds no collected measurements: column {missing[0]!r} is missing ({made})")
    return table.to_pylist()


def command(make_layout):
    """A click command that builds one table. make_layout(experiment, real_rows, measurements) gives its Layout."""

    @click.command()
    @click.argument("races", nargs=-1)
    @click.option("--measurements", required=True, help="Collected measurements (Parquet).")
    @click.option("--paper", required=True, help="The paper's values: config/papers/<id>.csv.")
    @click.option("--config", required=True, help="The experiment: config/experiments/<id>.yaml.")
    @click.option("--lane", required=True, help="The lane: config/lanes/<lane>.yaml.")
    @click.option("--real-data", default="", help="config/real_data.tsv, for tables of real reads.")
    @UNMAPPED
    @click.option("--peer", "peers", multiple=True, help="External figures: config/peers/<program>_<device>.yaml.")
    @click.option("--out", required=True, help="Path without suffix: .csv .md .html .tidy.csv are written.")
    def main(races, measurements, paper, config, lane, real_data, unmapped, peers, out):
        """Draw up the table; RACES are race files whose host cards tell the bandwidth of their GPU."""
        rows = read_measurements(measurements)
        experiment, lane = read_yaml(config, "experiment"), read_yaml(lane, "lane")
        try:
            values = papers.read(paper)
            layout = replace(make_layout(experiment, real_data, rows), unmapped=unmapped)
            peers, bandwidths = table_peers.read(peers), table_floor.bandwidths(races)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        filled = table_build.build(layout, rows, values, experiment, lane, peers, bandwidths)
        table_output.write_all(filled, out, f"snakemake {os.path.relpath(out)}.md")

    return main
