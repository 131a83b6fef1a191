"""``python -m workflow.race.bandwidth``: the bandwidth between host and GPU, as JSON on stdout."""

import json
import time

import numpy as np

from workflow.race import gpu_probe

#: Bytes of a copy, and copies of which the fastest counts: the hardware's limit, not what others leave of it.
SIZE_BYTES = 1 << 28
COPIES = 5


def measure(size_bytes=SIZE_BYTES):
    """{"h2d_pinned", "d2h_pinned", "h2d_pageable", "d2h_pageable"}: GB/s (10**9 bytes) of copies of that size."""
    from numba import cuda

    stream = cuda.stream()
    there = cuda.device_array(size_bytes, np.uint8)
    found = {}
    for kind, host in (
        ("pinned", cuda.pinned_array(size_bytes, np.uint8)),
        ("pageable", np.empty(size_bytes, np.uint8)),
    ):
        host[:] = 1
        copies = {
            f"h2d_{kind}": lambda host=host: there.copy_to_device(host, stream=stream),
            f"d2h_{kind}": lambda host=host: there.copy_to_host(host, stream=stream),
        }
        for name, copy in copies.items():
            found[name] = size_bytes / min(_seconds(copy, stream) for _ in range(COPIES)) / 1e9
    return found


def _seconds(copy, stream):
    stream.synchronize()
    begin = time.perf_counter()
    copy()
    stream.synchronize()
    return time.perf_counter() - begin


def of_this_host():
    """measure() in a process of its own, rounded to 0.1 GB/s; None where it fails, as without numba-cuda.

    Each race asks anew: what else a host does changes it.
    """
    found = gpu_probe.ask("workflow.race.bandwidth")
    return found and {name: round(value, 1) for name, value in found.items()}


if __name__ == "__main__":
    print(json.dumps(measure()))
