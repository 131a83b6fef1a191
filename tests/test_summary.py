"""The parts of the report's first page by themselves: what they count, what they leave out, and the page's parts."""

import re

import pytest
from click.testing import CliRunner

from tests.synthetic import CARD, measurement, race_rows, two_tools, write_measurements
from workflow.race import provenance, samples
from workflow.report import render, summary

#: Of a host on which the fast design of a GPU can be set beside its wire.
WIRED = CARD | {"host_card": {"gpus": [{"name": "Some GPU"}], "pcie_gb_s": {"h2d_pinned": 50.0, "d2h_pinned": 50.0}}}


@pytest.fixture
def races(tmp_path):
    """races((rows, card), ...): race files of these, read as the report does."""

    def races(*told):
        paths = [tmp_path / f"{number}.parquet" for number in range(len(told))]
        for path, (rows, card) in zip(paths, told, strict=True):
            samples.write(path, rows, card)
        return render.ratios.read(paths)

    return races


def fast(**changes):
    """Sample rows of our fast design on a GPU."""
    changes = {"host": "gpu", "quantity": "time_end_to_end_pinned", "pairs": 10**7, **changes}
    return race_rows("uniform_150_e5", {("wavebench-edit", "fast", 1): 0.054}, **changes)


def test_missing_cells_of_ours_are_counted_by_their_reason(tmp_path):
    cells = [
        "here,all refused: answered 0 of 9 pairs", "here,not in this lane", "recorded,not in this lane", "here,ok",
        "paper,timeout", "here,refused 93 %: answered 2", "here,refused 5 %: answered 8", "recorded,refused 2 %",
    ]  # fmt: skip
    for name, part in (("a.csv", cells[:4]), ("b.csv", cells[4:])):
        (tmp_path / name).write_text("\n".join(["source,status", *part]) + "\n")
    assert summary.missing([tmp_path / "a.csv", tmp_path / "b.csv"]) == [
        ("refused more than 1 % of the pairs", 3), ("not in this lane", 2), ("all refused", 1),
    ]  # fmt: skip


def test_a_host_tells_all_lanes_and_commits_and_its_first_and_last_day():
    told = [("kick", "a" * 40, "02"), ("lite", "b" * 40, "09"), ("kick", "b" * 40, "05")]
    (host,) = summary.hosts(
        [measurement(lane=lane, commit=commit, time_utc=f"2026-01-{day}T00:00:00Z") for lane, commit, day in told], []
    )
    assert host["lanes"] == ["kick", "lite"] and [commit[:6] for commit in host["commits"]] == ["a" * 6, "b" * 6]
    assert host["days"] == ["2026-01-02", "2026-01-09"]


def test_the_copies_of_another_host_are_not_told(races):
    speeds = {"a": 20.0, "b": 50.0}
    cards = [{"pcie_gb_s": dict.fromkeys(("h2d_pinned", "d2h_pinned"), speed)} for speed in speeds.values()]
    found = races(*((two_tools(host=h), CARD | {"host_card": card}) for h, card in zip(speeds, cards, strict=True)))
    told = [host["card"] for host in summary.hosts([measurement(host=host) for host in speeds], found)]
    assert [re.findall(r"[\d.]+", card) for card in told] == [["20", "20"], ["50", "50"]]


def test_this_host_is_told_before_recorded_ones():
    told = [measurement(host="a", source="recorded"), measurement(host="z"), measurement(host="b", source="recorded")]
    assert [host["name"] for host in summary.hosts(told, [])] == ["z", "a", "b"]


def test_a_card_tells_the_versions():
    card = {"cpu": "Some CPU", "python": "3.12.1", "numba": "0.61.0", "gpus": [{"name": "G", "driver": "1"}]}
    assert summary.card_text(card, []) == "Some CPU, G (driver 1), Python 3.12.1, numba 0.61.0"
    assert summary.card_text({}, []) == "no host card"


@pytest.mark.parametrize(("told", "clock"), [("1980", ", up to 1980 MHz"), ("[N/A]", ""), (None, "")])
def test_a_card_tells_the_clocks_that_are_known(told, clock):
    gpu = {"name": "G", "driver": "1", "clock_mhz": told}
    card = {"cpu": "Some CPU", "cores": 16, "clock_mhz": 2100, "gpus": [gpu]}
    assert summary.card_text(card, []) == f"Some CPU, 16 cores, 2100 MHz, G (driver 1{clock})"


