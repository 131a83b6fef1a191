"""Made-up profiles, in the shape of workflow.profile's files, for the tests of what is drawn from them."""

import json

from workflow.profile import cells, layout, watched

HEAD = {
    "layout": layout.LAYOUT,
    "host": "h200-16c",
    "host_card": {"gpus": [{"name": "NVIDIA H200"}]},
    "commit": "0123456789abcdef",
    "time_utc": "2026-01-02T03:04:05+00:00",
}
COUNTERS = {
    "launches": 28, "kernel_time_s": 0.01234, "warp_instructions": 6.5e9, "global_throughput_gib_s": 40.5,
    "sm_busy_percent": 88.25, "issue_slots_busy_percent": 77.5, "active_warps_per_sm": 31.5,
    "active_threads_per_warp": 10.25, "warp_cycles_per_issued_instruction": 9.125,
}  # fmt: skip


def _head(kind):
    """What all have in common; read from this checkout's kernels."""
    return HEAD | {"kind": kind, "tool_source_hashes": watched.source_hashes(kind)}


def facts(kernel, threads):
    """What the compiler tells of one kernel."""
    limit = cells.KERNEL_LIMITS[kernel]
    return {"kernel": kernel, "max_errors": limit, "block_threads": threads or limit, "registers": 40,
            "shared_bytes": 64 * limit, "local_bytes": 0, "active_warps_per_sm": 32}  # fmt: skip


def kernels(**changes):
    """A kernels.json: on data sets of 2, 5 and 10 % error E32, E64 and E128 answer 99 % of the pairs."""
    found = []
    for number, cell in enumerate(cells.CELLS):
        kernel = cell.first_kernel or list(cells.KERNEL_LIMITS)[number]
        found.append({
            "table": cell.table, "dataset": cell.dataset.name, "pairs": 1_000_000, "longest_bp": 1020,
            "first_kernel": cell.first_kernel,
            "answered": dict.fromkeys(cells.KERNEL_LIMITS, 0.005) | {kernel: 0.99},
            "timings_s": {"time_kernel": [0.03, 0.02, 0.0225], "time_pack": [0.001]},
            "compiler": {name: facts(name, cell.block_threads) for name in cells.KERNEL_LIMITS},
            "compiler_reason": "",
            "ncu": {kernel: COUNTERS},
        })  # fmt: skip
    return _head("kernels") | {"ncu": {"version": "2025.3.1.0", "reason": ""}, "cells": found} | changes


def timeline(**changes):
    """A timeline.json: of two designs, of which one packs letters in a part of its own."""
    designs = []
    for design, parts in (("fast", ("time_h2d", "time_kernel", "time_d2h")),
                          ("paper", ("time_h2d", "time_pack", "time_kernel", "time_d2h"))):  # fmt: skip
        spans = [
            {"part": part, "batch": batch, "begin_s": (batch + i) * 1e-3, "end_s": (batch + i + 0.9) * 1e-3}
            for batch in range(8)
            for i, part in enumerate(parts)
        ]
        designs.append({"design": design, "seconds": 0.0123, "calls": 5, "spans": spans})
    dataset = {"dataset": "uniform_150_e5", "pairs": 1_000_000, "scope": "cigar", "input": "pinned"}
    return _head("timeline") | {"designs": designs} | dataset | changes


def occupancy(**changes):
    """An occupancy.json: for 8 ms both batches' scores have all of the GPU, then for 2 ms one SM of four their way
    back."""
    kernels = [
        {"name": "affine_strips_2_3_1_traced", "warps": 160, "at_once": 80, "warps_at_work": [80.0] * 8 + [0.0] * 2},
        {"name": "affine_strips_back_2_3_1", "warps": 10, "at_once": 52, "warps_at_work": [0.0] * 8 + [13.0] * 2},
    ]
    batches = [{"batch": i, "pairs": 300 - 200 * i, "begin_s": 0.004 * i, "end_s": 0.006 + 0.004 * i} for i in range(2)]
    return _head("occupancy") | {
        "dataset": "pacbio_clr", "pairs": 400, "error": 0.15, "rescued": 0,
        "lengths_bp": {"shortest": 100, "mean": 3001.25, "longest": 24988}, "seconds": 0.0123,
        "seconds_without_stamps": 0.0119, "processors": 4, "bin_s": 1e-3, "kernels": kernels,
        "processors_at_work": [4.0] * 8 + [1.0] * 2, "load": [1.0] * 8 + [0.25] * 2, "kernels_s": [0.0, 0.01],
        "mean_load": 0.85, "mean_processors": 0.85, "batches": batches,
    } | changes  # fmt: skip


def write(path, content):
    """The path, as text, of the content as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return str(path)
