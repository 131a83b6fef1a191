"""The GPU of each host, from the host cards of its races and profiles, and what config/gpus.csv knows of its model."""

from dataclasses import dataclass, field

from workflow.race import samples
from workflow.scripts import csv_file, profiles

MODEL_COLUMNS = ["device", "property", "value", "unit", "source"]
#: Cores (32-bit floating-point additions a clock) of an SM by compute capability, which no attribute tells: CUDA C++
#: Programming Guide, table of the throughput of native arithmetic instructions.
CORES_PER_SM = {
    "7.0": 64, "7.2": 64, "7.5": 64, "8.0": 64, "8.6": 128, "8.7": 128, "8.9": 128, "9.0": 128, "10.0": 128,
    "10.3": 128, "11.0": 128, "12.0": 128, "12.1": 128,
}  # fmt: skip
#: Where properties() are from that no attribute holds.
COMPUTED = {
    "Cores": "SMs times the cores of an SM of that compute capability (CUDA C++ Programming Guide)",
    "Memory bandwidth": "computed from the memory clock and the bus width",
}


@dataclass(frozen=True)
class HostGpu:
    """A host's first GPU.

    source: "recorded" | "here". card: its host card, {} where no race has one. lane, commit, time_utc: of the race
    that the card is from; lane "" for a profile.
    """

    source: str
    host: str
    card: dict = field(default_factory=dict)
    lane: str = ""
    commit: str = ""
    time_utc: str = ""

    @property
    def rank(self):
        """Sort key among the cards of one host."""
        return card_rank(self.card, self.time_utc)

    @property
    def gpu(self):
        """{name, driver, memory_mib, clock_mhz} as text, or {}."""
        return (self.card.get("gpus") or [{}])[0]

    @property
    def told(self):
        """{property of thesis Tab 2: value} in the table's units, as the card's gpu_attributes tell it; {} without."""
        return properties(self.card.get("gpu_attributes") or {})

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

    files: race files (Parquet) and profiles of kernels (JSON). here: id of this host. Of a host's cards the newest
    counts that has the measured bandwidth and the GPU's attributes, else one of them, else the newest. Raises
    samples.SamplesError or profiles.ProfileFileError, both ValueErrors.
    """
    found = {}
    for path in files:
        for row, card in cards(str(path)):
            host = HostGpu("here" if row["host"] == here else "recorded", row["host"], card, row.get("lane", ""),
                           row["commit"] or "", row["time_utc"] or "")  # fmt: skip
            if host.host not in found or host.rank > found[host.host].rank:
                found[host.host] = host
    this = found.pop(here, HostGpu("here", here))
    return [*(found[name] for name in sorted(found)), this]


def cards(path):
    """[(row with host, commit, time_utc and, of a race, race_id; host card)] of a file. Raises samples.SamplesError."""
    if path.endswith(".json"):
        profile = profiles.read(path, "kernels")
        return [(profile, profile["host_card"])]
    table, race = samples.read(path)
    return [(row, race.get("host_card") or {}) for row in table.slice(0, 1).to_pylist()]


def card_rank(card, time_utc):
    """Sort key of a host's cards: the greatest is the one to show."""
    measured = [bool(card.get(key)) for key in ("pcie_gb_s", "gpu_attributes")]
    return sum(measured), bool(card), time_utc


def properties(attributes):
    """{property of thesis Tab 2: number, or text} from race.gpu_attributes.read(); what it lacks is left out."""

    def of(formula, *keys):
        values = [attributes.get(key) for key in keys]
        return None if None in values else formula(*values)

    cores = CORES_PER_SM.get(attributes.get("compute_capability"))
    found = {
        "Compute capability": attributes.get("compute_capability"),
        "SMs": attributes.get("sms"),
        "Cores": of(lambda sms: sms * cores, "sms") if cores else None,
        "Maximum warps per SM": of(lambda threads, warp: threads // warp, "threads_per_sm", "warp_threads"),
        "Register space per SM": of(lambda registers: registers * 4 / 1024, "registers_per_sm"),
        "Shared memory per SM": of(_kib, "shared_bytes_per_sm"),
        "Shared memory per block": of(_kib, "shared_bytes_per_block"),
        "Shared memory per block, opt-in": of(_kib, "shared_bytes_per_block_optin"),
        "L2 cache size": of(_kib, "l2_bytes"),
        "Memory clock": of(lambda khz: khz / 1000, "memory_clock_khz"),
        "Memory bus width": attributes.get("memory_bus_bits"),
        # Two transfers a clock on every line of the bus.
        "Memory bandwidth": of(lambda khz, bits: 2 * khz * 1e3 * bits / 8 / 1e9, "memory_clock_khz", "memory_bus_bits"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _kib(size_bytes):
    return size_bytes / 1024


def models(path):
    """{(name of the GPU, property): (value as text, source)}. Raises ValueError, naming the file."""
    rows = csv_file.read(path, MODEL_COLUMNS, ValueError)
    return {(row["device"], row["property"]): (row["value"], row["source"]) for _, row in rows}
