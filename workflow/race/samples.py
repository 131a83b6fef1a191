"""Samples: one row per tool and round of a race, in one Parquet file per race.

A tool that gave no time still has a row: value_s is null, status and reason say why. The race's own card (twins,
canary, host, rounds) travels as JSON in the schema's metadata, so a race is one file, written whole or not at all.
"""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq

from wfa_kernels import whole_file

SCHEMA = pa.schema(
    [
        ("race_id", pa.string()),
        ("experiment", pa.string()),
        ("dataset", pa.string()),
        ("dataset_hash", pa.string()),
        ("dataset_model", pa.string()),  # "uniform", or the technology: "illumina_150", ...
        ("length_bp", pa.int64()),  # nominal
        ("error", pa.float64()),  # nominal, a fraction; null where the data set has none
        ("lane", pa.string()),
        ("host", pa.string()),
        ("commit", pa.string()),
        ("time_utc", pa.string()),
        ("tool", pa.string()),
        ("variant", pa.string()),
        ("threads", pa.int64()),
        ("twin", pa.bool_()),  # the same tool under a second name
        ("tool_version", pa.string()),
        ("tool_source_hash", pa.string()),
        ("exact", pa.bool_()),  # the tool claims exactness under its own objective
        ("scope", pa.string()),  # "score" | "cigar"
        ("metric", pa.string()),  # "edit" | "affine": the experiment's
        ("penalties", pa.string()),  # "4,6,2" for affine, "" for edit
        ("input", pa.string()),  # "ascii" | "packed2"
        ("quantity", pa.string()),  # "time_end_to_end", ...
        ("round", pa.int32()),  # from 1; 0 in a row without a time
        ("value_s", pa.float64()),
        ("pairs", pa.int64()),  # measured: the first n
        ("pairs_total", pa.int64()),  # of the data set
        ("cells", pa.float64()),  # sum of pattern length x text length over the measured pairs
        ("status", pa.string()),  # "ok" | "not_installed" | "unsupported" | "timeout" | "crashed" | "out_of_memory"
        ("reason", pa.string()),  # of a status; where it is ok, why the tool failed on more pairs
        ("recall_native", pa.float64()),  # fractions; null when not applicable
        ("recall_affine", pa.float64()),
        ("coverage", pa.float64()),
        ("refused", pa.string()),  # JSON {status name: pairs}
        ("verified", pa.int64()),  # pairs checked
        ("failing_pairs", pa.string()),  # JSON list of every failing pair, the first million at most: [number, why]
        ("output_hash", pa.string()),
        ("jit_s", pa.float64()),  # first call on a few pairs: compilation, where jit_compiled
        ("jit_compiled", pa.bool_()),  # Numba compiled kernels in it, instead of reading them from its cache on disk
        ("base_rss_bytes", pa.int64()),  # held by the cell's processes before an untimed run, prepared pairs too
        ("peak_rss_bytes", pa.int64()),  # over the cell's processes in that run, with all that they hold
        ("peak_pinned_bytes", pa.int64()),  # page-locked, part of the former; of a GPU's tool only
        ("peak_device_bytes", pa.int64()),  # on the GPU, by the tool's own count
        # Counts of a run, the most of all rounds, where the tool tells:
        ("rescued", pa.int64()),  # pairs that another device answered
        ("bytes_in", pa.int64()),  # of the pairs, that cross the wire to the device
        ("bytes_out", pa.int64()),  # of the answers, that come back
    ]
)
#: Columns that samples recorded before they were introduced do not have; they are null there.
_LATER = (
    "jit_compiled",
    "base_rss_bytes",
    "peak_pinned_bytes",
    "peak_device_bytes",
    "rescued",
    "bytes_in",
    "bytes_out",
)


class SamplesError(ValueError):
    """A file that does not hold the samples of a race: the message names it."""


def write(path, rows, card):
    """Write a race's rows (list of dicts; absent keys are null) and its card (JSON-able dict)."""
    schema = SCHEMA.with_metadata({b"race": json.dumps(card).encode()})
    table = pa.Table.from_pylist(rows, schema=schema)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with whole_file.beside(path) as part:
        pq.write_table(table, part)


def read(path):
    """(rows as a pyarrow Table, one at least; card as a dict) of one race file. Raises SamplesError."""
    try:
        table = pq.read_table(path)
        card = json.loads((table.schema.metadata or {}).get(b"race", b"{}"))
    except (OSError, ValueError) as error:  # pa.ArrowInvalid is a ValueError
        raise SamplesError(f"{path}: cannot be read as a race file ({_first_line(error)})") from None
    for name in _LATER:
        if name not in table.column_names:
            table = table.append_column(SCHEMA.field(name), pa.nulls(len(table), SCHEMA.field(name).type))
    missing = [name for name in SCHEMA.names if name not in table.column_names]
    if missing:
        raise SamplesError(f"{path}: not a race file: column {missing[0]!r} is missing")
    if not len(table):
        raise SamplesError(f"{path}: a race file without rows")
    return table.replace_schema_metadata(None), card


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0]
