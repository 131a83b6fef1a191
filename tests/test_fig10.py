"""thesis Fig 10: ratios round by round and of medians, which of ours is compared, and what the panels say."""

import statistics

import pytest
from click.testing import CliRunner

from tests.synthetic import CURRENT, race_rows
from tests.test_figures import ROOT, check_text, words
from workflow.race import samples
from workflow.race.provenance import PROCEDURE
from workflow.scripts import gpu_ratios, papers, plotting, ratios, speedup_panels
from workflow.scripts.dataset_labels import names_of_real, places, short
from workflow.scripts.figures import thesis_fig10

PAPER = ROOT / "config/papers/thesis_tab9.csv"
FAINT = "Faint, from under 30 pairs, of several threads 10 each, on a GPU 2000 or 10 ms"


@pytest.fixture
def race(tmp_path):
    """race(dataset, seconds, ...) writes a race file and gives its path."""

    def race(dataset, seconds, failed=(), valid=True, procedure=PROCEDURE, **changes):
        settings = {"experiment": "thesis_tab9", "metric": "affine", "penalties": "4,6,2"}
        settings["race_id"] = f"race {len(list(tmp_path.iterdir()))}"
        rows = race_rows(dataset, seconds, **settings | {"pairs": 1000, "pairs_total": 1000} | changes)
        for tool, variant, status in failed:
            broken = {"tool": tool, "variant": variant, "status": status, "round": 0, "value_s": None, "pairs": 0}
            rows.append(rows[0] | broken)
        path = tmp_path / f"{dataset}-{len(rows)}.parquet"
        samples.write(path, rows, {"valid": valid, "procedure": procedure})
        return path

    return race


OURS = ("wavebench-wfa", "cpu", 2)


def test_ratios_are_taken_round_by_round(tmp_path):
    rows = []
    for number, slow in enumerate((1.0, 5.0, 1.0, 1.0, 5.0, 1.0), 1):  # a machine that stutters slows both alike
        for tool, variant, seconds in (("wavebench-wfa", "cpu", 1.0), ("edlib", "", 3.0)):
            one = race_rows("nanopore", {(tool, variant, 2): 1}, rounds=1, experiment="thesis_tab9")[0]
            rows.append(one | {"round": number, "value_s": seconds * slow})
    samples.write(tmp_path / "r.parquet", rows, {})
    (race,) = ratios.read([tmp_path / "r.parquet"])
    (speedup,) = ratios.speedups(race, "wavebench-wfa:cpu", "cigar", 2)
    assert (speedup.median, speedup.low, speedup.high, speedup.rounds) == (3.0, 3.0, 3.0, 6)


def test_times_of_the_same_round_are_compared_in_whatever_order_they_lie(tmp_path):
    rows = race_rows("nanopore", {("wavebench-wfa", "cpu", 2): 1, ("edlib", "", 2): 1}, rounds=6)
    seconds = {"wavebench-wfa": 1.0, "edlib": 3.0}
    rows = [row | {"value_s": seconds[row["tool"]] * row["round"]} for row in rows]
    samples.write(tmp_path / "r.parquet", rows[:6] + rows[:7:-1], {})
    (speedup,) = ratios.speedups(ratios.read([tmp_path / "r.parquet"])[0], "wavebench-wfa:cpu", "cigar", 2)
    assert (speedup.low, speedup.high, speedup.rounds) == (3.0, 3.0, 4)


def test_a_slow_tool_is_compared_on_the_pairs_it_ran(tmp_path):
    seconds = {(1000, "wavebench-wfa", "cpu"): 8.0, (250, "wavebench-wfa", "cpu"): 1.0, (250, "edlib", ""): 4.0}
    rows = []
    for (pairs, tool, variant), s in seconds.items():
        rows += [row | {"value_s": s} for row in race_rows("nanopore", {(tool, variant, 2): 1}, pairs=pairs)]
    samples.write(tmp_path / "r.parquet", rows, {})
    (race,) = ratios.read([tmp_path / "r.parquet"])
    (speedup,) = ratios.speedups(race, "wavebench-wfa:cpu", "cigar", 2)
    assert speedup.median == 4.0


