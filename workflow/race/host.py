"""The host: its short id, which names samples, and its card, which tables show."""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess

import psutil

from workflow.race import bandwidth, gpu_attributes

#: Overrides the derived id, for hosts whose processor name says too little.
HOST_VARIABLE = "WAVEBENCH_HOST"
#: Letters of an id: it is a folder's name, and stands in titles.
MOST_ID = 60
#: What a system without a GPU is told apart by.
_MACHINE_ID = "/etc/machine-id"


class HostError(ValueError):
    """A name that cannot be a host's id; the text says what is allowed."""


def usable_cores():
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_name():
    """Processor name as the system gives it."""
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def gpus():
    """One dict (name, driver, memory_mib, clock_mhz) a GPU, as nvidia-smi lists them; [] where there is none."""
    rows = _told_by_gpus("name", "driver_version", "memory.total", "clocks.max.sm")
    return [dict(zip(("name", "driver", "memory_mib", "clock_mhz"), row, strict=False)) for row in rows]


def machine_code():
    """8 hex digits by which machines with one id are told apart, of the GPUs' serial numbers, else of the system's.

    None where neither is told. The numbers themselves cannot be read off it.
    """
    told = _told_by_gpus("uuid")
    if not told:
        with contextlib.suppress(OSError), open(_MACHINE_ID) as lines:
            told = lines.read().split()
    return hashlib.sha256(repr(told).encode()).hexdigest()[:8] if told else None


def _told_by_gpus(*fields):
    """What nvidia-smi tells of these fields, a list of texts a GPU; [] where there is none."""
    if not shutil.which("nvidia-smi"):
        return []
    query = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in answer.splitlines() if line.strip()]


def is_name(value):
    """Whether a value names a host, a lane, an experiment or a data set: paths of such go to a shell as they are."""
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", value) is not None


def chosen_id(given):
    """The id given on the command line as --host; without one, None, this host's. Raises HostError."""
    if given is None:
        return host_id()
    if not is_name(given):
        raise HostError(f"--host {given!r}: must be a name of letters, digits, '_', '.' and '-'")
    return given


def named_id():
    """The id that the variable WAVEBENCH_HOST names, "" without one. Raises HostError."""
    given = os.environ.get(HOST_VARIABLE, "")
    named = _slug(given)
    if given and not named:
        raise HostError(f"{HOST_VARIABLE} must hold a letter or digit of the host's name, not {given!r}")
    if len(named) > MOST_ID:
        raise HostError(f"{HOST_VARIABLE} is {len(named)} letters long, {MOST_ID} at most are allowed: {given!r}")
    return named


def host_id():
    """Short id for paths: the one named, or processor and usable cores, with the GPU first where there is one.

    Long names of processors are cut, the cores are not: they tell machines of one processor apart. Raises HostError.
    """
    named = named_id()
    if named:
        return named
    noise = r"\((R|TM|C)\)|\bCPU\b|\bProcessor\b|@\s*[\d.]+\s*[GM]Hz"
    names, cores = re.sub(noise, " ", cpu_name(), flags=re.IGNORECASE), f"{usable_cores()}c"
    found = gpus()
    if found:
        count = f"{len(found)}x " if len(found) > 1 else ""
        names = f"{count}{found[0]['name']} {names}"
    return _slug(f"{_slug(names)[: MOST_ID - len(cores) - 1]} {cores}")


def _slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def host_card(host=None):
    """What a reader needs to know of the machine: a JSON-able dict.

    machine: machine_code(): machines of one kind have one id, and differ.
    gpu_attributes, pcie_gb_s: of its first GPU (gpu_attributes.read(), bandwidth.measure()); None where there is none
    or it cannot be asked. Cards of older samples lack these three.
    """
    memory, cards = psutil.virtual_memory(), gpus()
    frequency = psutil.cpu_freq() if hasattr(psutil, "cpu_freq") else None
    return {
        "id": host or host_id(),
        "machine": machine_code(),
        "cpu": cpu_name(),
        "cores": usable_cores(),
        "clock_mhz": round(frequency.current) if frequency and frequency.current else None,
        "memory_gib": round(memory.total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numba": _version("numba"),
        "numba_cuda": _version("numba-cuda"),
        "numpy": _version("numpy"),
        "gpus": cards,
        "gpu_attributes": gpu_attributes.of_this_host() if cards else None,
        "pcie_gb_s": bandwidth.of_this_host() if cards else None,
    }


def _version(package):
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
