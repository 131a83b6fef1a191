"""thesis Tab 2 (ewfa Tab 5): properties of the GPUs; ours as the races' host cards tell them."""

from dataclasses import dataclass

import click

from workflow.race.bandwidth import COPIES, SIZE_BYTES
from workflow.scripts import gpu_cards, papers, table_plain
from workflow.scripts.format_numbers import short_commit, significant
from workflow.scripts.table_plain import PlainTable, Text, TextLine, Value

TITLE = "thesis Tab 2 (ewfa Tab 5): properties of the devices"
CAPTION = (
    "The thesis' GPUs beside the GPU of each host whose races are shown in thesis Tab 1. The thesis' 877 MHz of the "
    "V100 is its memory clock, not the clock of its SMs. Bandwidths between host and device of ours are measured: the "
    f"fastest of {COPIES} copies of {SIZE_BYTES >> 20} MiB between the host and its first GPU. The memory bandwidth is "
    "theoretical: two transfers a memory clock on every line of the bus."
)
COLUMNS = [
    "table", "property", "quantity", "unit", "device", "source", "host", "lane", "value", "status", "commit", "note",
]  # fmt: skip
NOT_PRINTED = "not in the thesis"


@dataclass(frozen=True)
class Property:
    """A row. name: the thesis', config/gpus.csv's and gpu_cards.properties()'.

    gpu: key of the host card's GPU, as nvidia-smi tells it; copy: of its bandwidths.
    """

    name: str
    unit: str
    quantity: str
    gpu: str = ""
    copy: str = ""


PROPERTIES = (
    Property("Compute capability", "", "compute_capability"),
    Property("Clock frequency", "MHz", "clock", gpu="clock_mhz"),
    Property("SMs", "count", "sms"),
    Property("Cores", "count", "cores"),
    Property("Maximum warps per SM", "count", "warps_per_sm"),
    Property("Register space per SM", "KiB", "registers_per_sm"),
    Property("Shared memory per SM", "KiB", "shared_memory_per_sm"),
    Property("Shared memory per block", "KiB", "shared_memory_per_block"),
    Property("Shared memory per block, opt-in", "KiB", "shared_memory_per_block_optin"),
    Property("Global memory size", "GiB", "global_memory", gpu="memory_mib"),
    Property("L2 cache size", "KiB", "l2_cache"),
    Property("Memory clock", "MHz", "memory_clock"),
    Property("Memory bus width", "bits", "memory_bus_width"),
    Property("Memory bandwidth", "GB/s", "memory_bandwidth"),
    Property("Host to Device bandwidth", "GB/s", "bandwidth_h2d_pinned", copy="h2d_pinned"),
    Property("Device to Host bandwidth", "GB/s", "bandwidth_d2h_pinned", copy="d2h_pinned"),
    Property("Host to Device bandwidth, ordinary arrays", "GB/s", "bandwidth_h2d_pageable", copy="h2d_pageable"),
    Property("Device to Host bandwidth, ordinary arrays", "GB/s", "bandwidth_d2h_pageable", copy="d2h_pageable"),
)
PER_UNIT = {"memory_mib": 1024}  # MiB a GiB
FROM_THE_DRIVER = "read from the device"


def printed(device, prop, values):
    """The Value of a device of the thesis."""
    found = values.get((prop.name, device), {}).get(prop.name)
    return Value(found.value, note=found.note) if found else Value(why=NOT_PRINTED)


def known(host, prop, models):
    """The Value of a host's GPU. models: gpu_cards.models()."""
    if host.without:
        return Value(why=host.without)
    if prop.copy:
        return _bandwidth(host, prop)
    if prop.gpu:
        return _from_nvidia_smi(host, prop)
    if prop.name in host.told:
        value = host.told[prop.name]
        text = value if isinstance(value, str) else f"{value:.6g}"
        return Value(text, note=gpu_cards.COMPUTED.get(prop.name, FROM_THE_DRIVER))
    value, source = models.get((host.gpu["name"], prop.name), ("", ""))
    if value:
        return Value(value, note=source)
    read = "the driver did not tell it" if host.card.get("gpu_attributes") else "its races did not ask the driver"
    return Value(why=f"not known: {read}, and config/gpus.csv does not tell it of {host.gpu['name']}")


def _bandwidth(host, prop):
    if "pcie_gb_s" not in host.card:
        return Value(why="not measured yet: its races are older than this measurement")
    measured = host.card["pcie_gb_s"]
    if not measured:
        return Value(why="not measured: the copies failed on this host")
    return Value(f"{measured[prop.copy]:g}", note="measured before a race")


