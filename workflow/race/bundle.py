"""Bundles: the samples of one machine as a zip, to join the tables of another."""

import io
import zipfile
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from workflow.race.samples import SCHEMA


class BundleError(ValueError):
    """Something that is not a bundle of samples: the message names the file."""


def export(samples, out):
    """Zip every race file under ``samples/<lane>/<host>/<experiment>/``; the number of races.

    Inside the bundle they lie as under results/recorded: ``<host>/<lane>/<experiment>/<dataset>.parquet``.
    """
    files = sorted(Path(samples).glob("*/*/*/*.parquet"))
    if not files:
        raise BundleError(f"{samples}: holds no samples (<lane>/<host>/<experiment>/<dataset>.parquet)")
    try:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as bundle:
            for path in files:
                lane, host, experiment, name = path.relative_to(samples).parts
                bundle.write(path, f"{host}/{lane}/{experiment}/{name}")
    except OSError as error:
        raise BundleError(f"{out}: cannot be written ({error.strerror})") from None
    return len(files)


def take(bundle, recorded):
    """Unpack a bundle under ``recorded/``, unedited; the number of races. Nothing is written when any is bad."""
    try:
        with zipfile.ZipFile(bundle) as archive:
            content = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    except OSError as error:
        raise BundleError(f"{bundle}: cannot be read ({error.strerror})") from None
    except zipfile.BadZipFile:
        raise BundleError(f"{bundle}: not a bundle (the zip file that `export` writes)") from None
    if not content:
        raise BundleError(f"{bundle}: holds no samples")
    for name, data in content.items():
        _check(bundle, name, data)
    try:
        for name, data in content.items():
            target = Path(recorded, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    except OSError as error:
        raise BundleError(f"{recorded}: cannot be written ({error.strerror})") from None
    return len(content)


def _check(bundle, name, data):
    parts = PurePosixPath(name).parts
    if len(parts) != 4 or any(part.startswith((".", "/")) for part in parts) or not name.endswith(".parquet"):
        raise BundleError(f"{bundle}: {name!r} is not <host>/<lane>/<experiment>/<dataset>.parquet")
    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowInvalid, OSError):
        raise BundleError(f"{bundle}: {name} is not a Parquet file") from None
    missing = [field for field in SCHEMA.names if field not in table.column_names]
    if missing:
        raise BundleError(f"{bundle}: {name} lacks the column {missing[0]!r}: made by another version")
    wrong = {row for row in table.column("host").to_pylist() if row != parts[0]}
    if wrong:
        raise BundleError(f"{bundle}: {name} holds samples of host {wrong.pop()!r}")
