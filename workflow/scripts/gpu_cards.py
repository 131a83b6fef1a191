"""The GPU of each host as its races' host cards tell it, and what is known of a GPU's model from config/gpus.csv."""

import csv
from dataclasses import dataclass, field

from workflow.race import samples

MODEL_COLUMNS = ["device", "property", "value", "unit", "source"]


@dataclass(frozen=True)
class HostGpu:
    """A host's first GPU.

    source: "recorded" | "here". card: its host card, {} where no race has one. lane, commit, time_utc: of the race
    that the card is from.
    """

    source: str
    host: str
    card: dict = field(default_factory=dict)
    lane: str = ""
    commit: str = ""
    time_utc: str = ""

    @property
    def gpu(self):
        """{name, driver, memory_mib, clock_mhz} as text, or {}."""
        return (self.card.get("gpus") or [{}])[0]

    @property
    def without(self):
        """Why the host has no GPU to tell of, "" where it has one."""
        if self.gpu:
            return ""
        if not self.card:
            return "no race on this host yet" if self.source == "here" else "no host card in its races"
        return "no GPU on this host"


def of_hosts(files, here):
    """One HostGpu a host, the recorded ones by name, then this one, which is there even without a race.

    files: race files. here: id of this host. Of a host's cards the newest counts that has the measured bandwidth, else
    the newest. Raises samples.SamplesError, a ValueError.
    """
    found = {}
    for path in files:
        table, race = samples.read(path)
        for row in table.slice(0, 1).to_pylist():
            card = race.get("host_card") or {}
            host = HostGpu("here" if row["host"] == here else "recorded", row["host"], card, row["lane"],
                           row["commit"] or "", row["time_utc"] or "")  # fmt: skip
            if host.host not in found or _rank(host) > _rank(found[host.host]):
                found[host.host] = host
    this = found.pop(here, HostGpu("here", here))
    return [*(found[name] for name in sorted(found)), this]


def _rank(host):
    return bool(host.card.get("pcie_gb_s")), bool(host.card), host.time_utc


def models(path):
    """{(name of the GPU, property): (value as text, source)}. Raises ValueError, naming the file."""
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            if reader.fieldnames != MODEL_COLUMNS:
                raise ValueError(f"{path}: columns must be {','.join(MODEL_COLUMNS)}, not {reader.fieldnames}")
            return {(row["device"], row["property"]): (row["value"], row["source"]) for row in reader}
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error})") from None
