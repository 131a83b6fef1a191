"""Fill a table of measured times: the paper's cell, every recorded host's and this host's, side by side.

A table script gives a Layout (the paper's rows and columns); build() places the paper's values and the collected
measurements in it. Nothing is measured here and no cell is left empty: a cell without a time carries its reason.
"""

from dataclasses import replace

from workflow.race import planning
from workflow.scripts import table_floor, table_peers
from workflow.scripts.doubts import MOST_COVERAGE, race_identity, race_rank, refused_share, refused_text
from workflow.scripts.format_numbers import significant
from workflow.scripts.table import NO_GPU, PACKED, Cell, Line, Table
from workflow.scripts.table_notes import at_other_penalties, notes, printed
from workflow.scripts.tools import TOOL_NAMES, tool_id

#: What a cell of the table shows: the first of these runs that has a time, and below it the others.
CELL_TIMES = (
    "time_end_to_end", "time_end_to_end_pinned", "time_end_to_end_pageable", "time_end_to_end_registered",
    "time_end_to_end_packed",
)  # fmt: skip


def build(layout, measurements, values, experiment, lane, peers=(), bandwidths=None):
    """The filled table.

    measurements: list of dicts of collected rows; those marked main count (not twins, nor the smaller subsets that
    our kernel runs for ratios) that were measured at the table's penalties. values: papers.read(). experiment, lane:
    their YAML as dicts. peers: table_peers.read(). bandwidths: table_floor.bandwidths().
    """
    bandwidths = bandwidths or table_floor.Bandwidths()
    main = [m for m in measurements if m["experiment"] == layout.id and m["main"]]
    ours = [m for m in main if m["penalties"] == layout.penalties]
    hosts = sorted({(m["source"], m["host"]) for m in ours if m["source"] == "recorded"})
    here = sorted({(m["source"], m["host"]) for m in ours if m["source"] == "here"}) or [("here", "this host")]
    chosen = _choose(ours)
    gpu_hosts = {m["host"] for m in measurements if m.get("gpu")}
    wires = {place: _wires(layout.columns, chosen, *place, bandwidths) for place in hosts + here}
    lines = []
    without = lane.get("narrow", {}).get(layout.id, {}).get("without", ())
    raced, unraced = _raced_rows(layout.rows, ours, without, lane["name"])
    rows, left_out = _able_rows(raced, ours)
    for row in rows:
        if row.paper_row:
            lines.append(_paper_line(layout, row, values))
        outside = table_peers.lines(layout, row, peers)
        lines.extend(outside)
        for source, host in _places(row, ours, experiment, hosts, here, outside):
            has_gpu, own_wires = host in gpu_hosts, wires[source, host]
            if row.tool == table_floor.FLOOR:
                lines.append(table_floor.line(row, source, host, layout.columns, own_wires, has_gpu))
                continue
            of_host = [m for m in ours if (m["source"], m["host"]) == (source, host)]
            own = _host_lines(layout, row, source, host, has_gpu, of_host, chosen, experiment, lane)
            lines.extend(_beside_floor(line, own_wires) for line in own)
    shown = {(line.row.label, line.host) for line in lines if line.source == "external"}
    told = [table_peers.provenance(layout, peer) for peer in peers if (peer["label"], table_peers.place(peer)) in shown]
    told += [*printed(layout.paper, lines), *table_floor.notes(lines), *notes(lines), *left_out, *unraced]
    return Table(layout, lines, [*told, *at_other_penalties(main, layout.penalties)])


def _places(row, measurements, experiment, hosts, here, outside):
    """Hosts, (source, host), with a line in the row: those that raced its tool, else one to say that no race has it.

    outside: the row's lines of external figures, which say that themselves.
    """
    if row.tool in (*experiment["tools"], table_floor.FLOOR):
        return hosts + here
    raced = {(m["source"], m["host"]) for m in measurements if row_tool(m) == row.tool}
    return [place for place in hosts + here if place in raced] or ([] if outside else here[:1])


def row_tool(record):
    """The tool of the row that a measurement belongs to: input packed beforehand has a row of its own."""
    return tool_id(record) + PACKED * (record["input"] == "packed2")


def _wires(columns, chosen, source, host, bandwidths):
    """{data set: table_floor.Wire or None} of the host's race that each column shows, or else of the host."""
    races = {}
    for (its_source, its_host, *_, dataset), records in chosen.items():
        if (its_source, its_host) == (source, host):
            races[dataset] = race_identity(records[0])
    return {column.dataset: bandwidths.of(host, races.get(column.dataset)) for column in columns}


