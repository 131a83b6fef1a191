"""A folder for compiled kernels where Numba finds none: it keeps them beside the sources or in the user's home.

Where neither can be written (a container that runs as another user without a home) Numba fails at import.
"""

import atexit
import os
import shutil
import tempfile

from numba import config, njit


def _probe():
    """A function to cache."""


def ensure():
    """Where kernels can be kept nowhere, point Numba to a folder of this process, which is removed at its end.

    A private one: a folder shared in /tmp could hold another user's code.
    """
    try:
        njit(cache=True)(_probe)
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="wfa-kernels-")
        os.environ["NUMBA_CACHE_DIR"] = folder
        config.reload_config()
        atexit.register(_remove, folder, os.getpid())


def _remove(folder, owner):
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
