"""Collect the samples of races, here and recorded, into one table of medians: one row a cell of a race."""

import argparse
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa

from workflow import aligners
from workflow.race import samples
from workflow.race.statistics import median_interval

#: What a cell's rows have in common; the rest of the schema is by round.
_BY_ROUND = ("round", "value_s")
_CELL = ("tool", "variant", "threads", "twin", "scope", "quantity", "pairs")
#: What collecting adds to a cell's columns of the sample schema.
_ADDED = pa.schema(
    [
        ("rounds", pa.int64()),
        ("median_s", pa.float64()),  # of the rounds' times; ci_*: its 95 % interval
        ("ci_low_s", pa.float64()),
        ("ci_high_s", pa.float64()),
        ("main", pa.bool_()),  # neither a twin nor a smaller subset of the pairs
        ("source", pa.string()),  # "here" | "recorded"
        ("race_valid", pa.bool_()),
        ("race_note", pa.string()),
        ("canary_drift", pa.float64()),
        ("gpu", pa.string()),  # name of the host's first GPU, "" without one
        ("stale", pa.bool_()),  # the tool's sources are no longer the checkout's
        ("path", pa.string()),
    ]
)


def race_files(here, recorded, experiment=None):
    """[(path, source)]: this host's race files and the recorded ones; of one experiment, or of all."""
    pattern = f"*/*/{experiment or '*'}/*.parquet"
    found = [(path, "here") for path in sorted(Path(here).glob(pattern))] if here else []
    return found + [(path, "recorded") for path in sorted(Path(recorded).glob(pattern))]


def cells_of(path, source, hashes):
    """DataFrame of one race's cells.

    hashes: {(tool, variant): source hash of this checkout}, to mark samples of other sources as stale. Raises
    samples.SamplesError.
    """
    table, card = samples.read(path)
    if not len(table):
        raise samples.SamplesError(f"{path}: a race file without rows")
    frame = table.to_pandas()
    rows = []
    for _, cell in frame.groupby(list(_CELL), dropna=False, sort=False):
        row = cell.iloc[0].drop(list(_BY_ROUND)).to_dict()
        times = cell["value_s"].dropna().to_numpy()
        median, low, high = median_interval(times) if len(times) else (None, None, None)
        rows.append({**row, "rounds": len(times), "median_s": median, "ci_low_s": low, "ci_high_s": high})
    cells = pd.DataFrame(rows)
    largest = cells.groupby([*_CELL[:-1]], dropna=False)["pairs"].transform("max")
    cells["main"] = ~cells["twin"] & (cells["pairs"] == largest)
    cells["source"] = source
    cells["race_valid"] = bool(card.get("valid", True))
    cells["race_note"] = _note(card)
    cells["canary_drift"] = float(card.get("canary", {}).get("drift", float("nan")))
    gpus = card.get("host_card", {}).get("gpus") or [{}]
    cells["gpu"] = gpus[0].get("name") or ""
    current = [hashes.get((tool, variant)) for tool, variant in zip(cells["tool"], cells["variant"], strict=True)]
    cells["stale"] = [now is None or now != then for now, then in zip(current, cells["tool_source_hash"], strict=True)]
    cells["path"] = str(path)
    return cells


def _note(card):
    if card.get("valid", True):
        return ""
    uneven = [f"{name}: ratio {t['ratio']:.3f}" for name, t in card.get("twins", {}).items() if not t["even"]]
    return "twins uneven (" + "; ".join(uneven) + ")"


def collect(here, recorded, experiment=None):
    """DataFrame over all races, or those of one experiment; empty with all its columns when there are none.

    here, recorded: folders <lane>/<host>/<experiment> and <host>/<lane>/<experiment> of race files. Raises
    samples.SamplesError.
    """
    hashes = {(a.tool, a.variant): a.source_hash() for a in aligners.load().values()}
    frames = [cells_of(path, source, hashes) for path, source in race_files(here, recorded, experiment)]
    if not frames:
        fields = [field for field in samples.SCHEMA if field.name not in _BY_ROUND]
        return pa.schema([*fields, *_ADDED]).empty_table().to_pandas()
    return pd.concat(frames, ignore_index=True)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", default="results/samples", help="<lane>/<host>/<experiment>/<dataset>.parquet")
    parser.add_argument("--recorded", default="results/recorded", help="<host>/<lane>/<experiment>/<dataset>.parquet")
    parser.add_argument("--experiment", metavar="ID", help="only the races of this experiment")
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    try:
        frame = collect(asked.samples, asked.recorded, asked.experiment)
    except samples.SamplesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    Path(asked.out).parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(asked.out, index=False)
    print(f"{frame['race_id'].nunique()} races, {len(frame)} cells", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