def test_the_largest_valid_race_of_a_host_counts(race):
    small = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0})
    large = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 9.0}, pairs_total=5000, rounds=6)
    broken = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 99.0}, pairs_total=9000, rounds=7, valid=False)
    stale = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 50.0}, pairs_total=8000, rounds=9, tool_source_hash="old")
    older = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 50.0}, pairs_total=8000, rounds=8, procedure=None)
    (kept,) = ratios.shown(ratios.read([small, large, broken, stale, older]))
    assert kept.rows[0]["pairs_total"] == 5000 and not kept.stale


def test_no_ratio_where_the_work_was_not_the_same(race):
    def reason(**changes):
        (one,) = ratios.read([race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0}, **changes)])
        (speedup,) = ratios.speedups(one, "wavebench-wfa:cpu", "cigar", 2)
        assert (speedup.median is None) == bool(speedup.reason)
        return speedup.reason

    assert reason(pairs=1) == "fewer pairs than threads" and reason(pairs=2) == ""
    assert reason(coverage=0.985) == "refused 1.5 % of the pairs" and reason(coverage=0.99) == ""


def test_every_doubt_of_a_hosts_races_is_in_its_panels_title(race):
    doubtful = {"tool_source_hash": "old", "procedure": 1, "valid": False}
    read = ratios.read([race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0}, **doubtful)])
    figure = thesis_fig10.draw(papers.read(PAPER), read, {})
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[-1].endswith("\nstale; older way of measuring; race invalid") and "stale" not in titles[0]
    check_text(figure)


def test_a_stale_ratio_says_so(race):
    read = ratios.read([race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0}, tool_source_hash="old")])
    assert [s.stale for s in ratios.speedups(read[0], "wavebench-wfa:cpu", "cigar", 2)] == [True]
    figure = thesis_fig10.draw(papers.read(PAPER), read, {})
    assert any(axes.get_title(loc="left").endswith("\nstale") for axes in figure.axes)
    assert "Stale, measured with other sources of our kernel or the tool: every data set." in words(figure)
    check_text(figure)


def test_a_ratio_is_stale_where_our_kernel_alone_has_changed(tmp_path):
    ours, theirs = (race_rows("nanopore", {tool: 1.0}) for tool in (OURS, ("edlib", "", 2)))
    samples.write(tmp_path / "r.parquet", [row | {"tool_source_hash": "old"} for row in ours] + theirs, {})
    (race,) = ratios.read([tmp_path / "r.parquet"])
    assert [s.stale for s in ratios.speedups(race, "wavebench-wfa:cpu", "cigar", 2)] == [True]


def test_fig10_shows_hosts_reasons_and_stand_ins(race):
    times = {OURS: 1.0, ("edlib", "", 2): 8.0, ("parasail", "scan", 2): 50.0}
    races = ratios.read([
        race("illumina_150", times, recall_affine=0.9),
        race("nanopore", {OURS: 1.0, ("edlib", "", 2): 3.0}, failed=[("parasail", "scan", "timeout")]),
    ])  # fmt: skip
    figure = thesis_fig10.draw(papers.read(PAPER), races, {})
    told = words(figure)
    assert "some-cpu-2c" in told and "simulated stand-ins" in told and "2 threads each" in told
    assert "No ratio, timeout: Parasail (scan) on Nanopore." in told
    check_text(figure)


