"""A table of metrics of the papers' kernels (thesis Tab 4 and 5): the thesis' columns, then each host's profile.

There is no row for packing, though a profile holds its time: that is from launch to end in a call where other batches'
kernels run at the same time, and so holds the wait for their SMs, 2.3, 29 and 64 ms for the same letters under E32, E64
and E128.
"""

from dataclasses import dataclass
from statistics import median

import click

from workflow.scripts import papers, profiles, table_plain
from workflow.scripts.format_numbers import count, percent, significant
from workflow.scripts.table_plain import PlainTable, Text, TextLine, Value

COLUMNS = [
    "table", "metric", "quantity", "unit", "column", "source", "host", "dataset", "kernel", "pairs", "value", "status",
    "commit", "note",
]  # fmt: skip
NOT_PRINTED = "no such row in the thesis"


@dataclass(frozen=True)
class Metric:
    """A row. name: the thesis' or ours. part, key: where a cell of kernels.json holds it; part "" is the cell itself.

    scale: from the file's unit to this one. whole: a count, shown without a point.
    """

    name: str
    unit: str
    quantity: str
    part: str
    key: str
    scale: float = 1.0
    whole: bool = False


METRICS = (
    Metric("Alignment kernel executed", "", "kernel", "", "kernel"),
    Metric("Pairs that it answered", "%", "pairs_answered", "", "answered"),
    Metric("Maximum error supported", "errors", "max_errors", "compiler", "max_errors", whole=True),
    Metric("Threads per block", "threads", "block_threads", "compiler", "block_threads", whole=True),
    Metric("Shared memory per block", "KiB", "shared_memory_per_block", "compiler", "shared_bytes", 1 / 1024),
    Metric("Registers per thread", "registers", "registers_per_thread", "compiler", "registers", whole=True),
    Metric("Local memory per thread", "bytes", "local_memory_per_thread", "compiler", "local_bytes", whole=True),
    Metric("Occupancy by the compiler's facts (active warps per SM)", "warps/SM", "theoretical_active_warps_per_sm",
           "compiler", "active_warps_per_sm", whole=True),
    Metric("Occupancy (active warps per SM)", "warps/SM", "active_warps_per_sm", "ncu", "active_warps_per_sm"),
    Metric("Kernel time", "ms", "kernel_time", "ncu", "kernel_time_s", 1e3),
    Metric("Time of all kernels of a call", "ms", "time_kernel", "timings_s", "time_kernel", 1e3),
    Metric("SM busy", "%", "sm_busy", "ncu", "sm_busy_percent"),
    Metric("Issue slots busy", "%", "issue_slots_busy", "ncu", "issue_slots_busy_percent"),
    Metric("Global memory throughput", "GiB/s", "global_memory_throughput", "ncu", "global_throughput_gib_s"),
    Metric("Executed warp instructions", "1e9 instructions", "warp_instructions", "ncu", "warp_instructions", 1e-9),
    Metric("Avg. active threads per warp", "threads/warp", "active_threads_per_warp", "ncu", "active_threads_per_warp"),
    Metric("Warp cycles per issued instruction", "cycles", "warp_cycles_per_issued_instruction", "ncu",
           "warp_cycles_per_issued_instruction"),
)  # fmt: skip
#: Where a profile is marked so (profiles.Profile.doubt), what that means.
DOUBTS = {
    "stale": "Stale: the kernels' sources have changed since.",
    "of unknown sources": "Of unknown sources: read before the hash of the kernels' sources was kept.",
}
#: Sentences under both tables.
DEFINITIONS = (
    "Ours: kernel time, counters and averages are ncu's, over all launches of the kernel in one call: counts and times "
    "are added up, averages weighted by what they are averages over. ncu leaves the clocks as they are and flushes the "
    "caches before each pass.",
    "SM busy is ncu's: the busiest of an SM's issue slots and pipelines (sm__instruction_throughput). In the thesis it "
    "is the issue slots: its warp cycles per issued instruction are occupancy / (4 × SM busy).",
    "Global memory throughput is bytes of device memory (dram__bytes) over the kernel's time. The thesis' product of "
    "the two is about the packed letters of its pairs, once, and the answers.",
    "Occupancy by the compiler's facts is the most warps that the kernel's registers and shared memory allow on an SM.",
    "The times of a call are by the GPU's clock without a profiler, the median of several calls. All kernels are the "
    "alignment kernel and those that turn its vectors into CIGARs. Packing the letters is apart, and not shown: while "
    "other batches' kernels run, it waits for them, and its time would be theirs.",
)


@dataclass(frozen=True)
class Column:
    """A column: of the thesis (profile None), of a cell of a host's profile, or of a host without one (cell None)."""

    name: str
    source: str
    host: str
    values: list
    profile: profiles.Profile | None = None
    cell: dict | None = None
    kernel: str = ""


def paper_columns(values):
    """The thesis' columns in its order. values: papers.read()."""
    for name in dict.fromkeys(column for _, column in values):
        found = [values.get((metric.name, name), {}) for metric in METRICS]
        told = [next(iter(of_metric.values()), None) for of_metric in found]
        cells = [Value(one.value, note=one.note) if one else Value(why=NOT_PRINTED) for one in told]
        yield Column(name, "paper", "V100", cells)


def host_columns(hosts, here, table):
    """The columns of each host's profile; of this host one that says why, where it has none."""
    for profile in hosts:
        for cell in profile.content["cells"]:
            if cell["table"] == table:
                kernel = executed(cell)
                values = [_value(metric, cell, kernel, profile.content["ncu"]) for metric in METRICS]
                _, length, error = cell["dataset"].split("_")
                yield Column(
                    f"{length} nt {error[1:]}% ({kernel})", profile.source, profile.host, values, profile, cell, kernel
                )
    why = profiles.absent(hosts, here)
    if why:
        yield Column("", "here", here, [Value(why=why)] * len(METRICS))


