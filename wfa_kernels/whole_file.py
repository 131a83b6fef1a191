"""Files that are whole or not there: written beside their place, and moved there at the end."""

import contextlib
import os
import shutil


@contextlib.contextmanager
def beside(path):
    """A path to write to in the place of ``path``, where it lies when the block ends; an error leaves no part of it.

    What a link, a pipe or a device names (``/dev/stdout`` may be all of these) is written to as it stands: a file in
    its place would be another one. The permissions of a file that is replaced stay. Raises OSError.
    """
    if _stands(path):
        yield path
        return
    part = _part(path)
    try:
        yield part
        if os.path.exists(path):
            shutil.copymode(path, part)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def require_writable(path):
    """Raise OSError unless ``beside(path)`` could be written to now: to be asked before long work."""
    if _stands(path):
        open(path, "ab").close()
        return
    open(_part(path), "wb").close()
    os.remove(_part(path))


def _stands(path):
    return os.path.islink(path) or (os.path.exists(path) and not os.path.isfile(path))


def _part(path):
    return f"{path}.{os.getpid()}.part"