def test_fig10_tells_a_reason_once_for_all_its_tools(race):
    tools = {("parasail", name, 2): 5.0 for name in ("striped", "scan")}
    races = ratios.read([
        race("pacbio_hifi", {OURS: 1.0} | tools, coverage=0.07),
        race("nanopore", {OURS: 1.0, ("edlib", "", 2): 3.0, ("wavebench-bpm", "cpu", 2): 9.0}),
    ])  # fmt: skip
    for row in races[0].rows:
        if row["tool"] == "wavebench-wfa":
            row["coverage"] = 1.0
    figure = thesis_fig10.draw(papers.read(PAPER), races, {})
    told = words(figure)
    assert told.count("refused more than 1 %") == 1
    assert "refused more than 1 % of the pairs: Parasail (striped, scan) on PacBio HiFi." in told
    assert "BPM" not in told  # our other kernels are no peers
    notes = [text.get_text() for text in figure.findobj(plotting.plt.Text) if "•" in text.get_text()]
    assert all(len(line) <= 140 for text in notes for line in text.splitlines())
    check_text(figure)


def test_fig10_has_room_for_every_tool(race):
    times = {(*[*tool.split(":"), ""][:2], 2): 5.0 for tool in thesis_fig10.OURS}
    races = ratios.read([race("illumina_150", {OURS: 1.0} | times)])
    check_text(thesis_fig10.draw(papers.read(PAPER), races, {}))


def test_names_of_one_tool_share_a_bracket():
    assert speedup_panels.listed(["Parasail (scan)", "Edlib", "Parasail (diag)"]) == "Parasail (scan, diag), Edlib"
    assert speedup_panels.listed(["WFA2-lib", "WFA2-lib (BiWFA)"]) == "WFA2-lib, WFA2-lib (BiWFA)"


def test_fig10_shows_what_a_machine_of_the_same_id_recorded_apart(race, tmp_path, monkeypatch):
    own, host = race("nanopore", {OURS: 1.0, ("edlib", "", 2): 2.0}), "some-cpu-2c"
    recorded = tmp_path / host / "kick/thesis_tab9/moleculo.parquet"
    recorded.parent.mkdir(parents=True)
    race("moleculo", {OURS: 1.0, ("edlib", "", 2): 2.0}).rename(recorded)
    figures = []
    monkeypatch.setattr(plotting, "draw_and_save", lambda drawn, out: figures.append(drawn()))
    files = [str(own), str(recorded), f"--paper={PAPER}", "--out=unused"]
    for here in ([f"--host={host}"], []):
        run = CliRunner().invoke(thesis_fig10.main, [*files, *here])
        assert run.exit_code == 0, run.output
    shown = [[axes.get_title(loc="left").partition(":")[0] for axes in figure.axes[1:]] for figure in figures]
    assert shown == [[host, f"{host} (another run)"], [host]]


def test_fig10_of_the_thesis_is_computed_from_its_table():
    points = thesis_fig10.thesis_points(papers.read(PAPER))
    assert points[("wfa2-lib:unidirectional", "illumina_250")] == 3  # the prose: 1.5 to 3 times
    assert ("seqan", "moleculo") not in points  # a timeout
    assert points[("parasail:striped", "illumina_250")] == pytest.approx(21240 / 17)


def test_fig10_without_samples_says_so(tmp_path):
    run = CliRunner().invoke(thesis_fig10.main, ["--paper", str(PAPER), "--out", str(tmp_path / "f")])
    assert run.exit_code == 0, run.output
    assert (tmp_path / "f.svg").exists() and (tmp_path / "f.png").exists()


def test_fig10_names_a_file_it_cannot_read(tmp_path):
    (tmp_path / "x.parquet").write_text("no")
    run = CliRunner().invoke(thesis_fig10.main, [str(tmp_path / "x.parquet"), f"--paper={PAPER}", "--out=unused"])
    assert run.exit_code == 2 and "x.parquet" in run.output and "Traceback" not in run.output


def test_real_data_sets_are_named():
    real = {"real_a": "nanopore", "real_b": "nanopore"}
    assert list(places(["real_b", "illumina_150", "real_a"], real)) == ["illumina_150", "real_a", "real_b"]
    assert names_of_real(["real_a", "real_b"], real) == ["Nanopore real 1 = a, Nanopore real 2 = b"]


