"""Statistics of races: medians and their intervals, twins, half widths."""

import math

import numpy as np
import pytest

from workflow.race import statistics


def test_median_interval_is_of_order_statistics():
    values = [5.0, 1, 4, 2, 3, 6]
    assert statistics.median_interval(values) == (3.5, 1, 6)
    assert statistics.order_statistic_ranks(12) == (2, 9)


def test_the_ranks_are_the_narrowest_of_95_percent():
    def covered(n, low, high):
        return sum(math.comb(n, under) for under in range(low + 1, high + 1)) / 2**n

    for n in range(6, 60):
        low, high = statistics.order_statistic_ranks(n)
        assert low + high == n - 1 and covered(n, low, high) >= 0.95 > covered(n, low + 1, high - 1)


def test_interval_covers_the_median_as_often_as_it_says():
    rng = np.random.default_rng(3)
    draws = rng.exponential(size=(4000, 9))
    inside = [low <= np.log(2) <= high for _, low, high in map(statistics.median_interval, draws)]
    assert 0.95 <= np.mean(inside) <= 0.995


def test_twin_verdict():
    rng = np.random.default_rng(5)
    even = statistics.twin_verdict(1 + rng.normal(0, 0.01, 8), 1 + rng.normal(0, 0.01, 8))
    slow = statistics.twin_verdict(1 + rng.normal(0, 0.01, 8), 1.1 + rng.normal(0, 0.01, 8))
    near = statistics.twin_verdict(np.full(8, 1.0), np.full(8, 1.02))
    assert even["even"] and near["even"] and not slow["even"]
    with pytest.raises(ValueError, match="5 rounds"):
        statistics.twin_verdict([1, 1], [1, 1])


#: Deviations from the mean log ratio, their median and standard deviation, and t's 99.9 % point of so many rounds.
TWINS = [
    ([-1, -1, -1, -1, 4], -1, math.sqrt(5), 8.610),
    ([-1, 1] * 6, 0, math.sqrt(12 / 11), 4.437),
    ([-1, 1] * 15 + [0], 0, 1.0, 3.646),
    ([-1, 1] * 20, 0, math.sqrt(40 / 39), 3.291),
]


@pytest.mark.parametrize(("deviations", "median", "spread", "point"), TWINS)
@pytest.mark.parametrize("mean", [0.5, -0.5])
def test_twin_verdict_gives_the_ratio_and_the_interval_of_its_logarithm(deviations, median, spread, point, mean):
    times = np.geomspace(1, 2, len(deviations))
    found = statistics.twin_verdict(times, times * np.exp(mean + 0.05 * np.array(deviations)))
    half = 0.05 * point * spread / math.sqrt(len(deviations))
    logs = {"ratio": mean + 0.05 * median, "low": mean - half, "high": mean + half}
    assert found == pytest.approx({name: math.exp(log) for name, log in logs.items()} | {"even": False}, rel=1e-9)


@pytest.mark.parametrize(("ratio", "even"), [(0.969, False), (0.971, True), (1.029, True), (1.031, False)])
def test_a_twin_is_uneven_from_the_tolerance_on(ratio, even):
    assert statistics.twin_verdict(np.full(8, 2.0), np.full(8, 2 * ratio))["even"] is even


def test_a_twin_is_judged_by_the_medians_of_its_rounds():
    times, twin = np.array([1.0] * 7 + [100]), np.array([1.02] * 7 + [104])
    found = statistics.twin_verdict(times, twin)
    assert found["low"] > 1 and found["even"]


def test_a_twin_is_even_whose_interval_holds_1_however_far_its_medians():
    assert statistics.twin_verdict(np.ones(5), [0.5, 0.6, 1.2, 1.3, 2.0])["even"] is True


def test_points_of_students_t_hold_999_of_1000():
    for degrees, point in enumerate(statistics._T_999, 4):
        constant = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2) / math.sqrt(degrees * math.pi)
        at = np.linspace(-point, point, 20_001)
        density = constant * (1 + at**2 / degrees) ** (-(degrees + 1) / 2)
        assert np.trapezoid(density, at) == pytest.approx(0.999, abs=1.5e-6)
    assert degrees == 30


def test_relative_half_width_is_of_the_interval_over_the_median():
    assert statistics.relative_half_width([5.0, 1, 4, 2, 3, 6]) == pytest.approx(2.5 / 3.5)
    assert statistics.relative_half_width([0.0] * 6) == 0
