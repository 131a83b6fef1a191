"""What a table says in words, the same in Markdown and HTML: times, recall, hosts, threads, provenance, details."""

from workflow.scripts.doubts import FEW_TEXT, NOISY, SHORT_S, TOO_WIDE, machines_text
from workflow.scripts.format_numbers import count, percent, short_commit, significant
from workflow.scripts.table import NO_GPU
from workflow.scripts.tools import TOOL_NAMES

#: Where the input of a GPU's run lies, by what its time is called.
MEMORY = {
    "time_end_to_end_pinned": "page-locked",
    "time_end_to_end_pageable": "pageable",
    "time_end_to_end_registered": "page-locked in place",
}

HOW_TO_READ = (
    "Times are medians for the paper's count of pairs, ± the larger side of the 95 % interval; a tool that ran n of N "
    "pairs (in grey, or in the details) is scaled by their cells, or by their number where the data set's are not "
    "recorded, less the share that it refused. On a GPU the time is from page-locked memory, and below it, marked "
    "pageable, from ordinary arrays. Kernels: the rate of the GPU's kernels alone: cells of the full matrices, "
    "computed or not, over the time during which one of them ran; packing and copies are apart. R is the recall as "
    "the paper defines it.",
    "Threads: own thread pool is the library's own threads in one process; the other rows of several threads are as "
    "many processes of one thread. Fewer pairs than threads: not a time of all threads, as some had nothing to do.",
    "Answers: a time struck out belongs to a tool that claims exactness and was not optimal on every pair, or to a "
    "heuristic with a score below the optimum, or with a CIGAR that does not fit its pair or costs something else than "
    "its score. Coverage is the part of the pairs that a tool answered; below 99 % no time is given, as it would be of "
    "other pairs than its neighbours'. A heuristic need not be optimal: its recall, without CIGARs that of its scores, "
    "stands beside its time; "
    "on a GPU it ran no longer than tools on the CPU do, so its time tells more of what a call costs than others'. "
    "k of n answers verified: no exact score is known for the others, and recall is over those k. n pairs by the CPU: "
    "no kernel of the GPU could do them, and the CPU did, on all its cores; the time holds that work, and no rate of "
    "the kernels is given.",
    f"Doubts: few pairs: scaled from fewer answered ones than {FEW_TEXT}; short call: "
    f"scaled from less than {1000 * SHORT_S:.0f} ms on a GPU, where what a call costs besides is a good part; stale: "
    "measured with other sources of the tool; older way of measuring: by another procedure than today's, see the "
    "notes; race invalid: its twins ran unevenly.",
)


def time_parts(cell):
    """(``1.23 s``, ``±0.4 %`` or nothing) of a cell with a time."""
    if cell.record is None:
        return f"{cell.time_s:.10g} s", ""
    return f"{significant(cell.time_s)} s", half_text(cell.time_s, cell.low_s, cell.high_s)


def half_text(median, low, high):
    """``±0.4 %``, the larger side of an interval; nothing where there is none."""
    return f"±{significant(max(high - median, median - low) / median * 100, 2)} %" if low is not None else ""


def time_text(cell):
    """``1.23 s ±0.4 %`` of a cell with a time."""
    return " ".join(filter(None, time_parts(cell)))


def recall_text(table, cell):
    """``R 99.9 %`` where the paper's table shows recall beside time, or the tool is a heuristic, else nothing."""
    if not table.layout.recall and cell.record and not cell.record["exact"]:
        return "heuristic" + ("" if cell.recall is None else f", R {percent(cell.recall)}")
    if not table.layout.recall or (cell.recall is None and (not cell.recall_word or cell.time_s is None)):
        return ""
    return f"R {percent(cell.recall) if cell.recall is not None else cell.recall_word}"


def pairs_text(cell, word=" pairs"):
    """``20K of 10M pairs`` of a time that is scaled, else nothing. word: of what they are, where that is to be said."""
    if cell.pairs == cell.column.pairs:
        return ""
    return f"{count(cell.pairs)} of {count(cell.column.pairs)}{word}"


def memory_texts(cell):
    """``pageable 1.23 s ±4 %``: a GPU tool's further times, from other memory, scaled like the first, or why there is
    none; before them from what memory the first is, where that is not page-locked."""
    if cell.record and cell.record["quantity"] == "time_end_to_end_pageable":
        yield "from ordinary arrays"
    for run in cell.also:
        where = MEMORY[run.record["quantity"]]
        if run.time_s is None or run.struck:
            wrong = ", ".join(dict.fromkeys(["wrong answers", *run.marks[:1]]))
            yield f"{where}: {wrong if run.struck else run.short}"
            continue
        doubts = ", ".join(mark for mark in run.marks if mark not in cell.marks)
        yield f"{where} {time_text(run)}" + (f" ({doubts})" if doubts else "")


def floor_text(cell):
    """``1.09 × floor`` of a GPU's time, ``1.09 × own floor`` of one from packed letters; nothing where not known."""
    own = "own " * (cell.record is not None and cell.record["input"] == "packed2")
    return f"{significant(cell.time_s / cell.floor_s)} × {own}floor" if cell.floor_s else ""


def kernel_text(table, cell):
    """``kernels 2.81 TCUPS``, the rate of a GPU's kernels alone, where the table shows it; nothing of wrong answers."""
    rate = cell.gcups_kernel
    if not table.layout.kernel_rates or not rate or cell.struck:
        return ""
    return f"kernels {significant(rate / 1e3)} TCUPS" if rate >= 1e3 else f"kernels {significant(rate)} GCUPS"


