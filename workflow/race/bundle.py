"""Bundles: the samples and profiles of one machine as a zip, to join the tables of another."""

import io
import json
import lzma
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from wfa_kernels import whole_file
from workflow.profile import layout
from workflow.race.host import is_name
from workflow.race.samples import SamplesError
from workflow.race.samples import read as read_race


class BundleError(ValueError):
    """Something that is not a bundle of samples: the message names the file."""


def export(samples, out, profiles="results/profile", recorded="results/recorded"):
    """Zip a machine's race files and profiles; (races, profiles), how many there are.

    samples: folder of ``<lane>/<host>/<experiment>/<dataset>.parquet``. profiles: folder of ``<host>/<kind>.json``.
    recorded: folder of ``<host>/profile/<kind>.json``, of which those of the hosts in the other two folders count.
    Inside the bundle all lie as under results/recorded: ``<host>/<lane>/<experiment>/<dataset>.parquet`` and
    ``<host>/profile/<kind>.json``. Raises BundleError, also for what take() would refuse.
    """
    races = {}
    for path in sorted(Path(samples).glob("*/*/*/*.parquet")):
        lane, host, experiment, name = path.relative_to(samples).parts
        races[f"{host}/{lane}/{experiment}/{name}"] = path
    own = {f"{path.parent.name}/profile/{path.name}": path for path in _profiles(profiles, "*")}
    hosts = {name.split("/")[0] for name in (*races, *own)}
    others = {path.relative_to(recorded).as_posix(): path for path in _profiles(recorded, "*/profile")}
    told = {name: path for name, path in others.items() if name.split("/")[0] in hosts} | own
    if not races and not told:
        raise BundleError(f"{samples}: holds no samples (<lane>/<host>/<experiment>/<dataset>.parquet)")
    for name, path in (races | told).items():
        _check(str(path), name, path.read_bytes())
    _write_zip(out, races | told)
    return len(races), len(told)


def _profiles(folder, within):
    return [path for kind in layout.KINDS for path in sorted(Path(folder).glob(f"{within}/{kind}.json"))]


def _write_zip(out, files):
    try:
        with whole_file.beside(out) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as bundle:
            for name, path in files.items():
                bundle.write(path, name)
    except OSError as error:
        raise BundleError(f"{out}: cannot be written ({error.strerror})") from None


def take(bundle, recorded):
    """Unpack a bundle under ``recorded/``, unedited; (races, profiles, replaced), how many: of them those that took the
    place of another file. Nothing is written when any is bad.

    A file appears whole or not at all, also when this process is killed.
    """
    content = _content(bundle)
    for name, data in content.items():
        _check(f"{bundle}: {name}", name, data)
    replaced = 0
    try:
        for name, data in content.items():
            target = Path(recorded, name)
            replaced += target.exists() and target.read_bytes() != data
            target.parent.mkdir(parents=True, exist_ok=True)
            with whole_file.beside(target) as part:
                Path(part).write_bytes(data)
    except OSError as error:
        raise BundleError(f"{recorded}: cannot be written ({error.strerror})") from None
    races = sum(name.endswith(".parquet") for name in content)
    return races, len(content) - races, replaced


def _content(bundle):
    """{name: bytes} of the files in a zip."""
    try:
        with zipfile.ZipFile(bundle) as archive:
            content = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    except OSError as error:
        reason = error.strerror or error  # what bzip2 cannot unpack has no number
        raise BundleError(f"{bundle}: cannot be read ({reason})") from None
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError):  # the last: it is encrypted
        raise BundleError(f"{bundle}: not a bundle (the zip file that `export` writes)") from None
    if not content:
        raise BundleError(f"{bundle}: holds no samples")
    return content


def _check(where, name, data):
    """Raise BundleError unless a file may lie in a bundle under that name. where: what the message calls it."""
    path = PurePosixPath(name)
    parts, kind = path.parts, path.name.removesuffix(".json")
    plain = all(map(is_name, parts))
    if len(parts) == 4 and plain and name.endswith(".parquet"):
        _check_race(where, parts, data)
    elif len(parts) == 3 and plain and parts[1:] == ("profile", f"{kind}.json") and kind in layout.KINDS:
        _check_profile(where, parts[0], kind, data)
    else:
        raise BundleError(
            f"{where} is neither <host>/<lane>/<experiment>/<dataset>.parquet nor <host>/profile/"
            f"<kind>.json, the kind one of {', '.join(layout.KINDS)}; names are of letters, digits, '_', '.' and '-'"
        )


def _check_race(where, parts, data):
    try:
        table, card = read_race(io.BytesIO(data))
    except SamplesError as error:
        raise BundleError(f"{where}: {str(error).partition(': ')[2]}") from None
    if not isinstance(card, dict):
        raise BundleError(f"{where} has a race card that is no mapping")
    for key, part in zip(("host", "lane", "experiment", "dataset"), parts, strict=True):
        wrong = {told for told in table.column(key).to_pylist() if told != part.removesuffix(".parquet")}
        if wrong:
            raise BundleError(f"{where} holds samples of {key} {wrong.pop()!r}")


def _check_profile(where, host, kind, data):
    try:
        content = json.loads(data)
    except ValueError:
        raise BundleError(f"{where} is not a JSON file") from None
    fault = layout.fault(content, kind)
    if fault:
        raise BundleError(f"{where} {fault}")
    if content["host"] != host:
        raise BundleError(f"{where} is of host {content['host']!r}")
