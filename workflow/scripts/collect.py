"""Collect the samples of every race, here and recorded, into one table of medians: one row a cell of a race."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from workflow import aligners
from workflow.race import samples
from workflow.race.statistics import median_interval

#: What a cell's rows have in common; the rest of the schema is by round.
_BY_ROUND = ("round", "value_s")
_CELL = ("tool", "variant", "threads", "twin", "scope", "quantity", "pairs")


def race_files(here, recorded):
    """[(path, source)]: this host's race files and the recorded ones."""
    found = [(path, "here") for path in sorted(Path(here).glob("*/*/*/*.parquet"))] if here else []
    return found + [(path, "recorded") for path in sorted(Path(recorded).glob("*/*/*/*.parquet"))]


def cells_of(path, source, hashes):
    """DataFrame of one race's cells.

    hashes: {(tool, variant): source hash of this checkout}, to mark samples of other sources as stale.
    """
    table, card = samples.read(path)
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
    current = [hashes.get((tool, variant)) for tool, variant in zip(cells["tool"], cells["variant"], strict=True)]
    cells["stale"] = [now is None or now != then for now, then in zip(current, cells["tool_source_hash"], strict=True)]
    cells["path"] = str(path)
    return cells


def _note(card):
    if card.get("valid", True):
        return ""
    uneven = [f"{name}: ratio {t['ratio']:.3f}" for name, t in card.get("twins", {}).items() if not t["even"]]
    return "twins uneven (" + "; ".join(uneven) + ")"


def collect(here, recorded):
    """DataFrame over all races; empty with the right columns when there are none."""
    hashes = {(a.tool, a.variant): a.source_hash() for a in aligners.load().values()}
    frames = [cells_of(path, source, hashes) for path, source in race_files(here, recorded)]
    if not frames:
        columns = [name for name in samples.SCHEMA.names if name not in _BY_ROUND]
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", default="results/samples", help="<lane>/<host>/<experiment>/<dataset>.parquet")
    parser.add_argument("--recorded", default="results/recorded", help="<host>/<lane>/<experiment>/<dataset>.parquet")
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    frame = collect(asked.samples, asked.recorded)
    Path(asked.out).parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(asked.out, index=False)
    print(f"{frame['race_id'].nunique()} races, {len(frame)} cells", file=sys.stderr)


if __name__ == "__main__":
    main()