def test_a_sentence_tells_real_reads_of_a_technology_from_simulated_ones():
    real = {"real_a": "pacbio_hifi", "real_b": "nanopore", "real_c": "nanopore"}
    shown = ["pacbio_hifi", "real_a", "real_b", "real_c", "moleculo"]
    told = [short(dataset, shown, real) for dataset in shown]
    assert told == ["PacBio HiFi sim.", "PacBio HiFi real", "Nanopore real 1", "Nanopore real 2", "Moleculo"]
    assert short("real_a", ["real_a", "moleculo"], real) == "PacBio HiFi"


def exact_rows(tool, variant, threads, pairs, times, **changes):
    """Sample rows of one cell with these times, a round each."""
    rows = race_rows("nanopore", {(tool, variant, threads): 1}, rounds=len(times), experiment="thesis_tab9")
    own = {"pairs": pairs, "cells": 22_500.0 * pairs}
    return [row | own | {"value_s": seconds} | changes for row, seconds in zip(rows, times, strict=True)]


def gpu_rows(variant, pairs, times, **changes):
    """exact_rows() of one of our GPU aligners, from page-locked memory."""
    pinned = {"quantity": "time_end_to_end_pinned", "metric": "affine"}
    return exact_rows("wavebench-affine", variant, 1, pairs, times, **pinned | changes)


@pytest.fixture
def read(tmp_path):
    """read(rows, dataset=..., host=...) gives the race of those rows, read from a file."""

    def read(rows, **changes):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        samples.write(path, [row | changes for row in rows], {"valid": True, "procedure": PROCEDURE})
        return ratios.read([path])[0]

    return read


EDLIB = exact_rows("edlib", "", 2, 250, [9.0, 5.0, 4.0])  # 20 ms a pair
FAST = gpu_rows("fast", 10_000, [10.0, 20.0, 90.0, 20.0, 19.0])  # 2 ms
DESIGN = gpu_rows("paper", 5000, [40.0, 30.0, 25.0])  # 6 ms
CPU = exact_rows("wavebench-auto", "cpu", 2, 250, [0.5, 0.5, 0.5])
NO_GPU = [row | {"status": "not_installed", "value_s": None, "pairs": 0, "round": 0} for row in FAST[:1]]


def test_gpu_ratios_are_of_medians_of_times_per_cell(read):
    decoys = [
        *exact_rows("edlib", "", 1, 250, [9.0] * 3),  # another number of threads
        *exact_rows("edlib", "", 2, 250, [9.0] * 3, scope="score"),
        *gpu_rows("fast", 1000, [7.0] * 5, quantity="time_end_to_end_pageable"),
        *gpu_rows("fast", 1000, [7.0] * 5, quantity="time_kernel"),
        *gpu_rows("fast", 1000, [7.0] * 5, scope="score"),
        *gpu_rows("fast", 1000, [7.0] * 5, twin=True),
        *gpu_rows("paper-band", 1000, [7.0] * 5, exact=False),
        *exact_rows("parasail", "diag", 2, 250, [9.0] * 3, quantity="time_end_to_end_pinned"),  # no CPU tool's time
    ]
    decoys_behind = exact_rows("edlib", "", 2, 50, [9.0] * 3)  # a smaller subset
    found = gpu_ratios.speedups(read(decoys + EDLIB + FAST + DESIGN + CPU + decoys_behind), "cigar", 2)
    assert [(s.reference, s.tool) for s in found] == [(reference, "edlib") for reference in gpu_ratios.REFERENCES]
    assert [s.median for s in found] == pytest.approx([10, 20 / 6])
    assert all(s.low <= s.median <= s.high and not s.reason and not s.stale for s in found)
    short = [row | {"cells": row["cells"] / 25} for row in EDLIB]  # the first mapped reads may be short ones
    assert [s.median for s in gpu_ratios.speedups(read(short + FAST), "cigar", 2)] == pytest.approx([250], rel=0.01)