def _beside_floor(line, wires):
    """The line, with the floor of each of its times from page-locked or packed letters. wires: see _wires()."""
    for cell in line.cells:
        quantity, cell.wire = cell.time_s is not None and cell.record["quantity"], wires[cell.column.dataset]
        if quantity == "time_end_to_end_pinned":
            cell.floor_s = table_floor.seconds(cell.column.length_bp, cell.column.pairs, cell.wire)
        elif quantity == "time_end_to_end_packed":
            own_s = table_floor.own_seconds(cell.record, cell.wire)
            cell.floor_s = own_s and own_s * cell.scale
    return line


def _raced_rows(rows, measurements, without, lane):
    """(rows, notes): without those of tools, not in the paper, that the lane leaves out and no host has raced.

    without: ids of the tools that the lane leaves out. lane: its name.
    """
    known = {row_tool(m) for m in measurements}
    dropped = [row for row in rows if row.tool in without and row.tool not in known and not row.paper_row]
    names = ", ".join(dict.fromkeys(TOOL_NAMES.get(row.tool, row.label) for row in dropped))
    notes = [f"Not raced in lane {lane}: {names}"] if dropped else []
    return [row for row in rows if row not in dropped], notes


def _able_rows(rows, measurements):
    """(rows, notes): without those of a tool's further variant, not in the paper, that can never do their scope."""
    kept, left_out = [], []
    for row in rows:
        told = [m for m in measurements if (row_tool(m), m["scope"]) == (row.tool, row.scope)]
        further = any(_tool(other) == _tool(row) and other.scope == row.scope for other in kept)
        if further and not row.paper_row and told and all(m["status"] == "unsupported" for m in told):
            left_out.append(f"{row.label} has no row in {row.block!r}: {told[-1]['reason']}")
        else:
            kept.append(row)
    return kept, left_out


def _tool(row):
    return row.tool.partition(":")[0]


def _choose(measurements):
    """{(source, host, tool, scope, threads, data set): records of the race that is shown}."""
    outdated = {race_identity(m) for m in measurements if m["stale"] or m["older_way"]}
    races = {}
    for m in measurements:
        key = (m["source"], m["host"], m["dataset"])
        order = race_rank(m["race_valid"], race_identity(m) in outdated, m["pairs_total"], m["time_utc"])
        rank = (*order, race_identity(m))
        races[key] = max(races.get(key, rank), rank)
    chosen = {}
    for m in measurements:
        if race_identity(m) == races[(m["source"], m["host"], m["dataset"])][-1]:
            key = (m["source"], m["host"], row_tool(m), m["scope"], m["threads"], m["dataset"])
            chosen.setdefault(key, []).append(m)
    return chosen


def _paper_line(layout, row, values):
    cells = []
    for column in layout.columns:
        printed = values.get((row.paper_row, column.paper_column), {})
        time, recall = printed.get("time"), printed.get("recall")
        cell = Cell(column, pairs=column.pairs, note=time.note if time else "")
        if time is None:
            cell.short, cell.reason = "not in the paper", f"{layout.paper} has no such column"
        elif time.seconds is None:
            cell.short, cell.reason = time.value, time.note or f"{layout.paper} prints {time.value!r}"
        else:
            cell.time_s = time.seconds
        if recall is not None:
            cell.recall = None if recall.number is None else recall.number / 100
            cell.recall_word = "" if recall.number is not None else recall.value
        cells.append(cell)
    threads = layout.paper_threads if row.device == "CPU" else None
    return Line(row, "paper", layout.paper_host[row.device], threads, cells)


def _host_lines(layout, row, source, host, has_gpu, of_host, chosen, experiment, lane):
    if row.device == "GPU" and not has_gpu:  # what cannot be installed there is not worth a word of its own
        of_host = [m for m in of_host if m["status"] != "not_installed"]
    threads = sorted({m["threads"] for m in of_host if row_tool(m) == row.tool and m["scope"] == row.scope})
    lines = []
    for count in threads or [None]:
        cells = []
        for column in layout.columns:
            records = chosen.get((source, host, row.tool, row.scope, count, column.dataset))
            if records:
                cells.append(_measured(column, records, layout))
            else:
                short, reason = _of_a_race_not_shown(row, count, column, of_host) or _why_missing(
                    layout, row, count, column, source, has_gpu, experiment, lane
                )
                cells.append(Cell(column, short=short, reason=reason))
        lanes = tuple(sorted({c.record["lane"] for c in cells if c.record}))
        lines.append(Line(row, source, host, count, cells, lanes))
    return lines


def _of_a_race_not_shown(row, threads, column, of_host):
    """(a few words, a sentence) on a cell that only a race has which is not the one shown, or None."""
    for m in of_host:
        if (row_tool(m), m["scope"], m["threads"], m["dataset"]) == (row.tool, row.scope, threads, column.dataset):
            return "not in this race", f"in a race of lane {m['lane']} alone, which is not the one shown"
    return None


