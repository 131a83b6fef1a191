"""Times of a data set's first pairs are scaled by cells, where those of all pairs are known."""

import pyarrow as pa
import pytest

from tests.synthetic import measurement
from workflow.scripts import scaling


@pytest.mark.parametrize(
    ("card", "pairs", "told"),
    [({"data": {"cells": 7.0}}, [1, 4], 7.0), ({}, [1, 4], 40.0), ({"data": {}}, [1, 2], None), ({}, [0], None)],
)
def test_cells_of_a_data_set_are_told_by_its_card_or_by_a_tool_that_took_all_of_it(card, pairs, told):
    table = pa.table({"pairs": pairs, "pairs_total": [4] * len(pairs), "cells": [10.0 * n for n in pairs]})
    assert scaling.data_cells(table, card) == told


def test_pairs_count_by_their_cells():
    """The first three mapped reads of 148 may have a 25th of the mean one's letters squared."""
    short = measurement(pairs=3, pairs_total=148, cells=3 * 1000.0, data_cells=148 * 25_000.0)
    assert scaling.mean_pairs(short) == pytest.approx(3 * 1001 / 25_001)
    assert scaling.mean_pairs(short | {"pairs": 148, "cells": 148 * 25_000.0}) == pytest.approx(148)
    assert scaling.mean_pairs(short | {"data_cells": None}) == 3


def test_pairs_without_letters_count_too():
    empty = measurement(pairs=3, pairs_total=12, cells=0.0, data_cells=0.0)
    assert scaling.mean_pairs(empty) == 3
