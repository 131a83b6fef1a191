"""The report: one offline page that says the truth in its first lines."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from tests import synthetic
from tests.synthetic import collect, measurement, race_rows, two_tools, write_measurements
from workflow.race import provenance, samples
from workflow.report import render, summary
from workflow.scripts import table_html
from workflow.scripts.figures import thesis_fig3
from workflow.scripts.plotting import save
from workflow.scripts.tables import thesis_tab1

ROOT = Path(__file__).resolve().parents[1]
CARD = synthetic.CARD | {"host_card": {"cpu": "Some CPU", "cores": 2, "memory_gib": 8.0, "gpus": []}}


@pytest.fixture
def report(tmp_path):
    """report(rows, card) renders the page of a race's sample rows and gives its text."""

    def report(rows, card=CARD, **changes):
        (tmp_path / "samples").mkdir()
        samples.write(tmp_path / "samples" / "r.parquet", rows, card)
        write_measurements(tmp_path / "m.parquet", collect(rows, **changes))
        arguments = {
            "measurements": tmp_path / "m.parquet",
            "paper": ROOT / "config/papers/thesis_tab1.csv",
            "config": ROOT / "config/experiments/thesis_tab1.yaml",
            "lane": ROOT / "config/lanes/kick.yaml",
            "out": tmp_path / "tables" / "thesis_tab1",
        }
        run = CliRunner().invoke(thesis_tab1.main, [f"--{name}={value}" for name, value in arguments.items()])
        assert run.exit_code == 0, run.output
        save(thesis_fig3.draw(), tmp_path / "figures" / "thesis_fig3")
        (tmp_path / "tables" / "thesis_tab2.html").write_text("left from another run")
        run = CliRunner().invoke(render.main, [
            f"--tables={tmp_path / 'tables'}", f"--figures={tmp_path / 'figures'}", f"--out={tmp_path / 'report.html'}",
            f"--collected={tmp_path / 'm.parquet'}", f"--samples={tmp_path / 'samples'}",
            f"--aliases={ROOT / 'config/aliases.yaml'}", "--table=thesis_tab1", "--figure=thesis_fig3",
        ])  # fmt: skip
        assert run.exit_code == 0, run.output
        return (tmp_path / "report.html").read_text()

    return report


def plain(page):
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.split("</style>", 1)[1]))


def test_the_page_is_offline_and_whole(report):
    page = report(two_tools())
    links = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert links and all(link.startswith(("#", "data:image/")) for link in links)
    assert "@import" not in page and "url(" not in page.split("</style>")[0]
    assert {link[1:] for link in links if link.startswith("#")} <= set(re.findall(r'id="([^"]+)"', page))
    assert page.count("<article") == page.count("</article>") == 1 and page.count("<figure ") == 1
    assert "snakemake results/tables/thesis_tab1.md" in page and "snakemake results/figures/thesis_fig3.svg" in page


def test_the_summary_says_what_was_run_and_how_we_stand(report):
    words = plain(report(two_tools()))
    assert "some-cpu-2c (this host): Some CPU, 2 cores, 8.0 GiB memory, no GPU" in words
    assert "Lane kick, 1 race, 2026-01-02, commit 0123456789" in words
    assert "Every tool that claims exactness has recall 1" in words and "40,000 answers checked" in words
    assert "0 of 1 race found uneven ." in words and "some-cpu-2c: 0 even, 1 without a twin" in words
    assert "thesis_tab1 on some-cpu-2c, 2 threads: with CIGAR faster on 1, slower on 0 of 1 data set." in words
    assert re.search(r"with CIGAR uniform_150_e5 Edlib (2\.9|3\.0)\d?× \[", words) and "stale." not in words
    assert "no GPU (" in words and "not in this lane (" in words
    assert "older way ." not in words and "another way" not in words