def small_texts(table, cell, word=" pairs"):
    """What stands below the time of a cell, as a list of texts. word: see pairs_text."""
    told = [
        floor_text(cell), kernel_text(table, cell), *memory_texts(cell), recall_text(table, cell),
        pairs_text(cell, word),
    ]  # fmt: skip
    return [text for text in told if text]


def threads_text(line, lines):
    """Threads of a line; ``(all)`` marks the most that its host ran."""
    if line.row.device == "GPU" and (line.source in ("paper", "external") or line.threads):
        return "GPU"
    if line.threads is None:
        return "–"
    if line.source == "paper":
        return str(line.threads)
    most = max(other.threads or 1 for other in lines if (other.source, other.host) == (line.source, line.host))
    return f"{line.threads} (all)" if line.threads == most and most > 1 else str(line.threads)


def shown_lines(table):
    """(lines, notes) as they are drawn: without those of hosts that have no GPU where another host has a time in the
    row. A note tells of these hosts, in place of a line for each tool."""
    timed = {line.row for line in table.lines if line.source in ("recorded", "here") and _has_time(line)}
    shown, without = [], {}
    for line in table.lines:
        if line.row in timed and _lacks_gpu(line):
            without[where_text(table, line)] = None
        else:
            shown.append(line)
    return shown, [f"No GPU, and so no line of the tools that run on one: {', '.join(without)}."] if without else []


def _has_time(line):
    return any(cell.time_s is not None for cell in line.cells)


def _lacks_gpu(line):
    return all((cell.short, cell.reason) == NO_GPU for cell in line.cells)


def where_text(table, line):
    """The paper, or the host with its lanes."""
    if line.source == "paper":
        return table.layout.paper
    if line.source == "external":
        return f"external, not raced here: {line.host}"
    told = "this host" if line.source == "here" else f"recorded: {line.host}"
    return f"{told} · {', '.join(line.lanes)}" if line.lanes else told


def provenance(table):
    """Sentences on where each column of numbers comes from, and on how steady its machine was."""
    layout = table.layout
    threads = f"its CPU tools on {layout.paper_threads} threads"
    machines = "; ".join(dict.fromkeys(layout.paper_host.values()))
    yield f"{layout.paper}: {machines}; {threads}; times as printed, in seconds."
    yield from hosts_notes(table)
    if not any(line.source == "here" and cell.record for line in table.lines for cell in line.cells):
        yield "This host: nothing measured yet."


def hosts_notes(table):
    """Of provenance() the sentences on the hosts."""
    hosts = {}
    for line in table.lines:
        for record in (cell.record for cell in line.cells if cell.record):
            hosts.setdefault((line.source, line.host), {})[record["race_id"], record["dataset"]] = record
    for (source, host), races in hosts.items():
        runs = sorted({(record["lane"], short_commit(record["commit"])) for record in races.values()})
        told = "; ".join(f"lane {lane}, commit {commit}" for lane, commit in runs)
        yield f"{'This host' if source == 'here' else 'Recorded'}: {host} ({told}). {steadiness(races.values())}"


def steadiness(races):
    """What the canary and the twins of a host's races say. races: one record of each that is shown."""
    drifts = [abs(race["canary_drift"]) for race in races if race["canary_drift"] is not None]
    invalid = sum(not race["race_valid"] for race in races)
    even = sum(bool(race["race_even"]) for race in races)
    told = f"{invalid} of {len(races)} races invalid (uneven twins)"
    if invalid + even < len(races):
        told += f", {even} with twins shown to be even, the others too noisy to tell (to {100 * TOO_WIDE:.0f} %)"
    told += "; "
    machines = machines_text([race["machine"] for race in races])
    told += f"{machines}; " if machines else ""
    if not drifts:
        return told + "the drift of the canary loop is not known."
    noisy = sum(drift > NOISY for drift in drifts)
    told += f"within a race its canary loop drifted by up to {significant(100 * max(drifts), 2)} %"
    if noisy:
        told += f", in {noisy} by more than {100 * NOISY:.0f} %: a noisy machine, its single times are worth less than "
        told += "ratios within a race"
    return told + "."


def tool_name(line):
    """The tool of a line: the paper's name for it, or ours for what was raced. A row that the paper lacks has ours, and
    says more where a tool has two in one block.
    """
    own = line.source == "paper" or not line.row.paper_row
    return line.row.label if own else TOOL_NAMES.get(line.row.tool, line.row.label)


DETAIL_HEAD = [
    "Block", "Tool", "Host", "Threads", "Data set", "Memory", "Time of n pairs", "95 % interval", "n of N pairs",
    "Rounds", "GCUPS end to end", "Recall native", "Recall affine", "Coverage", "Marks",
]  # fmt: skip


def detail_rows(table):
    """Rows (lists of text) of every cell that we measured, scaled or not, one for each memory that it ran from."""
    for line in table.lines:
        for cell in (run for shown in line.cells for run in (shown, *shown.also)):
            if not cell.measured:
                continue
            record = cell.record
            yield [
                line.row.block, line.row.tool, line.host, "–" if line.row.device == "GPU" else str(line.threads),
                record["dataset"], MEMORY.get(record["quantity"], "–"),
                f"{significant(record['median_s'])} s",
                f"{significant(record['ci_low_s'], 4)} – {significant(record['ci_high_s'], 4)} s"
                if record["ci_low_s"] is not None else "–",
                f"{cell.pairs} of {cell.column.pairs}", str(record["rounds"]),
                significant(cell.gcups) if cell.gcups else "–",
                *(percent(record[k]) if record[k] is not None else "–"
                  for k in ("recall_native", "recall_affine", "coverage")),
                ", ".join(cell.marks) or "–",
            ]  # fmt: skip
