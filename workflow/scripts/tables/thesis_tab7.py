"""thesis Tab 7: the data sets of the six technologies; ours are computed from the pair files in use, those of recorded
hosts stand in their races of thesis Tab 9."""

import os

import click

from wfa_kernels import PairBatch
from workflow.race import samples
from workflow.race.data_card import data_card
from workflow.race.planning import is_real
from workflow.scripts import papers
from workflow.scripts.format_numbers import significant
from workflow.scripts.table_cli import UNMAPPED, read_yaml
from workflow.scripts.table_plain import PlainTable, Text, TextLine, write_all
from workflow.scripts.technologies import ALL, EXTRA, TECHNOLOGIES, datasets, label, technology_of_real

TITLE = "thesis Tab 7: data sets of the six technologies"
CAPTION = (
    "Pairs and sequence lengths of the data sets behind thesis Tab 9 and Fig 10: as the thesis prints them, and "
    "computed from the pair files in use here and, of recorded hosts, when they raced them. Of a real pair the text is "
    "the mapped part of the read and the pattern its place in the reference. The thesis' 100M pairs of Moleculo are "
    "printed but doubtful."
)
COLUMNS = [
    "technology", "from", "dataset", "data", "pairs", "text_min_bp", "text_mean_bp", "text_max_bp", "pattern_min_bp",
    "pattern_mean_bp", "pattern_max_bp", "error_rate", "source", "mapping", "status",
]  # fmt: skip
HEAD = [
    "Technology", "From", "Data", "Pairs", "Text min", "mean", "max (bp)", "Pattern min", "mean", "max (bp)",
    "Realised error",
]  # fmt: skip
SHOWN_COLUMNS = COLUMNS[:2] + COLUMNS[3:12]
#: Keys of a pair file's "realised" that have columns of their own; the rest are counts of the mapping.
SHOWN = {"pairs", "error_rate", "mismatches", "insertions", "deletions"}
LENGTHS = ("_min", "_mean", "_max")
#: The shown columns from this one on are numbers.
FIRST_NUMBER = 3


def paper_row(technology, values):
    """The thesis' row of one technology."""
    name, printed, _ = TECHNOLOGIES[technology]
    cells = {column: next(iter(found.values())).value for (row, column), found in values.items() if row == printed}
    return {
        "technology": name, "from": "thesis", "dataset": technology, "data": f"real: {cells['Sample']}",
        "pairs": int(cells["No. pairs"]), "text_min_bp": int(cells["min"]), "text_mean_bp": float(cells["avg"]),
        "text_max_bp": int(cells["max"]), "source": cells["Sample"], "status": "ok",
    }  # fmt: skip


def our_row(technology, dataset, folder, lane, unmapped=""):
    """The row of one data set in use, computed from its pair file; with the reason where there is none.

    unmapped: why real reads cannot be mapped on this host.
    """
    base = {"technology": ALL[technology][0], "from": "here", "dataset": dataset, "data": label(dataset)}
    path = os.path.join(folder, f"{dataset}.arrow")
    if not os.path.exists(path):
        absent = not is_real(dataset) and dataset not in lane["pairs"]
        status = "not in lane {}" if absent else "no pair file of lane {} yet"
        status = f"not mapped: {unmapped}" if unmapped and is_real(dataset) else status
        return base | {"status": status.format(lane["name"])}
    pairs = PairBatch.from_arrow(path)
    if not len(pairs):
        return base | {"pairs": 0, "status": "the pair file holds no pairs"}
    return base | facts(data_card(pairs), dataset)


def facts(card, dataset):
    """What a data card says, as a row does."""
    realised, lengths = card["realised"], {key: card[key] for key in COLUMNS if key.endswith("_bp")}
    mapping = mapping_counts(realised) if is_real(dataset) else {}
    told = {"source": card["source"], "pairs": card["pairs"], "status": "ok", "error_rate": realised.get("error_rate")}
    return told | lengths | {"mapping": mapping}


def recorded_rows(paths):
    """({technology: rows}, data sets without): of races of recorded hosts, of a host's lanes the one of the most pairs.

    Races of earlier versions do not say what they ran on. Raises SamplesError.
    """
    found, without = {}, []
    for path in paths:
        table, card = samples.read(path)
        row = table.slice(0, 1).to_pylist()[0]
        technology, dataset, host = card.get("data", {}).get("model"), row["dataset"], row["host"]
        if technology not in ALL:
            without.append(dataset)
        elif card["data"]["pairs"] >= found.get((technology, dataset, host), {"pairs": 0})["pairs"]:
            found[(technology, dataset, host)] = {
                "technology": ALL[technology][0], "from": f"recorded: {host} · {row['lane']}", "dataset": dataset,
                "data": label(dataset), "lane": row["lane"], **facts(card["data"], dataset),
            }  # fmt: skip
    rows = {of: [row for (technology, *_), row in sorted(found.items()) if technology == of] for of in ALL}
    known = {dataset for _, dataset, _ in found}
    return rows, [dataset for dataset in dict.fromkeys(without) if dataset not in known]


def mapping_counts(realised):
    """{"reads": 1220, "unmapped": 14, ...} of a mapped pair file's statistics."""
    return {k: n for k, n in realised.items() if k not in SHOWN and not k.endswith(LENGTHS) and isinstance(n, int)}