def test_the_interval_of_a_ratio_of_medians_draws_both_sides_anew():
    assert gpu_ratios.median_ratio_interval([6.0] * 5, [2.0] * 3) == (3, 3, 3)
    # medians of two draws from 1 and 3 are 1, 2, 3 in a quarter, a half, a quarter of the cases
    assert gpu_ratios.median_ratio_interval([1.0, 3.0], [2.0]) == (1, 0.5, 1.5)
    assert gpu_ratios.median_ratio_interval([6.0], [1.0, 3.0]) == (3, 2, 6)
    # a median of 1 over one of 3 in 3.6 % of the cases: within the interval of 95 %, not in that of 90 %
    assert gpu_ratios.median_ratio_interval([1.0] * 3 + [3.0] * 6, [1.0, 3.0]) == (1.5, 1 / 3, 3)
    # sides that stutter in the same rounds are not set off against each other
    median, low, high = gpu_ratios.median_ratio_interval([3.0, 15.0, 3.0, 15.0], [1.0, 5.0, 1.0, 5.0])
    assert median == 3 and low < 1 < 9 < high
    sides = [n**1.5 for n in range(1, 30)], [n**0.7 for n in range(1, 40)]  # no two draws are alike
    assert gpu_ratios.median_ratio_interval(*sides) == gpu_ratios.median_ratio_interval(*sides)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (gpu_rows("fast", 1000, [2.0], recall_native=0.99), "claims exactness and was not optimal on every pair"),
        (gpu_rows("fast", 1000, [2.0], recall_native=None, verified=0), "not verified"),
        (gpu_rows("fast", 1000, [2.0], coverage=0.5), "refused 50 % of the pairs"),
        (gpu_rows("fast", 0, [None], status="out_of_memory"), "out of memory"),
    ],
)
def test_a_gpu_aligner_that_did_not_do_the_work_has_no_ratio(read, rows, told):
    race = read(EDLIB + rows + DESIGN)
    fast, design = gpu_ratios.speedups(race, "cigar", 2)
    assert (fast.reason, fast.median) == (f"wavebench, fast design (GPU) {told}", None)
    assert design.median == pytest.approx(20 / 6)
    figure = thesis_fig10.draw(papers.read(PAPER), [race], {})
    title = figure.axes[1].get_title(loc="left")
    assert "hollow: wavebench, WFA-GPU's design (GPU)" in title and "filled" not in title
    reason = told.replace("50 %", "more than 1 %")
    assert f"No ratio, wavebench, fast design (GPU) {reason}: Edlib on Nanopore." in words(figure)


def test_a_tool_that_was_wrong_or_failed_keeps_its_reason_beside_a_gpu(read):
    failed = exact_rows("ksw2", "", 2, 0, [None], status="timeout")
    wrong = [row | {"recall_native": 0.5} for row in EDLIB]
    panel = speedup_panels.panels([read(wrong + failed + FAST)])[0]
    told = speedup_panels.notes(panel, {}, {})
    assert "No ratio, timeout: KSW2 on Nanopore" in told
    assert "Crossed out, claims exactness and was not optimal on every pair: Edlib on Nanopore" in told


@pytest.mark.parametrize("found", [{"exact": False, "recall_native": 1.0}, {"exact": False, "recall_native": 0.5}])
def test_a_heuristic_has_no_ratio(read, found):
    panel = speedup_panels.panels([read([row | found for row in EDLIB] + FAST)])[0]
    assert "No ratio, a heuristic: Edlib on Nanopore" in speedup_panels.notes(panel, {}, {})


