"""Turn a path or URL into a local file: ``python -m workflow.scripts.fetch https://host/reads.fq.gz --cache DIR``.

A plain path or file:// URL is used where it lies. An http(s) URL is downloaded once into the cache folder: streamed to
a temporary file, checked, then renamed, so that the cache never holds a part of a file.
"""

import hashlib
import http.client
import os
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import click

from workflow.scripts.real_data import RealDataError, split_url

#: Seconds without a byte after which a download is given up.
TIMEOUT_S = 60
_BLOCK_BYTES = 1 << 20
#: Most letters of a URL's last part in the name of its file, which with a hash before them may have 255.
_LAST_LETTERS = 200


def fetch(source, sha256="", cache="results/cache", timeout_s=TIMEOUT_S):
    """Local path of source; downloaded into cache when it is an http(s) URL not there yet.

    sha256: 64 hex digits, or "" to go unchecked. A cached file that does not match is downloaded again.
    Raises RealDataError naming the source (and both hashes) when it cannot be had or does not match.
    """
    parts = split_url(source)
    if parts.scheme in ("http", "https"):
        return _fetch_url(source, sha256, cache, timeout_s)
    path = _local_path(source, parts)
    if not os.path.isfile(path):
        raise RealDataError(f"{source}: {'is a directory' if os.path.isdir(path) else 'no such file'}")
    _check(source, sha256, _hash(path) if sha256 else "")
    return path


def local_name(source):
    """Name of the file that fetch() gives of source."""
    parts = split_url(source)
    return cached_name(source) if parts.scheme in ("http", "https") else os.path.basename(_local_path(source, parts))


def _local_path(source, parts):
    if parts.scheme == "file":
        return urllib.request.url2pathname(parts.path)
    if "://" in source:
        raise RealDataError(f"{source}: unknown kind of URL {parts.scheme}://; allowed are file, http and https")
    return source


def cached_name(url):
    """File name of a URL in the cache: told apart by a hash of the URL, readable by its last part."""
    last = os.path.basename(urllib.parse.urlsplit(url).path)[-_LAST_LETTERS:] or "download"
    return f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{last}"


def _fetch_url(url, sha256, cache, timeout_s):
    path = os.path.join(cache, cached_name(url))
    if os.path.exists(path) and (not sha256 or _hash(path) == sha256.lower()):
        return path
    try:
        os.makedirs(cache, exist_ok=True)
        handle, beside = tempfile.mkstemp(".part", dir=cache)
    except OSError as error:
        raise RealDataError(f"{cache}: cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "wb") as sink:
            found = _download(url, sink, timeout_s)
        _check(url, sha256, found)
        os.chmod(beside, 0o644)  # mkstemp's file is the owner's alone; a cache may be shared
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.remove(beside)
    return path


def _download(url, sink, timeout_s):
    """Stream url into sink; its SHA-256 in hex."""
    digest, received = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as response:
            length = response.length  # None where the server tells none
            while block := response.read(_BLOCK_BYTES):
                sink.write(block)
                digest.update(block)
                received += len(block)
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: letters that no URL may have
        reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
        raise RealDataError(f"{url}: cannot be downloaded ({reason})") from None
    # read(n) ends quietly when the connection is cut: only the length tells.
    if length is not None and received != length:
        raise RealDataError(f"{url}: cut off after {received} of {length} bytes")
    return digest.hexdigest()


def _hash(path):
    try:
        with open(path, "rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError as error:
        raise RealDataError(f"{path}: cannot be read ({error.strerror})") from None


def _check(source, wanted, found):
    if wanted and found != wanted.lower():
        raise RealDataError(f"{source}: its sha256 is {found}, not {wanted.lower()} as configured")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("source")
@click.option("--sha256", default="", help="64 hex digits that the file must have.")
@click.option("--cache", default="results/cache", show_default=True, help="Folder for downloads.")
def command(source, sha256, cache):
    """Print the local path of SOURCE, a path or a file, http or https URL; download it into the cache if needed."""
    try:
        path = os.path.abspath(fetch(source, sha256, cache))
    except RealDataError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    click.echo(path)


if __name__ == "__main__":
    command()
