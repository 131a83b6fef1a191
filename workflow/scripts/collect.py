"""Collect the samples of races, here and recorded, into one table of medians: one row a cell of a race."""

import argparse
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa

from workflow.aligners import ROOT, ToolConfigError
from workflow.race import planning, samples
from workflow.race.host import HostError, chosen_id
from workflow.race.statistics import median_interval
from workflow.scripts import out_file, scaling
from workflow.scripts.doubts import RACE, race_identity, twins_too_noisy
from workflow.scripts.stale import changed_conditions, current_hashes, is_stale, older_text

LANES = ROOT / "config/lanes"
#: What a cell's rows have in common; the rest of the schema is by round.
_BY_ROUND = ("round", "value_s")
CELL = ("tool", "variant", "threads", "twin", "scope", "quantity", "pairs")
#: What collecting adds to a cell's columns of the sample schema.
_ADDED = pa.schema(
    [
        ("rounds", pa.int64()),
        ("median_s", pa.float64()),  # of the rounds' times; ci_*: its 95 % interval
        ("ci_low_s", pa.float64()),
        ("ci_high_s", pa.float64()),
        ("stale", pa.bool_()),  # the tool's sources are no longer the checkout's
        ("data_cells", pa.float64()),  # of the data set; null where not known
        ("main", pa.bool_()),  # neither a twin nor a smaller subset of the pairs
        ("race_valid", pa.bool_()),
        ("race_even", pa.bool_()),  # its twins were shown to be even; else they were uneven, or too noisy to tell
        ("race_note", pa.string()),
        ("slices_note", pa.string()),  # what a reader must know of the slices of its tools on the CPU
        ("older_way", pa.bool_()),  # measured by another procedure or bounds of memory than the checkout's
        ("canary_drift", pa.float64()),
        ("machine", pa.string()),  # tells machines of the host's id apart, "" where the race does not
        ("gpu", pa.string()),  # name of the host's first GPU, "" without one
        ("path", pa.string()),
        ("source", pa.string()),  # "here": of the machine at hand | "recorded": of another
    ]
)


def race_files(here, recorded, experiment=None):
    """[(path, source)]: race files in the folder of samples and the recorded ones; of one experiment, or of all."""
    pattern = f"*/*/{experiment or '*'}/*.parquet"
    folders = ((here, "here"), (recorded, "recorded"))
    return [(path, source) for folder, source in folders for path in sorted(Path(folder).glob(pattern))]


def cells_of(path, hashes, slices_s):
    """DataFrame of one race's cells.

    hashes: stale.current_hashes(), to mark samples of other sources as stale. slices_s: lane_slices(). Raises
    samples.SamplesError.
    """
    table, card = samples.read(path)
    frame = table.to_pandas()
    rows = []
    for _, cell in frame.groupby(list(CELL), dropna=False, sort=False):
        row = cell.iloc[0].drop(list(_BY_ROUND)).to_dict()
        row["reason"] = " ".join((row["reason"] or "").split())  # a tool may say it in lines, and notes are one each
        times = cell["value_s"].dropna().to_numpy()
        median, low, high = median_interval(times) if len(times) else (None, None, None)
        row |= {"rounds": len(times), "median_s": median, "ci_low_s": low, "ci_high_s": high}
        rows.append({**row, "stale": is_stale(row, hashes)})
    cells = pd.DataFrame(rows)
    cells["data_cells"] = pd.Series([scaling.data_cells(table, card)] * len(cells), dtype="float64")
    largest = cells.groupby([*CELL[:-1]], dropna=False)["pairs"].transform("max")
    cells["main"] = ~cells["twin"] & (cells["pairs"] == largest)
    cells["race_valid"] = bool(card.get("valid", True))
    cells["race_even"] = bool(card.get("valid", True)) and not twins_too_noisy(card.get("twins", {}))
    cells["race_note"] = "; ".join(filter(None, [_twins_text(card), older_text(card)]))
    cells["slices_note"] = _slices_text(card, slices_s.get(frame["lane"].iloc[0], 0))
    cells["older_way"] = bool(changed_conditions(card))
    cells["canary_drift"] = float(card.get("canary", {}).get("drift", float("nan")))
    host_card = card.get("host_card") or {}
    cells["machine"] = host_card.get("machine") or ""
    cells["gpu"] = (host_card.get("gpus") or [{}])[0].get("name") or ""
    cells["path"] = str(path)
    return cells


def _twins_text(card):
    if card.get("valid", True):
        return ""
    uneven = [f"{name}: ratio {t['ratio']:.3f}" for name, t in card.get("twins", {}).items() if not t["even"]]
    return "twins uneven (" + "; ".join(uneven) + ")" + ", no time to race once more" * (not card.get("rerun", True))


def lane_slices(folder):
    """{lane: seconds of a CPU tool's slice}, of the lanes in a folder. Raises planning.EngineError."""
    lanes = [planning.load_yaml(path) for path in sorted(Path(folder).glob("*.yaml"))]
    return {lane["name"]: lane["round_seconds"] for lane in lanes}


def _slices_text(card, lane_s):
    """What a reader must know where CPU tools had shorter slices than their lane has (lane_s) or had.

    The fewest rounds would not have fit, or the lane gave less at that time.
    """
    planned = float(card.get("plan", {}).get("round_seconds", 0))
    ran = card.get("round_seconds", {}).get("cpu", planned)
    if ran < planned:
        why = f"not the lane's {planned:g} s, for the race to end in time"
    elif 0 < ran < lane_s:
        why = f"their lane's then, which has {lane_s:g} s now"
    else:
        return ""
    return (
        f"its CPU tools had slices of {ran:g} s, {why}: the fewer their pairs, the more their times tell of what a "
        "call costs besides"
    )


def collect(here, recorded, experiment=None, host=None):
    """DataFrame over all races, or those of one experiment; empty with all its columns when there are none.

    here, recorded: folders <lane>/<host>/<experiment> and <host>/<lane>/<experiment> of race files. host: id of the
    machine at hand (default: this one's); samples of other machines count as recorded, wherever they lie. Raises
    samples.SamplesError, planning.EngineError.
    """
    hashes, slices_s, host = current_hashes(), lane_slices(LANES), chosen_id(host)
    frames = {}
    for path, source in race_files(here, recorded, experiment):
        cells = cells_of(path, hashes, slices_s)
        first = cells.iloc[0]
        source = source if first["host"] == host else "recorded"
        # A race may lie among the samples and be recorded, too: of another machine, or of this one by its owner.
        frames.setdefault(race_identity(first), cells.assign(source=source))
    if not frames:
        fields = [field for field in samples.SCHEMA if field.name not in _BY_ROUND]
        return pa.schema([*fields, *_ADDED]).empty_table().to_pandas()
    return pd.concat(frames.values(), ignore_index=True)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", default="results/samples", help="<lane>/<host>/<experiment>/<dataset>.parquet")
    parser.add_argument("--recorded", default="results/recorded", help="<host>/<lane>/<experiment>/<dataset>.parquet")
    parser.add_argument("--experiment", metavar="ID", help="only the races of this experiment")
    parser.add_argument("--host", metavar="ID", help="the machine at hand (default: this one)")
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    try:
        out_file.prepare(asked.out)
        frame = collect(asked.samples, asked.recorded, asked.experiment, asked.host)
    except (samples.SamplesError, planning.EngineError, HostError, ToolConfigError, out_file.OutError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    frame.to_parquet(asked.out, index=False)
    races = len(frame[list(RACE)].drop_duplicates())
    print(f"{races} races, {len(frame)} cells", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
