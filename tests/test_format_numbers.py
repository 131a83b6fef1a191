"""Numbers as tables, figures and the report print them."""

import pytest

from workflow.scripts.format_numbers import count, percent, significant


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.0123456, "0.0123"), (1.2345, "1.23"), (99.96, "100"), (12345.6, "12346")]
)
def test_significant(value, text):
    assert significant(value) == text


@pytest.mark.parametrize(
    ("fraction", "text"), [(1, "100 %"), (0.999999999, "99.9999 %"), (0.9987, "99.8 %"), (0.983, "98.3 %"), (0, "0 %")]
)
def test_percent_never_rounds_up_to_perfect(fraction, text):
    assert percent(fraction) == text


def test_count():
    assert [count(n) for n in (512, 20_000, 10**7, 1_500_000, 12_345)] == ["512", "20K", "10M", "1.5M", "12345"]