def test_wrong_answers_and_invalid_races_come_first(report):
    twins = {"wavebench-wfa:cpu cigar": {"ratio": 1.2, "low": 1.15, "high": 1.25, "even": False}}
    words = plain(report(two_tools(recall_native=0.5), {**CARD, "valid": False, "twins": twins}, race_valid=False))
    assert "2 cells with wrong answers" in words
    assert "Edlib on uniform_150_e5 (cigar, 2 threads, some-cpu-2c, recall 50 %): time struck out" in words
    assert "1 of 1 race found uneven" in words
    assert "thesis_tab1 uniform_150_e5 on some-cpu-2c: 1.20× [1.15, 1.25] (wavebench-wfa:cpu cigar)" in words
    assert "thesis_tab1 on some-cpu-2c: no ratio; 1 invalid race left out ." in words
    assert "recall 1 in" not in words


def test_an_easier_problem_is_no_peer(tmp_path):
    rows = two_tools(experiment="thesis_tab8", metric="affine", recall_affine=0.7)
    samples.write(tmp_path / "r.parquet", rows, CARD)
    assert summary.standing(render.ratios.read([tmp_path / "r.parquet"])) == []


def test_edit_distance_is_no_peer_where_it_happens_to_find_the_optima(tmp_path):
    seconds = {("wavebench-auto", "cpu", 1): 1.0, ("edlib", "", 1): 3.0, ("ksw2", "", 1): 9.0}
    affine = {"experiment": "thesis_tab8", "metric": "affine", "penalties": "4,6,2", "recall_affine": 1.0}
    samples.write(tmp_path / "r.parquet", race_rows("uniform_150_e5", seconds, **affine), CARD)
    (told,) = summary.standing(render.ratios.read([tmp_path / "r.parquet"]))
    assert [row[2] for row in told["rows"]] == ["KSW2"]


def test_our_wrong_answers_are_not_faster(tmp_path):
    wrong = race_rows("uniform_150_e5", {("wavebench-auto", "cpu", 1): 1.0}, recall_native=0.5)
    samples.write(tmp_path / "r.parquet", [*wrong, *race_rows("uniform_150_e5", {("edlib", "", 1): 3.0})], CARD)
    assert summary.standing(render.ratios.read([tmp_path / "r.parquet"])) == []


def test_answers_are_counted_once_however_many_quantities_their_run_has():
    further = [{"quantity": name, "failing_pairs": None} for name in ("time_kernel", "time_h2d")]
    times = [{"quantity": "time_end_to_end_pinned"}, *further]
    rows = [row for one in times for row in race_rows("uniform_150_e5", {("wavebench-edit", "fast", 1): 1.0}, **one)]
    told = summary.verification([collected | one for one in times for collected in collect(rows[:8])])
    assert (told["timed"], told["judged"]) == (1, 1) and told["pairs"] == rows[0]["verified"] > 0


def test_the_twins_of_every_race_are_told(tmp_path):
    def write(name, **intervals):
        twins = {k: {"ratio": r, "low": low, "high": high, "even": True} for k, (r, low, high) in intervals.items()}
        card = CARD | {"twins": twins, "canary": {"drift": -0.02}}
        samples.write(tmp_path / name, two_tools(race_id=name), card)
        return tmp_path / name

    close = write("a.parquet", score=(1.01, 0.95, 1.09), cigar=(1.0, 0.91, 1.1))
    wide = write("b.parquet", score=(1.0, 0.99, 1.01), cigar=(0.8, 0.5, 1.2))
    told = summary.validity(render.ratios.read([close, wide, wide]))  # one that lies in two folders counts once
    assert (told["uneven"], told["unknown"], told["drift"]) == (0, 1, "2.0 %")
    assert told["told"] == ["some-cpu-2c: 1 even, 1 too noisy to tell"]
    assert told["widest"] == "0.80× [0.50, 1.20] (cigar, thesis_tab1 uniform_150_e5 on some-cpu-2c)"


