"""Made-up measurements and race files, in the shape of the real ones, for the tests of tables, figures and report."""

import random

import pyarrow as pa
import pyarrow.parquet as pq

from workflow import aligners
from workflow.race import provenance, samples
from workflow.race.statistics import median_interval
from workflow.scripts.collect import CELL

COLLECTED = {
    "rounds": 8,
    "median_s": 0.5,
    "ci_low_s": 0.498,
    "ci_high_s": 0.503,
    "source": "here",
    "race_valid": True,
    "race_even": True,
    "race_note": "",
    "slices_note": "",
    "data_cells": None,
    "stale": False,
    "older_way": False,
    "canary_drift": 0.01,
    "main": True,
    "machine": "5e1f0a77",
    "gpu": "",
}
SAMPLE = {
    "race_id": "race-1",
    "experiment": "thesis_tab1",
    "dataset": "uniform_150_e5",
    "dataset_hash": "d0",
    "dataset_model": "uniform",
    "length_bp": 150,
    "error": 0.05,
    "lane": "kick",
    "host": "some-cpu-2c",
    "commit": "0123456789abcdef",
    "time_utc": "2026-01-02T03:04:05Z",
    "tool": "edlib",
    "variant": "",
    "threads": 1,
    "twin": False,
    "tool_version": "1.3.9",
    "tool_source_hash": "aa",
    "exact": True,
    "scope": "cigar",
    "metric": "edit",
    "penalties": "",
    "input": "ascii",
    "quantity": "time_end_to_end",
    "pairs": 20_000,
    "pairs_total": 50_000,
    "cells": 20_000 * 150 * 150.0,
    "status": "ok",
    "reason": "",
    "recall_native": 1.0,
    "recall_affine": None,
    "coverage": 1.0,
    "refused": "{}",
    "verified": 20_000,
    "failing_pairs": "[]",
    "output_hash": "bb",
    "jit_s": 0.1,
    "jit_compiled": None,
    "base_rss_bytes": 4_000_000,
    "peak_rss_bytes": 10_000_000,
    "peak_pinned_bytes": None,
    "peak_device_bytes": None,
    "rescued": None,
    "bytes_in": None,
    "bytes_out": None,
}


#: Source hashes of the checkout's tools, so that made-up samples of them are not stale.
CURRENT = {(adapter.tool, adapter.variant): adapter.source_hash() for adapter in aligners.load().values()}


#: What samples of experiments with gap-affine penalties have otherwise.
AFFINE = dict.fromkeys(("thesis_tab8", "thesis_tab9"), {"metric": "affine", "penalties": "4,6,2"})


def measurement(**changes):
    """One collected row; a change to None is a null."""
    return SAMPLE | COLLECTED | AFFINE.get(changes.get("experiment"), {}) | changes


def write_measurements(path, rows):
    """Write collected rows as the Parquet file that the table scripts read."""
    fields = [samples.SCHEMA.field(name) for name in SAMPLE]
    kinds = {
        "rounds": pa.int64(),
        **dict.fromkeys(("race_valid", "race_even", "stale", "older_way", "main"), pa.bool_()),
    }
    kinds |= dict.fromkeys(("source", "race_note", "slices_note", "machine", "gpu"), pa.string())
    fields += [pa.field(name, kinds.get(name, pa.float64())) for name in COLLECTED]
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), path)


#: Of a valid race of this checkout, on a host of which nothing is told.
CARD = {"host_card": {}, "valid": True, "seed": 1, **provenance.conditions()}


def race_rows(dataset, seconds, rounds=8, seed=1, **changes):
    """Sample rows of one race: seconds is {(tool, variant, threads): typical seconds of a round}."""
    noise = random.Random(seed)
    rows = []
    for (tool, variant, threads), typical in seconds.items():
        for number in range(1, rounds + 1):
            named = {"tool": tool, "variant": variant, "threads": threads, "dataset": dataset, "round": number}
            named["tool_source_hash"] = CURRENT[tool, variant]
            rows.append(SAMPLE | named | changes | {"value_s": typical * noise.uniform(0.97, 1.03)})
    return rows


def two_tools(threads=2, **changes):
    """Sample rows of a race that our CPU kernel wins by a factor of three."""
    seconds = {("wavebench-wfa", "cpu", threads): 1.0, ("edlib", "", threads): 3.0}
    return race_rows("uniform_150_e5", seconds, **changes)


def collect(rows, **changes):
    """Collected rows of sample rows, as the collecting script makes them."""
    groups = {}
    for row in rows:
        key = tuple(row[k] for k in ("race_id", "dataset", *CELL))
        groups.setdefault(key, []).append(row)
    collected = []
    for group in groups.values():
        times = [row["value_s"] for row in group if row["value_s"] is not None]
        plain = {k: v for k, v in group[0].items() if k in SAMPLE}
        median, low, high = median_interval(times) if times else (None, None, None)
        collected.append(plain | COLLECTED | {"rounds": len(times), "median_s": median, "ci_low_s": low,
                                              "ci_high_s": high} | changes)  # fmt: skip
    return collected