def _from_nvidia_smi(host, prop):
    told = host.gpu.get(prop.gpu, "")
    try:
        return Value(significant(float(told) / PER_UNIT.get(prop.gpu, 1), 4), note="nvidia-smi")
    except ValueError:
        return Value(why=f"nvidia-smi does not tell it ({told or 'nothing'})")


def cells(values, hosts, models):
    """[(Property, device, HostGpu or None, Value)], property by property: the thesis' devices, then the hosts'."""
    devices = dict.fromkeys(device for _, device in values)
    found = []
    for prop in PROPERTIES:
        found += [(prop, device, None, printed(device, prop, values)) for device in devices]
        found += [(prop, host.gpu.get("name", ""), host, known(host, prop, models)) for host in hosts]
    return found


def table(filled, hosts):
    """The PlainTable. filled: cells()."""
    first = [(device, host) for prop, device, host, _ in filled if prop is PROPERTIES[0]]
    lines = []
    for prop in PROPERTIES:
        name = prop.name if prop.unit in ("", "count") else f"{prop.name} ({prop.unit})"
        lines.append(TextLine([Text(name), *(value.shown(host is None) for p, _, host, value in filled if p is prop)]))
    head = ["Property", *(_head(device, host) for device, host in first)]
    return PlainTable("thesis_tab2", TITLE, CAPTION, head, lines, list(_notes(filled, hosts)))


def _head(device, host):
    if host is None:
        return f"{device} (thesis)"
    where = f"{'this host' if host.source == 'here' else 'recorded'}: {host.host}"
    return f"{device} ({where})" if device else where


def _notes(filled, hosts):
    for prop, device, host, value in filled:
        if host is None and value.note:
            yield f"† {prop.name}, {device}: {value.note}."
    yield (
        "Of ours, the clock is the highest of the SMs and the memory what nvidia-smi lists. The thesis does not say "
        "from which memory it copied; its bandwidths stand beside ours of page-locked memory."
    )
    sources = {}
    for prop, device, host, value in filled:
        if host is not None and value.note and not prop.gpu and not prop.copy:
            sources.setdefault((device, value.note), []).append(prop.name)
    for (device, source), names in sources.items():
        yield f"{device}, {', '.join(dict.fromkeys(names))}: {source}."
    for host in hosts:
        yield _provenance(host)


def _provenance(host):
    where = "This host" if host.source == "here" else "Recorded"
    if host.without:
        return f"{where}: {host.host}: {host.without}."
    more = len(host.card["gpus"]) - 1
    lane = f"lane {host.lane}" if host.lane else "of its profile"
    return (
        f"{where}: {host.host}, driver {host.gpu.get('driver')}; host card of {host.time_utc[:10]}, {lane}, "
        f"commit {short_commit(host.commit)}{f'; the first of {more + 1} GPUs' if more else ''}."
    )


def csv_rows(filled):
    """One dict a cell."""
    for prop, device, host, value in filled:
        yield {
            "table": "thesis_tab2",
            "property": prop.name,
            "quantity": prop.quantity,
            "unit": prop.unit,
            "device": device,
            "source": host.source if host else "paper",
            "host": host.host if host else device,
            "lane": host.lane if host else "",
            "value": value.text,
            "status": value.status,
            "commit": host.commit if host else "",
            "note": value.note,
        }


def tidy_rows(filled):
    """One dict a value, with the columns of every tidy file; the device is named in the note."""
    for row in csv_rows(filled):
        note = f"{row['device'] or 'no GPU'}; {row['note']}".removesuffix("; ")
        yield {k: v for k, v in row.items() if k not in ("property", "device")} | {"note": note}


@click.command()
@click.argument("files", nargs=-1)
@click.option("--paper", required=True, help="config/papers/thesis_tab2.csv.")
@click.option("--gpus", required=True, help="config/gpus.csv: what is known of a GPU's model.")
@click.option("--host", required=True, help="Id of this host.")
@click.option("--out", required=True, help="Path without suffix: .csv .md .html .tidy.csv are written.")
def main(files, paper, gpus, host, out):
    """Properties of the thesis' GPUs and of those of the hosts of FILES, races and profiles."""
    try:
        values, models = papers.read(paper), gpu_cards.models(gpus)
        hosts = gpu_cards.of_hosts(files, host)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    filled = cells(values, hosts, models)
    table_plain.write_all(table(filled, hosts), out, COLUMNS, csv_rows(filled), tidy_rows(filled))


if __name__ == "__main__":
    main()
