"""Fetching: a path or URL becomes a local file, whole and checked, downloaded once."""

import hashlib
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from workflow.scripts import fetch as fetching
from workflow.scripts.fetch import cached_name, fetch
from workflow.scripts.real_data import RealDataError

CONTENT = np.random.default_rng(0).bytes(100_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """/good: the content; /unsized: its length is not told, /missized: by no number; /cut: less than announced; /slow:
    nothing; else 404.

    Counts the good answers.
    """

    served = 0

    def do_GET(self):
        if self.path == "/slow/x":
            self.server.patience.wait(20)
            return
        known = self.path.startswith(("/good", "/unsized", "/missized", "/cut"))
        self.send_response(200 if known else 404)
        if self.path.startswith("/missized"):
            self.send_header("Content-Length", "all")
        elif not self.path.startswith("/unsized"):
            self.send_header("Content-Length", str(len(CONTENT)) if known else "0")
        self.end_headers()
        if known:
            Handler.served += 1
            self.wfile.write(CONTENT[: 1000 if self.path.startswith("/cut") else None])

    def log_message(self, *_arguments):
        """Quiet."""


@pytest.fixture
def url():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.patience, Handler.served = threading.Event(), 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.patience.set()
    server.shutdown()
    server.server_close()


def files_in(folder):
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def test_url_is_downloaded_once_and_checked(url, tmp_path):
    cache, source = tmp_path / "cache", f"{url}/good/reads.fa.gz?x=1"
    path = fetch(source, SHA256.upper(), cache)
    assert Path(path).read_bytes() == CONTENT
    assert path.endswith("-reads.fa.gz")
    assert fetch(source, SHA256, cache) == fetch(source, SHA256.upper(), cache) == fetch(source, "", cache) == path
    assert (Handler.served, files_in(cache)) == (1, [cached_name(source)])
    assert Path(path).stat().st_mode & 0o777 == 0o644, "a cache may be shared"


@pytest.mark.parametrize("path", ["/unsized/x", "/missized/x"])
def test_a_download_whose_length_is_not_told_is_taken(url, tmp_path, path):
    assert Path(fetch(url + path, SHA256, tmp_path)).read_bytes() == CONTENT


def test_a_url_without_a_last_part_has_a_name_in_the_cache():
    assert cached_name("https://some.host/reads/").endswith("-download")


def test_of_a_long_last_part_the_cache_keeps_the_end(url, tmp_path):
    path = Path(fetch(f"{url}/good/{'x' * 300}.fa.gz", "", tmp_path))
    assert path.read_bytes() == CONTENT and path.name.endswith("x.fa.gz")


def test_a_cache_that_cannot_be_is_one_error(url, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RealDataError, match=rf"^{tmp_path}/file: cannot be written \(File exists\)$"):
        fetch(f"{url}/good/x", "", tmp_path / "file")


def test_the_command_prints_the_path_of_the_checked_file(tmp_path, monkeypatch):
    (tmp_path / "reads.fa").write_bytes(CONTENT)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(fetching.command, ["reads.fa", "--sha256", SHA256])
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path}/reads.fa\n")
    done = CliRunner().invoke(fetching.command, ["reads.fa", "--sha256", "0" * 64])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: reads.fa: its sha256 is {SHA256}, not {'0' * 64} as configured\n"


def test_the_command_downloads_into_the_cache_that_is_named(url, tmp_path):
    done = CliRunner().invoke(fetching.command, [f"{url}/good/x", "--cache", str(tmp_path / "cache")])
    assert done.stdout == f"{tmp_path / 'cache' / cached_name(f'{url}/good/x')}\n"
    assert Path(done.stdout.strip()).read_bytes() == CONTENT


def test_damaged_cache_is_downloaded_again(url, tmp_path):
    source = f"{url}/good/x"
    path = fetch(source, SHA256, tmp_path)
    with open(path, "wb") as sink:
        sink.write(b"damaged")
    assert Path(fetch(source, SHA256, tmp_path)).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "sha256", "message"),
    [
        ("/none/x", "", "cannot be downloaded .HTTP 404"),
        ("/cut/x", "", f"cut off after 1000 of {len(CONTENT)} bytes"),
        ("/slow/x", "", "cannot be downloaded .*timed out"),
        ("/ä/x", "", "cannot be downloaded .*ordinal not in range"),
        ("/good/x", "0" * 64, f"sha256 is {SHA256}, not {'0' * 64}"),
    ],
)
def test_failed_downloads_name_the_url_and_leave_nothing(url, tmp_path, path, sha256, message):
    with pytest.raises(RealDataError, match=message) as caught:
        fetch(url + path, sha256, tmp_path, timeout_s=0.5)
    assert url + path in str(caught.value)
    assert files_in(tmp_path) == []


def test_refused_connection_is_one_error(tmp_path):
    with pytest.raises(RealDataError, match="http://127.0.0.1:9/x: cannot be downloaded"):
        fetch("http://127.0.0.1:9/x", "", tmp_path)


def test_local_paths_are_used_where_they_lie(tmp_path):
    path = tmp_path / "a b.fa"
    path.write_bytes(CONTENT)
    for source in (str(path), path.as_uri()):
        assert fetch(source, SHA256, tmp_path / "cache") == str(path)
        with pytest.raises(RealDataError, match=f"sha256 is {SHA256}, not {'0' * 64}"):
            fetch(source, "0" * 64, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    for source, message in (
        ("none.fa", "no such file"),
        (str(tmp_path), "is a directory"),
        ("s3://b/x", "unknown kind"),
        ("http://[bad/", r"http://\[bad/: not a URL"),
    ):
        with pytest.raises(RealDataError, match=message):
            fetch(source, "", tmp_path / "cache")