def test_cells_without_a_time_are_not_counted_as_verified():
    silent = [measurement(status="timeout", median_s=None, recall_native=None), measurement(median_s=None)]
    told = summary.verification([measurement(verified=100), measurement(verified=7), *silent])
    assert (told["timed"], told["judged"], told["pairs"]) == (2, 2, 107)


def test_answers_of_a_cell_that_refused_every_pair_are_refused_ones():
    none = {"coverage": 0.0, "recall_native": None, "verified": 0}
    told = summary.verification([measurement(tool="ksw2", refused='{"over_limit": 5, "out_of_memory": 2}', **none)])
    assert told["refused"] == ["KSW2: out of memory, 2 answers", "KSW2: over limit, 5 answers"]


@pytest.mark.parametrize(
    ("drifts", "told", "noisy"),
    [([0.02, -0.101], "10 %", True), ([0.02, 0.1], "10 %", False), ([None], "not measured", False)],
)
def test_the_largest_drift_of_the_canary_tells_a_noisy_machine(races, drifts, told, noisy):
    cards = [CARD if drift is None else CARD | {"canary": {"drift": drift}} for drift in drifts]
    found = races(*((two_tools(host=f"host{number}"), card) for number, card in enumerate(cards)))
    assert (summary.validity(found)["drift"], summary.validity(found)["noisy"]) == (told, noisy)
    assert ("a noisy machine" in render.render([], [], [], found, {})) == noisy


def test_of_an_invalid_race_the_twins_that_were_uneven_are_told(races):
    even, uneven = ({"ratio": r, "low": r - 0.01, "high": r + 0.01, "even": r < 1.1} for r in (1.0, 1.3))
    invalid = CARD | {"valid": False, "twins": {"edlib score": even, "edlib cigar": uneven}}
    found = summary.validity(races((two_tools(host="a"), invalid), (two_tools(host="b"), CARD | {"valid": False})))
    assert found["invalid"] == [
        "thesis_tab1 uniform_150_e5 on a: 1.30× [1.29, 1.31] (edlib cigar)",
        "thesis_tab1 uniform_150_e5 on b: no twin",
    ]


@pytest.mark.parametrize(
    ("twins", "valid", "kind"),
    [((1.0, 0.99, 1.01), True, ' class="good"'), ((1.0, 0.5, 1.5), True, ""), ((1.3, 1.2, 1.4), False, ' class="bad"')],
)
def test_races_are_called_fair_where_all_were_shown_to_be(races, twins, valid, kind):
    twin = dict(zip(("ratio", "low", "high"), twins, strict=True)) | {"even": valid}
    page = render.render([], [], [], races((two_tools(), CARD | {"valid": valid, "twins": {"x": twin}})), {})
    assert f"<span{kind}>{int(not valid)} of 1 race found uneven</span>" in page


def test_our_kernels_stand_on_the_most_threads_that_were_raced(races):
    (told,) = summary.standing(races(([*two_tools(1), *two_tools(4)], CARD)))
    assert told["threads"] == "4 threads" and len(told["rows"]) == 1


def test_data_sets_without_a_peer_in_a_scope_are_told(races):
    alone = [row for row in two_tools(scope="score") if row["tool"] != "edlib"]
    found = races(([*two_tools(), *alone], CARD))
    (told,) = summary.standing(found)
    assert told["without"] == ["uniform_150_e5 (score only)"]
    assert told["scopes"] == ["with CIGAR faster on 1, slower on 0 of 1 data set"]
    assert "No ratio: uniform_150_e5 (score only)." in render.render([], [], [], found, {})


def test_stale_ratios_and_times_are_marked_on_the_page(races):
    found = races((two_tools(tool_source_hash="old"), CARD), (fast(), WIRED))
    measured = [measurement(stale=True)]
    page = render.render([], [], measured, found, {})
    assert page.count('<span class="bad">some stale</span>') == 1
    assert "<li>some-cpu-2c: Edlib (1 of 1 cell)</li>" in page


def test_the_fast_design_of_this_host_stands_first_and_its_doubts_are_told(races):
    older = WIRED | {"procedure": provenance.PROCEDURE - 1}
    found = races(
        (fast(host="a", tool_source_hash="old"), WIRED), (fast(host="b"), older), (fast(host="c"), WIRED),
    )  # fmt: skip
    told = summary.on_gpu(found, here={"c"})
    assert [(group["host"], group["stale"], group["older"]) for group in told] == [
        ("c", False, False), ("a", True, False), ("b", False, True),
    ]  # fmt: skip


