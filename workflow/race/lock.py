"""One race at a time on a host, whatever the checkout: an advisory lock that dies with its process."""

import contextlib
import fcntl
import os
import sys
import time
from datetime import datetime

#: The host's lock file: one place for all users and checkouts, whatever their TMPDIR; the variable is for tests.
LOCK_VARIABLE = "WAVEBENCH_LOCK"
LOCK_PATH = "/tmp/wavebench-race.lock"


class LockError(ValueError):
    """A lock file that cannot be opened: the message names it."""


@contextlib.contextmanager
def host_lock(path=None, poll_s=1.0):
    """Hold the host's race lock; waits, and says so once, while another race holds it. Raises LockError."""
    descriptor = _open(path or os.environ.get(LOCK_VARIABLE, LOCK_PATH))
    try:
        waited = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waited:
                    holder = os.pread(descriptor, 1000, 0).decode(errors="replace").strip() or "unknown"
                    print(f"waiting: another race runs on this host: {holder}", file=sys.stderr, flush=True)
                    waited = True
                time.sleep(poll_s)
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            since = datetime.now().astimezone().isoformat(" ", "seconds")
            os.pwrite(descriptor, f"process {os.getpid()} since {since}, in {os.getcwd()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path):
    try:
        return _descriptor(path)
    except OSError as error:
        raise LockError(f"{LOCK_VARIABLE}: {path}: cannot be opened as the host's lock ({error.strerror})") from None


def _descriptor(path):
    # Another user may own the file: it is then opened without O_CREAT, which a sticky folder refuses for it, and
    # read-only if need be; flock works on any descriptor.
    for flags in (os.O_RDWR, os.O_RDONLY):
        with contextlib.suppress(FileNotFoundError, PermissionError):
            return os.open(path, flags)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    os.fchmod(descriptor, 0o666)
    return descriptor