def test_a_ratio_is_of_the_time_from_end_to_end_alone(read):
    packing = [row | {"quantity": "time_pack", "value_s": row["value_s"] / 1000} for row in EDLIB]
    ours = exact_rows("wavebench-wfa", "cpu", 2, EDLIB[0]["pairs"], [1.0] * len(EDLIB))
    (told,) = ratios.speedups(read(EDLIB + packing + ours), "wavebench-wfa:cpu", "cigar", 2)
    assert (told.rounds, told.low) == (len(EDLIB), min(row["value_s"] for row in EDLIB))


def notes_of(figure):
    """{first line of a panel's title: its notes in one line}, with plain blanks."""
    told = {axes.get_title(loc="left").splitlines()[0]: axes.get_xlabel().split() for axes in figure.axes}
    return {host: " ".join(words) for host, words in told.items()}


def test_each_host_tells_of_its_own_gpu_tools_and_whose_speed_up_it_shows(read):
    races = [
        read(EDLIB + FAST + DESIGN + CPU, host="with"),
        read(EDLIB + CPU + NO_GPU, host="without"),
        read(EDLIB + FAST + CPU, host="alone"),
    ]
    figure = thesis_fig10.draw(papers.read(PAPER), races, {})
    notes, said = notes_of(figure), "No GPU tool has raced on this host."
    assert said in notes["without:"] and said not in notes["with:"] + notes["alone:"]
    assert "Medians of ratios taken round by round" in notes["without:"] and "bootstrap" not in notes["without:"]
    assert "95 % bootstrap intervals" in notes["with:"] and "page-locked" in notes["with:"]
    assert all("Tools of the thesis not in these races: GASAL2, ADEPT" in notes[f"{h}:"] for h in ("with", "without"))
    assert "Edlib" not in notes["with:"].partition("not in these races")[2]
    titles = {axes.get_title(loc="left").partition(":")[0]: axes.get_title(loc="left") for axes in figure.axes}
    assert "filled: wavebench, fast design (GPU)\nhollow: wavebench, WFA-GPU's design (GPU)\n" in titles["with"]
    assert "over each CPU tool on 2 threads" in titles["with"] and "lane kick" in titles["with"]
    assert "hollow" not in titles["alone"] and "filled: wavebench, fast design (GPU)" in titles["alone"]
    assert "wavebench (CPU) over each tool, 2 threads each" in " ".join(titles["without"].split())
    check_text(figure)


def drawn(axes):
    """{ratio, in 3 digits: (marker face, opacity)} of a panel's markers."""
    lines = [line for line in axes.lines if line.get_marker() not in ("None", "_", "|")]
    return {
        float(f"{line.get_ydata()[0]:.3g}"): (line.get_markerfacecolor(), line.get_alpha())
        for line in lines
        if len(line.get_ydata()) == 1
    }


def test_the_papers_design_is_hollow_and_few_pairs_are_faint(read):
    few = exact_rows("ksw2", "", 2, 20, [4.0] * 3)  # 200 ms a pair
    orange, pink = plotting.ORANGE, plotting.PINK
    figure = thesis_fig10.draw(papers.read(PAPER), [read(EDLIB + few + FAST + DESIGN)], {})
    faint = thesis_fig10.FAINT
    assert drawn(figure.axes[1]) == {
        10: (orange, None),
        3.33: ("white", None),
        100: (pink, faint),
        33.3: ("white", faint),
    }
    assert f"{FAINT}: KSW2 on Nanopore." in words(figure)
    on_cpu = thesis_fig10.draw(
        papers.read(PAPER), [read(few + exact_rows("wavebench-auto", "cpu", 2, 20, [1.0] * 3))], {}
    )
    assert drawn(on_cpu.axes[1]) == {4: (pink, None)}  # both ran the same few pairs
    own = gpu_rows("fast", 5, [0.01] * 3)
    panel = speedup_panels.panels([read(EDLIB + own)])[0]
    told = speedup_panels.notes(panel, {}, {})
    assert f"{FAINT}: wavebench, fast design (GPU) on Nanopore" in told
    check_text(figure)