def test_this_host_stands_first_and_stale_ratios_say_so(tmp_path):
    samples.write(tmp_path / "a.parquet", two_tools(host="a"), CARD)
    samples.write(tmp_path / "b.parquet", two_tools(host="b", tool_source_hash="old"), CARD)
    found = summary.standing(render.ratios.read([tmp_path / "a.parquet", tmp_path / "b.parquet"]), here={"b"})
    assert [(group["host"], group["stale"]) for group in found] == [("b", True), ("a", False)]
    assert found[0]["rows"][0][-1].endswith("] stale") and found[1]["rows"][0][-1].endswith("]")


def test_the_fast_design_stands_beside_what_its_letters_need(tmp_path, report):
    card = CARD | {"host_card": {"gpus": [{"name": "Some GPU"}], "pcie_gb_s": {"h2d_pinned": 50.0, "d2h_pinned": 50.0}}}
    common = {"host": "gpu", "quantity": "time_end_to_end_pinned", "pairs": 10**7, "threads": 1}

    def race(dataset, seconds, card=card, variant="fast", **changes):
        rows = race_rows(dataset, {("wavebench-edit", variant, 1): seconds}, **{**common, **changes})
        samples.write(tmp_path / f"{dataset}.parquet", rows, card)
        return tmp_path / f"{dataset}.parquet"

    kept = [race("uniform_150_e5", 0.054), race("uniform_300_e5", 0.24, length_bp=300)]
    left = [
        race("uniform_150_e2", 9, variant="paper"), race("uniform_1000_e5", 9, recall_native=0.9),
        race("uniform_150_e10", 9, card=card | {"valid": False}), race("nanopore", 9, dataset_model="nanopore"),
        race("uniform_300_e2", 9, card=CARD), race("uniform_300_e10", 9, quantity="time_end_to_end_packed"),
        race("uniform_1000_e2", 9, twin=True), race("uniform_10000_e2", 9, coverage=0.9),
        race("uniform_10000_e5", 9, rescued=1),
    ]  # fmt: skip
    (found,) = summary.on_gpu(render.ratios.read([*kept, *left]))
    assert found == {
        "experiment": "thesis_tab1", "host": "gpu", "stale": False, "older": False,
        "scopes": ["with CIGAR 0.90 to 2.0 × on 2 data sets"],
    }  # fmt: skip
    words = plain(report(race_rows("uniform_150_e5", {("wavebench-edit", "fast", 1): 0.054}, **common), card))
    assert "thesis_tab1 on gpu: with CIGAR 0.90 × on 1 data set." in words


def test_the_fast_design_counts_on_its_most_pairs_alone(tmp_path):
    host_card = {"gpus": [{"name": "Some GPU"}], "pcie_gb_s": {"h2d_pinned": 50.0, "d2h_pinned": 50.0}}
    rows = [
        row
        for pairs, seconds in ((10**5, 0.009), (10**7, 0.054), (10**6, 0.02))
        for row in race_rows("uniform_150_e5", {("wavebench-edit", "fast", 1): seconds}, host="gpu", pairs=pairs,
                             quantity="time_end_to_end_pinned")
    ]  # fmt: skip
    samples.write(tmp_path / "r.parquet", rows, CARD | {"host_card": host_card})
    (found,) = summary.on_gpu(render.ratios.read([tmp_path / "r.parquet"]))
    assert found["scopes"] == ["with CIGAR 0.90 × on 1 data set"]