def executed(cell):
    """The kernel that a cell is about: the one that was asked for, else the one that answered most pairs."""
    return cell["first_kernel"] or max(cell["answered"], key=cell["answered"].get)


def _value(metric, cell, kernel, ncu):
    if metric.key == "kernel":
        return Value(kernel)
    if metric.key == "answered":
        return Value(percent(cell["answered"][kernel]).removesuffix(" %"))
    if metric.part == "timings_s":
        calls = cell["timings_s"].get(metric.key)
        return _number(metric, median(calls) if calls else None, "the call told no such time")
    if metric.part == "compiler":
        return _number(metric, cell["compiler"].get(kernel, {}).get(metric.key), cell["compiler_reason"])
    return _number(metric, cell["ncu"].get(kernel, {}).get(metric.key), ncu["reason"] or "ncu gave no such value")


def _number(metric, value, why):
    if value is None:
        return Value(why=f"not measured: {why or 'not told'}")
    return Value(f"{value:.0f}" if metric.whole else significant(value * metric.scale, 4))


def table(id_, title, caption, columns, hosts):
    """The PlainTable of these Columns. hosts: Profiles."""
    lines = []
    for i, metric in enumerate(METRICS):
        values = [column.values[i] for column in columns]
        if not any(value.text for value in values):
            continue  # a row of ours, and no host has a profile
        name = metric.name if not metric.unit or "(" in metric.name else f"{metric.name} ({metric.unit})"
        shown = [value.shown(column.source == "paper") for value, column in zip(values, columns, strict=True)]
        lines.append(TextLine([Text(name), *shown]))
    head = ["Metric", *map(_head, columns)]
    return PlainTable(id_, title, caption, head, lines, list(_notes(columns, hosts)))


def _head(column):
    if column.source == "paper":
        return f"{column.name} (thesis, {column.host})"
    where = f"this host: {column.host}"
    if column.profile:
        where = ", ".join(filter(None, [column.profile.where, column.profile.doubt]))
    return f"{column.name}, {count(column.cell['pairs'])} pairs ({where})" if column.cell else where


def _notes(columns, hosts):
    noted = {}
    for column in columns:
        for metric, value in zip(METRICS, column.values, strict=True):
            if value.note:
                noted.setdefault((metric.name, value.note), []).append(column.name)
    for (metric, note), names in noted.items():
        yield f"† {metric}, {', '.join(names)}: {note}."
    if hosts:
        yield from DEFINITIONS
    told = {profile.doubt for profile in hosts}
    yield from (meaning for doubt, meaning in DOUBTS.items() if doubt in told)
    for profile in hosts:
        ncu = profile.content["ncu"]
        version = f"ncu {ncu['version']}" if ncu["version"] else ""
        watched = f"it watched {ncu['pairs']:,} pairs of each, its sums are scaled" if ncu.get("pairs") else ""
        yield f"{profile.provenance} {'; '.join(filter(None, [version, ncu['reason'] or watched]))}."


def csv_rows(id_, columns):
    """One dict a cell."""
    for column in columns:
        doubt = column.profile.doubt if column.profile else ""
        for metric, value in zip(METRICS, column.values, strict=True):
            yield {
                "table": id_, "metric": metric.name, "quantity": metric.quantity, "unit": metric.unit,
                "column": column.name, "source": column.source, "host": column.host,
                "dataset": (column.cell or {}).get("dataset"), "kernel": column.kernel,
                "pairs": (column.cell or {}).get("pairs"), "value": value.text,
                "status": value.status,
                "commit": column.profile.content["commit"] if column.profile else "",
                "note": "; ".join(filter(None, [doubt, value.note])),
            }  # fmt: skip


def tidy_rows(rows):
    """The same with the columns of every tidy file, times in seconds: what has no column of its own is in the note."""
    for row in rows:
        note = "; ".join(filter(None, [row["column"], row["note"]]))
        kept = {k: v for k, v in row.items() if k not in ("metric", "column", "kernel")}
        tool = ("eWFA-GPU", "") if row["source"] == "paper" else ("wavebench-edit", "paper")
        kept |= {"tool": tool[0], "variant": tool[1], "scope": "cigar", "metric": "edit", "note": note}
        if row["unit"] == "ms":
            kept |= {"unit": "s", "value": f"{float(row['value']) / 1e3:.9g}" if row["value"] else ""}
        if row["dataset"]:
            _, length, error = row["dataset"].split("_")
            kept |= {"length_bp": length, "error": f"{float(error[1:]) / 100:g}"}
        yield kept


def command(id_, title, caption):
    """The click command of one of the tables."""

    @click.command(help=title)
    @click.argument("files", nargs=-1)
    @click.option("--paper", required=True, help=f"config/papers/{id_}.csv.")
    @click.option("--host", required=True, help="Id of this host.")
    @click.option("--out", required=True, help="Path without suffix: .csv .md .html .tidy.csv are written.")
    def main(files, paper, host, out):
        try:
            values, hosts = papers.read(paper), profiles.of_hosts(files, host, "kernels")
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        columns = [*paper_columns(values), *host_columns(hosts, host, id_)]
        rows = list(csv_rows(id_, columns))
        shown = table(id_, title, caption, columns, hosts)
        table_plain.write_all(shown, out, COLUMNS, rows, tidy_rows(rows))

    return main
