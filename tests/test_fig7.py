"""thesis Fig 7: sums of a round's parts, scaled to the paper's count, on recorded races; and why a host has none."""

import pytest
from click.testing import CliRunner
from PIL import Image

from tests.synthetic import CURRENT, SAMPLE
from tests.test_figures import check_text, words
from workflow.race import samples
from workflow.race.provenance import PROCEDURE
from workflow.scripts import plotting, ratios
from workflow.scripts.figures import thesis_fig7

PARTS = {"time_h2d": 0.02, "time_copies": 0.022, "time_compute": 0.013, "time_end_to_end_pinned": 0.03}
CARD = {"valid": True, "procedure": PROCEDURE, "host_card": {"gpus": [{"name": "NVIDIA H200"}]}}


@pytest.fixture
def race(tmp_path):
    """race(errors, ...) writes a race file of that many nominal errors and reads it."""

    def race(errors, parts=PARTS, factors=(1, 1, 1, 1, 1, 1), card=CARD, **changes):
        name = thesis_fig7.dataset(errors)
        shared = {"experiment": "thesis_fig7", "dataset": name, "tool": "wavebench-edit", "variant": "paper",
                  "host": "h200-16c", "lane": "lite", "pairs": 10**6, "pairs_total": 10**6,
                  "tool_source_hash": CURRENT["wavebench-edit", "paper"]}  # fmt: skip
        rows = [
            SAMPLE | shared | {"quantity": quantity, "round": number, "value_s": seconds * factor} | changes
            for number, factor in enumerate(factors, 1)
            for quantity, seconds in parts.items()
        ]
        path = tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}.parquet"
        samples.write(path, rows, card)
        return ratios.read([path])[0]

    return race


def test_data_sets_and_kernels_of_the_nominal_errors():
    assert [thesis_fig7.dataset(n) for n in thesis_fig7.ERRORS] == [
        "uniform_1000_e2", "uniform_1000_e3.5", "uniform_1000_e5", "uniform_1000_e7.5", "uniform_1000_e10"
    ]  # fmt: skip
    assert [thesis_fig7.kernel(n) for n in thesis_fig7.ERRORS] == ["E32", "E64", "E64", "E128", "E128"]


def test_a_column_is_the_median_over_the_rounds(race):
    columns, pairs = thesis_fig7.breakdown(race(20, factors=(1, 1, 2, 1, 1, 1), pairs=500_000, pairs_total=10**7))
    assert pairs == 500_000
    assert columns["copies"] == pytest.approx((0.044, 0.044, 0.088))
    assert columns["kernels"][0] == pytest.approx(0.026) and columns["total"][0] == pytest.approx(0.06)
    older = thesis_fig7.breakdown(race(20, parts={"time_h2d": 0.02, "time_d2h": 0.01, "time_kernel": 0.01}))[0]
    assert {name: median for name, (median, _, _) in older.items()} == {"copies": 0.02, "kernels": 0.01}
    apart = race(20, parts={"time_kernel": 0.001, "time_compute": 0.003}, factors=(1, 3, 9, 1, 3, 9))
    assert thesis_fig7.breakdown(apart)[0] == {"kernels": pytest.approx((0.009, 0.003, 0.027))}


def test_twins_other_tools_and_packed_input_are_not_shown(race):
    for changes in ({"twin": True}, {"variant": "fast"}, {"input": "packed2"}):
        assert thesis_fig7.breakdown(race(20, **changes)) == "not raced"


def test_no_column_where_the_answers_do_not_count(race):
    assert thesis_fig7.breakdown(race(20, recall_native=0.99)) == "wrong answers"
    assert thesis_fig7.breakdown(race(20, coverage=0.5)) == "refused 50 %"
    assert thesis_fig7.breakdown(race(20, status="out_of_memory", value_s=None)) == "out of memory"
    assert thesis_fig7.breakdown(None) == "not recorded"


def test_of_several_races_the_valid_one_nearest_to_the_papers_count_is_shown(race):
    full, lite = race(20, pairs_total=10**7, lane="full"), race(20)
    invalid = race(20, card=CARD | {"valid": False})
    other = race(20, pairs_total=10**5, tool_source_hash="old")
    assert thesis_fig7.shown([lite, full, invalid, other]) == {"h200-16c": {"uniform_1000_e2": lite}}
    assert thesis_fig7.shown([invalid, full])["h200-16c"]["uniform_1000_e2"] is full


@pytest.mark.parametrize("doubt", [{"tool_source_hash": "old"}, {"card": CARD | {"procedure": 1}}])
def test_an_outdated_race_is_shown_behind_a_current_one(race, doubt):
    current, outdated = race(20, pairs_total=10**5), race(20, **doubt)
    assert thesis_fig7.shown([current, outdated])["h200-16c"]["uniform_1000_e2"] is current


def test_the_figure_names_host_kernels_and_what_is_missing(race):
    figure = thesis_fig7.draw([race(n) for n in (20, 35, 50)] + [race(75, pairs=250_000), race(20, host="other")])
    told = words(figure)
    assert "recorded on h200-16c NVIDIA H200, lane lite, 2026-01-02" in told and "recorded on other" in told
    assert "75 errors: scaled from 250K pairs" in told and "not recorded" in told and "stale" not in told
    assert len(figure.axes[0].patches) == 3 * 4
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()][2:4] == ["50\nE64", "75\nE128"]
    heights = [bar.get_height() for bar in figure.axes[0].patches][:3]
    assert heights == pytest.approx([22, 13, 30])
    check_text(figure)


def test_pairs_that_the_gpu_left_to_the_cpu_are_said_where_a_column_is_drawn(race):
    wrong = race(35, rescued=9, recall_native=0.9)
    few = [race(50, rescued=0), race(75, rescued=12, pairs=250_000), race(100, rescued=3)]
    figure = thesis_fig7.draw([race(20), wrong, *few])
    assert "some pairs by the CPU: 75 errors (12 of 250000), 100 errors (3 of 1000000)" in words(figure)
    check_text(figure)
    figure = thesis_fig7.draw([race(n, rescued=12345, pairs=250_000) for n in thesis_fig7.ERRORS])
    assert "100 errors (12345 of 250000)" in words(figure)
    check_text(figure)
    assert "by the CPU" not in words(thesis_fig7.draw([race(20), wrong]))


def test_doubts_and_this_host_are_said(race):
    card = CARD | {"valid": False, "procedure": 1}
    figure = thesis_fig7.draw([race(20, tool_source_hash="old", card=card)], here="h200-16c")
    assert "this host h200-16c" in words(figure) and "stale; older way of measuring; race invalid" in words(figure)
    check_text(figure)
    figure = thesis_fig7.draw([race(20, parts={"time_end_to_end_pinned": 0.03})])
    assert "no time of its parts" in words(figure) and len(figure.axes[0].patches) == 1


def test_without_samples_it_says_so(tmp_path):
    assert CliRunner().invoke(thesis_fig7.main, ["--out", str(tmp_path / "f")]).exit_code == 0
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.width == round(plotting.ONE_COLUMN * 300)
    figure = thesis_fig7.draw([])
    assert "not measured yet: needs a host with a GPU" in words(figure)
    check_text(figure)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "x.parquet").write_text("no")
    run = CliRunner().invoke(thesis_fig7.main, [str(tmp_path / "x.parquet"), "--out", "unused"])
    assert run.exit_code == 2 and "x.parquet" in run.output and "Traceback" not in run.output
