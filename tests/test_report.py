"""The report: one offline page that says the truth in its first lines."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.synthetic import collect, measurement, race_rows, write_measurements
from workflow.race import samples
from workflow.report import render, summary
from workflow.scripts import table_html
from workflow.scripts.figures import thesis_fig3
from workflow.scripts.plotting import save
from workflow.scripts.tables import thesis_tab1

ROOT = Path(__file__).resolve().parents[1]
CARD = {"host_card": {"cpu": "Some CPU", "cores": 2, "memory_gib": 8.0, "gpus": []}, "valid": True}


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
        run = CliRunner().invoke(render.main, [
            f"--tables={tmp_path / 'tables'}", f"--figures={tmp_path / 'figures'}", f"--out={tmp_path / 'report.html'}",
            f"--collected={tmp_path / 'm.parquet'}", f"--samples={tmp_path / 'samples'}",
            f"--aliases={ROOT / 'config/aliases.yaml'}",
        ])  # fmt: skip
        assert run.exit_code == 0, run.output
        return (tmp_path / "report.html").read_text()

    return report


def two_tools(**changes):
    times = {("wavebench-wfa", "cpu", 2): 1.0, ("edlib", "", 2): 3.0}
    return race_rows("uniform_150_e5", times, **changes)


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
    assert "Lane kick, 1 races, 2026-01-02 , commit 0123456789" in words.replace("02,", "02 ,")
    assert "Every tool that claims exactness has recall 1" in words and "40,000 answers checked" in words
    assert "All 1 races valid" in words
    assert re.search(r"faster on 1, slower on 0 of 1 data sets; (2\.9|3\.0)\d?× \[", words)
    assert "no GPU (" in words and "not in this lane (" in words


def test_wrong_answers_and_invalid_races_come_first(report):
    page = report(
        two_tools(recall_native=0.5), {**CARD, "valid": False}, race_valid=False, race_note="twins uneven (x)"
    )
    words = plain(page)
    assert "2 cells with wrong answers of tools that claim exactness" in words
    assert "Edlib on uniform_150_e5 (cigar, recall 50 %): time struck out" in words
    assert "1 of 1 races invalid" in words and "twins uneven (x)" in words
    assert "recall 1 in" not in words


def test_an_easier_problem_is_no_peer(tmp_path):
    rows = two_tools(experiment="thesis_tab8", metric="affine", recall_affine=0.7)
    samples.write(tmp_path / "r.parquet", rows, CARD)
    assert summary.standing(render.ratios.read([tmp_path / "r.parquet"])) == []


def test_nothing_measured_is_said_plainly():
    page = render.render("absent", "absent", [], [], {})
    assert "Nothing has been measured yet" in page and "No races yet" in page


def test_refused_pairs_are_counted():
    found = summary.verification([measurement(refused='{"over_limit": 7}'), measurement(refused='{"over_limit": 5}')])
    assert found["refused"] == ["Edlib: over limit, 12 pairs"]


def test_a_foreign_page_is_named(tmp_path):
    (tmp_path / "thesis_tab1.html").write_text(table_html.page("x", "no table"))
    with pytest.raises(ValueError, match=r"thesis_tab1\.html"):
        render.article(tmp_path / "thesis_tab1.html")


def test_names_and_order():
    assert render.name_of("thesis_fig10") == "thesis Fig 10"
    assert sorted([Path("t_tab10.md"), Path("t_tab9.md")], key=render.natural)[0].stem == "t_tab9"


def test_every_figure_and_table_has_a_caption():
    for kind in ("tables", "figures"):
        for script in (ROOT / "workflow/scripts" / kind).glob("*.py"):
            caption = ROOT / "workflow/report/captions" / f"{script.stem}.rst"
            assert caption.read_text().strip(), script.stem