def test_pairs_that_a_gpu_left_to_the_cpu_are_said_where_a_ratio_is_drawn(read):
    fast, design = ([row | {"rescued": 36} for row in rows] for rows in (FAST, DESIGN))
    wrong = [row | {"recall_native": 0.9} for row in design]
    few = [row | {"pairs": 250, "rescued": 7} for row in FAST]
    real = {"real_a": "nanopore", "real_b": "nanopore"}
    races = [read(EDLIB + fast + wrong, dataset="real_a"), read(EDLIB + fast + design, dataset="moleculo")]
    figure = thesis_fig10.draw(papers.read(PAPER), [*races, read(EDLIB + few, dataset="real_b")], real)
    ours, theirs = "wavebench, fast design (GPU)", "wavebench, WFA-GPU's design (GPU)"
    places = "Moleculo (36 of 10000), Nanopore real 1 (36 of 10000), Nanopore real 2 (7 of 250)"
    assert f"Some pairs by the CPU: {ours} on {places}; {theirs} on Moleculo (36 of 5000)." in words(figure)
    check_text(figure)
    same = [row | {"pairs": 10_000} for row in design]
    told = speedup_panels.notes(speedup_panels.panels([read(EDLIB + fast + same)])[0], {}, {})
    assert f"Some pairs by the CPU: {ours}, {theirs} on Nanopore (36 of 10000)" in told
    assert "by the CPU" not in words(thesis_fig10.draw(papers.read(PAPER), [read(EDLIB + FAST + wrong)], {}))


def test_many_faint_markers_are_counted(read):
    names = [f"real_{letter}" for letter in "abcdefghijklm"]
    races = [read(EDLIB + gpu_rows("fast", 5, [0.01] * 3), dataset=name) for name in names]
    told = speedup_panels.notes(speedup_panels.panels(races)[0], {}, dict.fromkeys(names, "nanopore"))
    rule = f"{FAINT}: "
    assert f"{rule}13 of 13 ratios; the table has the pairs of each time" in told
    told = speedup_panels.notes(speedup_panels.panels(races[1:])[0], {}, dict.fromkeys(names, "nanopore"))
    assert any(note.startswith(f"{rule}wavebench, fast design (GPU) on") for note in told)


def test_names_of_data_sets_that_would_touch_are_slanted():
    real = [f"Nanopore\nreal {number}\n" for number in range(1, 17)]
    for labels, turned in ((real, 35), (real[:10], 0)):
        _, axes = plotting.figure(plotting.TWO_COLUMNS, 3)
        thesis_fig10._finish(axes, labels, "")
        assert axes.get_xticklabels()[0].get_rotation() == turned
        plotting.plt.close(axes.figure)


def test_a_short_call_of_a_gpu_is_faint(read):
    """11,765 real reads take 3 ms, of which packing and kernels are 0.2: 100M would not take 27 s."""
    for seconds, faint in ((0.009, thesis_fig10.FAINT), (0.011, None)):
        figure = thesis_fig10.draw(papers.read(PAPER), [read(EDLIB + gpu_rows("fast", 10_000, [seconds] * 3))], {})
        assert [opacity for _, opacity in drawn(figure.axes[1]).values()] == [faint]


def test_data_sets_without_our_gpu_aligners_are_named_and_not_drawn(read):
    races = [read(EDLIB + CPU, dataset="real_a"), read(EDLIB + CPU, dataset="moleculo"), read(EDLIB + FAST)]
    figure = thesis_fig10.draw(papers.read(PAPER), races, {})
    assert [text.get_text() for text in figure.axes[1].get_xticklabels()] == ["Nanopore\nsim.\n"]
    told = words(figure)
    assert "Not shown, raced without our GPU aligners: moleculo, real a." in told
    assert "No race, not in the lane or not run yet: Illumina 150, Illumina 250, PacBio CCS, PacBio HiFi." in told