def test_races_measured_in_an_older_way_are_told_by_host_and_change(tmp_path, report):
    now = provenance.PROCEDURE
    cards = {"a": CARD, "b": CARD | {"procedure": now - 1}, "c": {k: v for k, v in CARD.items() if k != "procedure"}}
    paths = [tmp_path / f"{host}.parquet" for host in cards]
    for path, (host, card) in zip(paths, cards.items(), strict=True):
        samples.write(path, two_tools(host=host), card)
    samples.write(tmp_path / "more.parquet", two_tools(host="b", race_id="another"), cards["b"])
    races = render.ratios.read([*paths, tmp_path / "more.parquet"])
    assert summary.validity(races)["older"] == [
        f"2 races on b: older way of measuring (procedure {now - 1}, now {now})",
        f"1 race on c: older way of measuring (procedure not recorded, now {now})",
    ]
    assert [(group["host"], group["older"]) for group in summary.standing(races)] == [
        ("a", False), ("b", True), ("c", True),
    ]  # fmt: skip
    words = plain(report(two_tools(), CARD | {"procedure": 1}))
    assert "not to be set beside its own races: 1 race on some-cpu-2c: older way of measuring (procedure 1," in words
    assert "slower on 0 of 1 data set; some measured in an older way ." in words


def test_a_card_tells_the_bandwidths_measured_beside_all_races():
    copies = [{"h2d_pinned": inward, "d2h_pinned": 55.4, "h2d_pageable": 10.7} for inward in (55.51, 48.72, 52.3)]
    card = {"cpu": "Some CPU", "gpus": [{"name": "Some GPU", "driver": "1"}], "pcie_gb_s": copies[0]}
    told = "pinned copies at 48.7 to 55.5 GB/s in and 55.4 out, as measured beside its races"
    assert summary.card_text(card, copies) == f"Some CPU, Some GPU (driver 1), {told}"


def copies(inward):
    return {"pcie_gb_s": {"h2d_pinned": inward, "d2h_pinned": 55.4}}


def test_of_a_hosts_cards_the_newest_with_what_was_measured_is_shown(tmp_path):
    cards = {"02": {"cpu": "Old"} | copies(50.0), "03": {"cpu": "Shown"} | copies(55.5), "04": {"cpu": "Newest"}}
    for day, card in cards.items():
        rows = two_tools(race_id=day, time_utc=f"2026-01-{day}T00:00:00Z")
        samples.write(tmp_path / f"{day}.parquet", rows, CARD | {"host_card": card})
    races = render.ratios.read(sorted(tmp_path.glob("*.parquet"), reverse=True))
    (host,) = summary.hosts([measurement()], races)
    told = "pinned copies at 50 to 55.5 GB/s in and 55.4 out, as measured beside its races"
    assert host["card"] == f"Shown, {told}, no GPU"


def test_machines_of_a_host_are_counted(report):
    told = "1 race (on which machine of its kind each ran is not recorded), "
    assert told in plain(report(two_tools(), machine=""))
    one, other = (measurement(race_id=code, machine=code) for code in ("a", "b"))
    (host,) = summary.hosts([one, other, one], [])
    assert host["machines"] == "they ran on 2 machines of its kind" and host["races"] == "2 races"


def test_races_of_data_sets_of_the_same_content_are_counted_each():
    (host,) = summary.hosts([measurement(dataset=name) for name in ("uniform_150_e5", "real_alike")], [])
    assert host["races"] == "2 races"


def test_nothing_measured_is_said_plainly():
    page = render.render([], [], [], [], {})
    assert "Nothing has been measured yet" in page and "No races yet" in page


def test_refused_answers_are_counted():
    found = summary.verification([measurement(threads=n, refused='{"over_limit": 7}') for n in (1, 2)])
    assert found["refused"] == ["Edlib: over limit, 14 answers"]


def test_a_pair_that_is_refused_on_one_and_on_more_threads_is_not_told_as_two_pairs(report):
    words = plain(report(two_tools(refused='{"over_limit": 7}')))
    assert "Answers refused, over all cells: Edlib: over limit, 7 answers;" in words and "Refused pairs" not in words


def test_twins_and_smaller_subsets_are_not_counted():
    assert summary.verification([measurement(), measurement(main=False)])["timed"] == 1


