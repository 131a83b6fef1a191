"""The canary: a fixed loop between the rounds, which shows whether the machine itself changed its pace."""

import time

from workflow.race import statistics


def seconds():
    """Seconds of the fixed loop."""
    begin = time.perf_counter()
    total = 0
    for i in range(60_000):
        total ^= i * 2654435761
    return time.perf_counter() - begin


def card(samples):
    """Median of the canary and its drift: median of the last third over that of the first third, less 1."""
    third = max(1, len(samples) // 3)
    median = statistics.median_interval(samples)[0]
    drift = statistics.median_interval(samples[-third:])[0] / statistics.median_interval(samples[:third])[0] - 1
    return {"median_s": median, "drift": drift, "samples": len(samples)}