def test_many_data_sets_have_axes_for_simulated_and_for_real_ones_on_one_scale(read):
    few = ["illumina_150", "moleculo", "pacbio_ccs", "nanopore"]
    assert thesis_fig10.parts_of(few, {}) == [few]
    real = {f"real_{name}": technology for technology in few for name in (f"{technology}_a", f"{technology}_b")}
    races = [read(EDLIB + FAST, dataset=dataset, dataset_model=real.get(dataset, dataset)) for dataset in few]
    slow = [row | {"value_s": 40 * row["value_s"]} for row in EDLIB]
    races += [read(slow + FAST, dataset=dataset, dataset_model=technology) for dataset, technology in real.items()]
    figure = thesis_fig10.draw(papers.read(PAPER), races, real)
    _, simulated, reads = figure.axes
    assert len(simulated.get_xticks()) == 4 and len(reads.get_xticks()) == 8
    assert simulated.get_ylim() == reads.get_ylim()
    assert reads.get_title(loc="left") == "some-cpu-2c, real reads, as above"
    assert set(drawn(simulated)) == {10} and set(drawn(reads)) == {400}
    assert "simulated stand-ins, lane kick" in simulated.get_title(loc="left").replace("\n", " ")
    assert not simulated.get_xlabel() and "Nanopore real 2 = nanopore_b" in words(figure)
    assert "sim.." not in words(figure)
    check_text(figure)


def test_fig10_of_recorded_gpu_races_is_their_medians():
    """Every marker of the recorded host with a GPU, against the samples by plain statistics."""
    files = sorted((ROOT / "results/recorded/nvidia-h200-intel-xeon-16c").glob("*/thesis_tab9/*.parquet"))
    races = {race.dataset: race for race in ratios.shown(ratios.read(files))}
    (panel,) = speedup_panels.panels(list(races.values()))
    assert panel.on_gpu and panel.references == list(gpu_ratios.REFERENCES)

    def per_cell(dataset, tool, quantity, threads):
        name, _, variant = tool.partition(":")
        wanted = {"tool": name, "variant": variant, "quantity": quantity, "threads": threads, "scope": "cigar"}
        rows = [r for r in races[dataset].rows if not r["twin"] and all(r[key] == wanted[key] for key in wanted)]
        most = max(row["pairs"] for row in rows)
        largest = [row for row in rows if row["pairs"] == most]
        return statistics.median(row["value_s"] for row in largest) / (largest[0]["cells"] + most)

    shown = [s for s in panel.speedups if s.median is not None]
    assert {"illumina_150", "nanopore"} <= {s.dataset for s in shown} and len(shown) > 50
    for s in shown:
        tool = per_cell(s.dataset, s.tool, "time_end_to_end", 16)
        own = per_cell(s.dataset, s.reference, "time_end_to_end_pinned", 1)
        assert s.median == pytest.approx(tool / own) and s.low <= s.median <= s.high
    figure = thesis_fig10.draw(papers.read(PAPER), list(races.values()), {})
    assert "No GPU tool" not in words(figure)
    check_text(figure)


def test_a_users_own_programs_are_in_the_legend_and_told_apart(race, monkeypatch):
    monkeypatch.setattr("tests.synthetic.CURRENT", CURRENT | {("mine", ""): "x", ("theirs", ""): "y"})
    seconds = {("wavebench-auto", "cpu", 1): 1.0, ("mine", "", 1): 2.0, ("theirs", "", 1): 3.0}
    races = ratios.shown(ratios.read([race("nanopore", seconds, recall_affine=1.0)]))
    fig = thesis_fig10.draw(papers.read(PAPER), races, {})
    named = {text.get_text() for text in fig.legends[0].get_texts()}
    assert {"mine", "theirs"} <= named and plotting.style("mine") != plotting.style("theirs")
    plotting.plt.close(fig)
