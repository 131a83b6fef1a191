"""Render results/report.html: one offline page of the summary, the tables and the figures."""

import base64
import re
import sys
from pathlib import Path

import click
import jinja2
from markupsafe import Markup

from workflow.report import summary
from workflow.scripts import config_files, ratios
from workflow.scripts.table_cli import read_measurements
from workflow.scripts.table_html import STYLE

HERE = Path(__file__).parent
#: Width of a column of a paper, and how large a point of a picture is shown.
COLUMN_POINTS, PIXELS_A_POINT = 252, 460 / 252
TITLES = {
    "thesis": "thesis: eWFA-GPU (edit distance) and WFA-GPU (gap-affine)",
    "gpu": "GPU: how busy our kernels keep it",
    "ewfa": "ewfa: eWFA-GPU, journal version",
    "longed": "longed: Levenshtein distance between very long strings on a GPU",
    "saloba": "saloba: SALoBa, seed extension on a GPU",
    "anyseq": "anyseq: AnySeq/GPU",
    "cpu": "CPU: our kernels and the native peers",
}


def article(path):
    """The fragment of a table's page. Raises ValueError, naming the file, when there is none."""
    found = re.search(r"<article .*</article>", path.read_text(encoding="utf-8"), re.DOTALL)
    if not found:
        raise ValueError(f"{path}: holds no <article>: not a page of this project's tables")
    return Markup(found.group(0))


def image(path):
    """A picture as a data URL, so that the page needs no other file."""
    kind = {"svg": "svg+xml", "png": "png"}[path.suffix[1:]]
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def shown_width(path):
    """Pixels of the page that an SVG is shown at, so that letters are of one size in all; of one that does not tell its
    own width those of a picture of one column."""
    told = re.search(r'<svg[^>]* width="([\d.]+)pt"', path.read_text(encoding="utf-8"))
    return round(PIXELS_A_POINT * (float(told[1]) if told else COLUMN_POINTS))


def name_of(id_):
    """``thesis_tab1`` -> ``thesis Tab 1``; one of our own without a number, ``cpu_ratio`` -> ``CPU ratio``."""
    paper, item = id_.split("_", 1)
    kind, number = re.fullmatch(r"([a-z]+)(\d*)", item).groups()
    return f"{paper} {kind.capitalize()} {number}" if number else f"{paper.upper()} {kind}"


def natural(id_):
    """Sort key: tab9 before tab10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", id_)]


def papers(pages, drawings, aliases):
    """List of dicts, one a paper: its tables, figures and aliases, in the order of TITLES.

    pages, drawings: paths of the tables' HTML and of the figures.
    """
    found = []
    for paper, title in TITLES.items():
        here = {
            "id": paper,
            "title": title,
            "tables": [_table(p) for p in _of(paper, pages)],
            "figures": [_figure(p, pages) for p in _of(paper, drawings)],
        }
        here["entries"] = here["tables"] + here["figures"]
        here["aliases"] = [(a, of) for a, of in aliases.items() if a.startswith(f"{paper}_")]
        if here["entries"]:
            found.append(here)
    shown = {item["id"] for paper in found for item in paper["entries"]}
    for paper in found:
        paper["aliases"] = [(alias, of) for alias, of in paper["aliases"] if of in shown]
    return found


def _table(path):
    return {"id": path.stem, "anchor": path.stem, "name": name_of(path.stem), "article": article(path)}


def _figure(path, pages):
    """A figure of the same name as a table has an anchor and a name of its own."""
    id_ = path.stem
    alike = any(page.stem == id_ for page in pages)
    named = (
        {"anchor": f"{id_}_figure", "name": f"{name_of(id_)}, figure"}
        if alike
        else {"anchor": id_, "name": name_of(id_)}
    )
    return {"id": id_, "image": image(path), "width": shown_width(path), "caption": caption(id_)} | named


def _of(paper, paths):
    return sorted((p for p in paths if p.stem.startswith(f"{paper}_")), key=lambda path: natural(path.stem))


def caption(id_):
    """Text of a figure's captions/<id>.rst; a table's page has its own."""
    path = HERE / "captions" / f"{id_}.rst"
    return path.read_text(encoding="utf-8").strip() if path.exists() else name_of(id_)


def render(pages, drawings, measurements, races, aliases):
    """The page as text.

    pages, drawings: paths of the tables' HTML and of the figures to show. measurements: collected rows as dicts.
    races: ratios.read() of the race files. aliases: {id: id}.
    """
    here = {m["host"] for m in measurements if m["source"] == "here"}
    told_apart = ratios.apart(races, here)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    return environment.get_template("template.html.j2").render(
        style=Markup(STYLE),
        hosts=summary.hosts(measurements, races),
        verification=summary.verification(measurements),
        validity=summary.validity(told_apart),
        standing=summary.standing(told_apart, here),
        on_gpu=summary.on_gpu(told_apart, here),
        missing=summary.missing([page.with_suffix(".csv") for page in pages]),
        papers=papers(pages, drawings, aliases),
    )


@click.command()
@click.option("--tables", required=True, help="Folder of the tables.")
@click.option("--figures", required=True, help="Folder of the figures.")
@click.option("--collected", required=True, help="Collected measurements (Parquet).")
@click.option("--samples", default="", help="Folder of race files of this host and others, for ratios and host cards.")
@click.option("--recorded", default="", help="Folder of recorded race files.")
@click.option("--table", "pages", multiple=True, help="Id of a table to show, once for each.")
@click.option("--figure", "drawings", multiple=True, help="Id of a figure to show, once for each.")
@click.option("--aliases", default="config/aliases.yaml", show_default=True)
@click.option("--out", required=True, help="HTML file to write.")
def main(tables, figures, collected, samples, recorded, pages, drawings, aliases, out):
    """Render the report of what has been measured."""
    files = [path for folder in (samples, recorded) if folder for path in sorted(Path(folder).rglob("*.parquet"))]
    try:
        named = config_files.read_yaml(aliases) or {}
        pages = [Path(tables) / f"{id_}.html" for id_ in pages]
        drawings = [Path(figures) / f"{id_}.svg" for id_ in drawings]
        text = render(pages, drawings, read_measurements(collected), ratios.read(files), named)
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        Path(out).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