def mapping_text(row):
    """What became of the reads, in words."""
    if row["from"] == "thesis":
        return "not printed in the thesis"
    if not is_real(row["dataset"]):
        return "simulated: nothing was mapped"
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in row.get("mapping", {}).items()) or row["status"]


def text_of(row, key):
    """One cell as a reader sees it."""
    value = row.get(key)
    if row["status"] != "ok" and key in SHOWN_COLUMNS[3:]:
        return row["status"] if key == "pairs" else "–"
    if value is None:
        return "not printed" if row["from"] == "thesis" else "not known"
    if key == "error_rate":
        return f"{significant(value * 100)} %"
    if key.endswith("mean_bp"):
        return f"{value:.0f}"
    return f"{value:,}" if key == "pairs" else str(value)


def tidy(rows, lane):
    """One dict a value."""
    for row in rows:
        paper = row["from"] == "thesis"
        base = {
            "table": "thesis_tab7",
            "source": "paper" if paper else "here" if row["from"] == "here" else "recorded",
            "lane": "" if paper else row.get("lane", lane["name"]),
            "dataset": row["dataset"],
            "pairs": row.get("pairs"),
            "status": row["status"],
            "note": f"{row['data']}; {row.get('source', '')}".strip("; "),
        }
        if row["status"] != "ok":
            yield base | {"quantity": "pairs", "unit": "pairs"}
        for key in COLUMNS[4:12]:
            if row.get(key) is not None:
                unit = "pairs" if key == "pairs" else "fraction" if key == "error_rate" else "bp"
                quantity = key.removesuffix("_bp").replace("_m", "_length_m", 1) if unit == "bp" else key
                yield base | {"quantity": quantity, "unit": unit, "value": row[key]}
        for name, n in row.get("mapping", {}).items():
            yield base | {
                "quantity": f"mapping_{name}",
                "unit": "bp" if name == "clipped_bases" else "count",
                "value": n,
            }


@click.command()
@click.argument("recorded", nargs=-1)
@click.option("--paper", required=True, help="config/papers/thesis_tab7.csv.")
@click.option("--data", required=True, help="Folder of the lane's pair files.")
@click.option("--lane", required=True, help="The lane: config/lanes/<lane>.yaml.")
@click.option("--real-data", default="", help="config/real_data.tsv.")
@UNMAPPED
@click.option("--out", required=True, help="Path without suffix: .csv .md .html .tidy.csv are written.")
def main(recorded, paper, data, lane, real_data, unmapped, out):
    """Data sets in use, beside the thesis' and those of RECORDED, race files of thesis_tab9."""
    lane = read_yaml(lane, "lane")
    try:
        values, real = papers.read(paper), technology_of_real(real_data)
        elsewhere, without = recorded_rows(recorded)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    extra = {technology for technology in EXTRA if os.path.exists(os.path.join(data, f"{technology}.arrow"))}
    # Reads that cannot be mapped have their row, and the simulated data set that stands in for them its own.
    simulated = extra | set(real.values()) if unmapped else extra - set(real.values())
    here, rows = datasets(simulated, real), []
    for technology in ALL:
        rows += [paper_row(technology, values)] if technology in TECHNOLOGIES else []
        rows += [our_row(technology, dataset, data, lane, unmapped) for of, dataset in here if of == technology]
        rows += elsewhere[technology]
    write(rows, lane, out, without)


def write(rows, lane, out, without=()):
    """Write the four files. without: data sets of recorded races that do not say what they are."""
    lines = [TextLine(_texts(row), "paper" if row["from"] == "thesis" else "") for row in rows]
    shown = PlainTable("thesis_tab7", TITLE, CAPTION, HEAD, lines, list(_notes(rows, lane, without)))
    write_all(shown, out, COLUMNS, [_as_columns(row) for row in rows], tidy(rows, lane))


def _as_columns(row):
    return {key: row[key] for key in COLUMNS if key in row} | {"mapping": mapping_text(row)}


def _texts(row):
    return [Text(text_of(row, key), number=i >= FIRST_NUMBER) for i, key in enumerate(SHOWN_COLUMNS)]


def _notes(rows, lane, without):
    yield f"Ours here: lane {lane['name']}."
    here = [row for row in rows if row["from"] == "here"]
    simulated = [row["technology"] for row in here if row["data"] == "simulated"]
    unmapped = {row["technology"] for row in here if is_real(row["dataset"])}
    wanting = [technology for technology in simulated if technology not in unmapped]
    standing_in = [technology for technology in simulated if technology in unmapped]
    if wanting:
        yield f"Simulated, for want of real reads in config/real_data.tsv: {', '.join(wanting)}."
    if standing_in:
        yield f"Simulated, in the place of real reads that are not mapped here: {', '.join(standing_in)}."
    told = {}
    for row in rows:
        if row["from"] != "thesis" and row["status"] == "ok":
            told.setdefault(f"{row['dataset']}: {row['source']}. Mapping: {mapping_text(row)}.")
    yield from told
    if without:
        yield f"Recorded before races kept what they ran on: {', '.join(without)}."


if __name__ == "__main__":
    main()
