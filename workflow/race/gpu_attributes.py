"""``python -m workflow.race.gpu_attributes``: what the CUDA driver tells of the first GPU, as JSON on stdout."""

import json
from functools import cache

from workflow.race import gpu_probe

#: Key of the host card -> the driver's CU_DEVICE_ATTRIBUTE_<name>.
ATTRIBUTES = {
    "sms": "MULTIPROCESSOR_COUNT",
    "warp_threads": "WARP_SIZE",
    "threads_per_sm": "MAX_THREADS_PER_MULTIPROCESSOR",
    "registers_per_sm": "MAX_REGISTERS_PER_MULTIPROCESSOR",
    "shared_bytes_per_sm": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "shared_bytes_per_block": "MAX_SHARED_MEMORY_PER_BLOCK",
    "shared_bytes_per_block_optin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "l2_bytes": "L2_CACHE_SIZE",
    "clock_khz": "CLOCK_RATE",
    "memory_clock_khz": "MEMORY_CLOCK_RATE",
    "memory_bus_bits": "GLOBAL_MEMORY_BUS_WIDTH",
}


def read(gpu):
    """{key: value} of a numba.cuda device: ATTRIBUTES as integers, and compute_capability as "9.0".

    An attribute that this driver or numba-cuda does not know is left out.
    """
    found = {"compute_capability": ".".join(map(str, gpu.compute_capability))}
    for key, name in ATTRIBUTES.items():
        try:
            found[key] = int(getattr(gpu, name))
        except Exception:  # the driver's errors are of several classes, and the other attributes stand without this one
            continue
    return found


@cache
def of_this_host():
    """read() in a process of its own; None where it fails."""
    return gpu_probe.ask("workflow.race.gpu_attributes")


if __name__ == "__main__":
    from numba import cuda

    print(json.dumps(read(cuda.get_current_device())))