def test_stale_cells_are_counted_by_host_and_tool():
    of_a = [measurement(host="a", stale=stale) for stale in (True, True, False)]
    of_b = [measurement(host="b", stale=stale, tool="ksw2") for stale in (True, False)]
    told = summary.verification([*of_a, *of_b, measurement(host="c"), measurement(host="a", tool="ksw2", stale=True)])
    assert told["stale"] == ["a: Edlib (2 of 3 cells); KSW2 (1 of 1 cell)", "b: KSW2 (1 of 2 cells)"]
    assert summary.verification([measurement()])["stale"] == []


def test_a_heuristic_that_misses_optima_is_not_called_wrong():
    missed = {"recall_native": 0.9, "scope": "score"}
    told = summary.verification([measurement(**missed, exact=False), measurement(**missed, tool="ksw2")])
    assert told["wrong"] == ["KSW2 on uniform_150_e5 (score, 1 thread, some-cpu-2c, recall 90 %)"]


def test_a_ratio_whose_interval_holds_1_is_neither_faster_nor_slower():
    intervals = [(0.9, 1.1, 1.3), (0.8, 0.9, 1.1), (1.1, 1.2, 1.3), (0.7, 0.8, 0.9)]
    best = [SimpleNamespace(low=low, median=median, high=high) for low, median, high in intervals]
    assert summary._tally(best) == "faster on 1, slower on 1, neither on 2 of 4 data sets"


def test_of_several_races_of_a_data_set_the_one_that_tables_show_counts(tmp_path):
    samples.write(tmp_path / "a.parquet", two_tools(), CARD)
    samples.write(tmp_path / "b.parquet", two_tools(race_id="larger", lane="lite", pairs_total=10**6), CARD)
    (told,) = summary.standing(render.ratios.read([tmp_path / "a.parquet", tmp_path / "b.parquet"]))
    assert told["scopes"] == ["with CIGAR faster on 1, slower on 0 of 1 data set"]


def test_cells_in_which_all_was_refused_are_counted(report):
    nothing = measurement(tool="ksw2", coverage=0.0, recall_native=None, verified=0, refused='{"over_limit": 20000}')
    assert summary.verification([measurement(), nothing])["refused_all"] == 1
    rows = two_tools()
    rows += [row | {"tool": "ksw2", "coverage": 0.0, "recall_native": None, "verified": 0} for row in rows[:1]]
    assert "of 3 timed ones, of which 1 refused every pair" in plain(report(rows))


def test_answers_that_could_not_be_checked_are_told(report):
    assert summary.verification([measurement()])["unverified"] == []
    words = plain(report(two_tools(verified=19_000)))
    assert "which are not counted: Edlib on uniform_150_e5 (19000 of 20000 answers verified); wavebench WFA" in words


def test_a_race_file_in_the_place_of_collected_measurements_is_named(tmp_path):
    race = tmp_path / "race.parquet"
    samples.write(race, two_tools(), CARD)
    run = CliRunner().invoke(render.main, [
        f"--tables={tmp_path}", f"--figures={tmp_path}", f"--collected={race}", f"--out={tmp_path / 'report.html'}",
    ])  # fmt: skip
    assert run.exit_code == 2 and f"{race}: holds no collected measurements: column 'median_s' is" in run.output


def test_a_foreign_page_is_named(tmp_path):
    (tmp_path / "thesis_tab1.html").write_text(table_html.page("x", "no table"))
    with pytest.raises(ValueError, match=r"thesis_tab1\.html"):
        render.article(tmp_path / "thesis_tab1.html")


def test_a_figure_of_a_tables_name_has_an_anchor_of_its_own(tmp_path):
    (tmp_path / "cpu_ratio.html").write_text('<article id="cpu_ratio"></article>')
    (tmp_path / "cpu_ratio.csv").write_text("source,status\n")
    (tmp_path / "cpu_ratio.svg").write_text("<svg/>")
    page = render.render([tmp_path / "cpu_ratio.html"], [tmp_path / "cpu_ratio.svg"], [], [], {})
    ids = re.findall(r'id="(cpu[^"]*)"', page)
    assert sorted(ids) == ["cpu", "cpu_ratio", "cpu_ratio_figure"] and "CPU: our kernels and the native peers" in page
    assert re.findall(r'href="#(cpu[^"]*)">([^<]+)<', page) == [
        ("cpu_ratio", "CPU ratio"), ("cpu_ratio_figure", "CPU ratio, figure"),
    ]  # fmt: skip
    assert "snakemake results/figures/cpu_ratio.svg" in page and "snakemake results/tables/cpu_ratio.md" in page


