"""Child processes that end with their parent."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
# Loaded here: between fork and exec a child may do little else than call it.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_parent(parent=None):
    """Have the system kill this process when its parent goes, however it goes (Linux; elsewhere nothing).

    parent: its process id, for a child that was forked: where it has gone already, this process ends at once.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if parent is not None and os.getppid() != parent:
            os._exit(1)