def _measured(column, records, layout):
    runs = [r for name in CELL_TIMES for r in records if r["quantity"] == name] or records[:1]
    cells = [_of_run(column, run, layout) for run in runs]
    cell = next((one for one in cells if one.time_s is not None), cells[0])
    cell.others = [r for r in records if not any(r is run for run in runs)]
    cell.also = [one for one in cells if one is not cell]
    return cell


def _of_run(column, record, layout):
    """The Cell of one run alone, judged by its own answers."""
    cell = Cell(column, record=record)
    if record["status"] != "ok" or record["median_s"] is None or not record["pairs"]:
        cell.short = (record["status"] if record["status"] != "ok" else "no time").replace("_", " ")
        cell.reason = record["reason"] or cell.short
        return cell
    cell.pairs = record["pairs"]
    if record["quantity"] not in CELL_TIMES:
        cell.short = "wrong answers" if cell.struck else "not end to end"
        cell.reason = f"its {record['quantity'].replace('_', ' ')} alone is known, {significant(record['median_s'])} s"
        return cell
    if record["coverage"] is not None and record["coverage"] < MOST_COVERAGE:
        cell.short = refused_share(record["coverage"]) if cell.answered else "all refused"
        cell.reason = _what_was_answered(cell)
        return cell
    cell.recall = record[layout.recall or "recall_native"]
    if cell.recall is None and record["scope"] == "score":  # no CIGAR to score again: the scores themselves tell
        cell.recall = record["recall_native"]
    cell.time_s = record["median_s"] * cell.scale
    cell.low_s, cell.high_s = (record[name] and record[name] * cell.scale for name in ("ci_low_s", "ci_high_s"))
    if cell.pairs != column.pairs:
        cell.note = f"{cell.pairs} of {column.pairs} pairs"
    return cell


def other_time(cell, quantity, missing):
    """A cell like this one with another quantity of the same run as its time. missing: why, where it has none."""
    if cell.time_s is None:
        return cell
    told = [other for other in cell.others if other["quantity"] == quantity and other["median_s"]]
    if not told:
        return Cell(cell.column, short="not timed", reason=missing)
    record = told[0]
    times = {name: record[key] * cell.scale for name, key in
             (("time_s", "median_s"), ("low_s", "ci_low_s"), ("high_s", "ci_high_s"))}  # fmt: skip
    return replace(cell, record=record, others=[], also=[], floor_s=None, **times)


def _what_was_answered(cell):
    """Sentence on a cell whose tool refused too many pairs to be compared."""
    record = cell.record
    told = f"answered {cell.answered} of {cell.pairs} pairs in {significant(record['median_s'])} s"
    refused = refused_text(record["refused"])
    told += f"; refused: {refused}" if refused else ""
    return told + (f"; {cell.marks[0]}" if cell.struck else "")


def _why_missing(layout, row, threads, column, source, has_gpu, experiment, lane):
    """(a few words, a sentence) on a cell for which there is no measurement. threads: of its line, None without one."""
    if row.tool not in experiment["tools"]:
        return "not raced yet", "no race has this tool yet"
    if row.device == "GPU" and not has_gpu:
        return NO_GPU
    if row.scope not in experiment["scopes"]:
        return "not raced yet", f"no race asks for scope {row.scope} yet"
    asked = planning.narrowed(experiment, lane)
    if row.tool not in asked["tools"] and source == "here":
        return "not in this lane", f"lane {lane['name']} does not race this tool"
    if row.scope not in asked["scopes"] and source == "here":
        return "not in this lane", f"lane {lane['name']} does not race scope {row.scope}"
    if source == "recorded":
        return "not recorded", "no sample recorded on this host"
    real = planning.is_real(column.dataset)
    if real and not column.real_here:
        return "no sample yet", "raced where config/real_data.tsv names its reads"
    if real and layout.unmapped:
        return "not mapped", layout.unmapped
    if not real and not layout.unmapped and column.real_here:
        return "real reads instead", "real reads of this technology are raced here in its place"
    if not real and (column.dataset not in lane["pairs"] or column.dataset not in asked["datasets"]):
        return "not in this lane", f"the data set is not in lane {lane['name']}"
    of_cpu = row.device == "CPU" and threads  # a tool on a GPU has no number of threads to choose
    if of_cpu and threads not in planning.thread_counts(asked):
        return "not in this lane", f"lane {lane['name']} does not race {threads} thread{'s' * (threads > 1)}"
    return "no sample yet", f"lane {lane['name']} has not measured this cell yet"
