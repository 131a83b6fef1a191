"""Medians, their intervals and ratios: few rounds, no assumed distribution where it can be avoided."""

import math

import numpy as np

#: Two-sided 99.9 % points of Student's t for 4 .. 30 degrees of freedom; the normal point serves beyond.
_T_999 = (
    8.610, 6.869, 5.959, 5.408, 5.041, 4.781, 4.587, 4.437, 4.318, 4.221, 4.140, 4.073, 4.015, 3.965, 3.922,
    3.883, 3.850, 3.819, 3.792, 3.768, 3.745, 3.725, 3.707, 3.690, 3.674, 3.659, 3.646,
)  # fmt: skip
_NORMAL_999 = 3.291
#: Of a median's 95 % interval, on either side.
_TAIL = 0.025

#: A twin is uneven when the ratio of the two medians differs from 1 by more than this and its interval excludes 1.
TWIN_TOLERANCE = 0.03


def order_statistic_ranks(n):
    """0-based ranks (low, high) of the narrowest symmetric interval of the median with at least 95 % confidence.

    The number of values under the median is binomial(n, 1/2). With fewer than 6 values no interval reaches 95 %:
    then the whole range is given, its coverage being 1 - 2^(1 - n).
    """
    below, rank = 0.0, 0
    for j in range(n // 2):
        below += math.comb(n, j) / 2**n
        if below > _TAIL:
            break
        rank = j
    return rank, n - 1 - rank


def median_interval(values):
    """(median, low, high): the median of values and its distribution-free 95 % confidence interval."""
    ordered = np.sort(np.asarray(values, float))
    low, high = order_statistic_ranks(len(ordered))
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])


def relative_half_width(values):
    """Half the width of the 95 % interval of the median over the median."""
    median, low, high = median_interval(values)
    return (high - low) / 2 / median if median else 0.0


def ratio_interval(numerators, denominators):
    """(median, low, high) of the ratios taken round by round: only for times of one race."""
    return median_interval(np.asarray(numerators, float) / np.asarray(denominators, float))


def twin_verdict(times, twin_times):
    """Whether the same tool, run twice under two names in the same rounds, was treated evenly.

    times, twin_times: seconds, round by round. Returns a dict: ratio (median), low, high (the 99.9 % interval of
    the mean log ratio by Student's t), even (bool). Uneven when the interval excludes 1 and the medians differ by
    more than TWIN_TOLERANCE.
    """
    logs = np.log(np.asarray(twin_times, float) / np.asarray(times, float))
    degrees = len(logs) - 1
    if degrees < 4:
        raise ValueError(f"a twin needs at least 5 rounds, not {degrees + 1}")
    point = _T_999[degrees - 4] if degrees <= 30 else _NORMAL_999
    half = point * logs.std(ddof=1) / math.sqrt(len(logs))
    low, high = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
    apart = abs(float(np.median(twin_times)) / float(np.median(times)) - 1)
    even = (low <= 1 <= high) or apart <= TWIN_TOLERANCE
    return {"ratio": float(np.exp(np.median(logs))), "low": low, "high": high, "even": bool(even)}