@pytest.mark.parametrize(("points", "pixels"), [("252", 460), ("518.4", 946)])
def test_figures_are_shown_at_one_scale(tmp_path, points, pixels):
    (tmp_path / "cpu_ratio.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{points}pt"/>')
    page = render.render([], [tmp_path / "cpu_ratio.svg"], [], [], {})
    assert f'<figure id="cpu_ratio" style="width: {pixels}px">' in page


def test_names_and_order():
    assert render.name_of("thesis_fig10") == "thesis Fig 10" and render.name_of("cpu_ratio") == "CPU ratio"
    assert sorted(["t_tab10", "t_tab9"], key=render.natural)[0] == "t_tab9"


def test_every_figure_has_a_caption_and_no_caption_lacks_its_figure():
    drawn = {script.stem for script in (ROOT / "workflow/scripts/figures").glob("*.py")}
    captions = {path.stem: path.read_text().strip() for path in (ROOT / "workflow/report/captions").glob("*.rst")}
    assert set(captions) == drawn and all(captions.values())


def test_each_wrong_cell_is_counted_and_told():
    wrong = [measurement(threads=n, recall_native=0.5, host=host) for host in ("a", "b") for n in (1, 16)]
    gpu = {"tool": "wavebench-edit", "variant": "fast", "recall_native": 0.5}
    wrong += [measurement(quantity=f"time_end_to_end_{memory}", **gpu) for memory in ("pinned", "pageable")]
    told = summary.verification(wrong)["wrong"]
    assert len(told) == len(set(told)) == 6 and told[1] == "Edlib on uniform_150_e5 (cigar, 1 thread, b, recall 50 %)"
    assert told[-2:] == [f"wavebench, fast design (GPU) on uniform_150_e5 (cigar, {memory}, some-cpu-2c, recall 50 %)"
                         for memory in ("page-locked", "pageable")]  # fmt: skip


def test_wrong_answers_of_a_program_that_tells_its_kernels_time_alone_are_told():
    program = {"tool": "some", "quantity": "time_kernel", "recall_native": 0.2, "failing_pairs": '[[1, "why"]]'}
    further = program | {"failing_pairs": None}  # of a run with a line of its own
    told = summary.verification([measurement(**program), measurement(**further), measurement()])
    (wrong,) = told["wrong"]
    assert told["judged"] == 2 and wrong == "some on uniform_150_e5 (cigar, 1 thread, some-cpu-2c, recall 20 %)"
    heuristic = summary.verification([measurement(**program | {"exact": False, "failing_pairs": "[]"})])
    assert not heuristic["wrong"]


def test_a_recorded_machine_of_this_hosts_id_has_a_card_of_its_own(tmp_path):
    paths = [tmp_path / "a/kick/thesis_tab1/uniform_150_e5.parquet", tmp_path / "here.parquet"]
    paths[0].parent.mkdir(parents=True)
    for path, cpu, day in zip(paths, ("Theirs", "Mine"), ("01", "02"), strict=True):
        rows = two_tools(host="a", time_utc=f"2026-01-{day}T00:00:00Z")
        samples.write(path, rows, CARD | {"host_card": {"cpu": cpu}})
    told = [measurement(host="a"), measurement(host="a", source="recorded")]
    cards = {host["source"]: host["card"] for host in summary.hosts(told, render.ratios.read(paths))}
    assert cards == {"this host": "Mine, no GPU", "recorded host": "Theirs, no GPU"}