def test_on_the_page_this_host_stands_first_and_its_recorded_races_apart(races, tmp_path):
    recorded = tmp_path / "b/kick/thesis_tab1/uniform_150_e5.parquet"
    recorded.parent.mkdir(parents=True)
    samples.write(recorded, two_tools(host="b", time_utc="2026-01-01T00:00:00Z"), CARD)
    on_gpu = [(fast(host=host, experiment="thesis_fig7"), WIRED) for host in "ab"]
    found = races(*((two_tools(host=host), CARD) for host in "ab"), *on_gpu)
    page = render.render([], [], [measurement(host="b")], [*found, *render.ratios.read([recorded])], {})
    assert re.findall(r"<b>thesis_tab1</b> on ([^,:]*)", page) == ["b", "a", "b (another run)"]
    assert re.findall(r"<b>thesis_fig7</b> on ([^,:]*)", page) == ["b", "a"]


def page_of(folder, id_):
    (folder / f"{id_}.html").write_text(f'<article id="{id_}"></article>')
    (folder / f"{id_}.csv").write_text("source,status\n")
    return folder / f"{id_}.html"


def test_tables_stand_by_number_before_figures_and_aliases_of_what_is_shown_beside_them(tmp_path):
    pages = [page_of(tmp_path, id_) for id_ in ("thesis_tab10", "ewfa_tab4", "thesis_tab9")]
    (tmp_path / "thesis_fig3.svg").write_text("<svg/>")
    aliases = {"ewfa_tab1": "thesis_tab9", "ewfa_tab2": "thesis_tab4", "ewfa_fig2": "thesis_fig3"}
    found = render.papers(pages, [tmp_path / "thesis_fig3.svg"], aliases)
    assert [(paper["id"], [item["id"] for item in paper["entries"]], paper["aliases"]) for paper in found] == [
        ("thesis", ["thesis_tab9", "thesis_tab10", "thesis_fig3"], []),
        ("ewfa", ["ewfa_tab4"], [("ewfa_tab1", "thesis_tab9"), ("ewfa_fig2", "thesis_fig3")]),
    ]
    page = render.render(pages, [tmp_path / "thesis_fig3.svg"], [], [], aliases)
    assert 'ewfa_tab1 is <a href="#thesis_tab9">thesis_tab9</a>; ewfa_fig2 is' in page and "ewfa_tab2" not in page


def test_a_picture_that_does_not_tell_its_width_is_shown_as_one_column(tmp_path):
    (tmp_path / "x.svg").write_text('<svg viewBox="0 0 9 9"><rect width="99pt"/></svg>')
    assert render.shown_width(tmp_path / "x.svg") == 460


def run(folder, *arguments):
    """The command on a folder of collected measurements, to a page in a folder that is not there yet."""
    write_measurements(folder / "m.parquet", [measurement()])
    told = {"tables": folder, "figures": folder, "collected": folder / "m.parquet", "out": folder / "new/report.html"}
    return CliRunner().invoke(render.main, [*(f"--{name}={value}" for name, value in told.items()), *arguments])


def test_the_command_shows_recorded_races_and_needs_no_aliases(tmp_path):
    for name in ("samples", "recorded"):
        (tmp_path / name).mkdir()
        samples.write(tmp_path / name / "r.parquet", two_tools(host=name), CARD)
    (tmp_path / "aliases.yaml").write_text("# none\n")
    folders = [f"--{name}={tmp_path / name}" for name in ("samples", "recorded")]
    done = run(tmp_path, *folders, f"--aliases={tmp_path / 'aliases.yaml'}")
    assert done.exit_code == 0, done.output
    hosts = re.findall(r"<b>thesis_tab1</b> on (\w+),", (tmp_path / "new/report.html").read_text())
    assert sorted(hosts) == ["recorded", "samples"]


def test_a_table_that_is_not_there_is_one_message(tmp_path):
    done = run(tmp_path, "--table=thesis_tab1")
    assert done.exit_code == 2 and re.fullmatch(r"error: .*No such file.*/thesis_tab1\..*\n", done.stderr)
    assert not (tmp_path / "new").exists()
