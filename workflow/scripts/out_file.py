"""Where a script writes to: its folder is made, and what cannot be written is one message."""

import os


class OutError(ValueError):
    """A file that cannot be written: the message names it."""


def prepare(path):
    """Make the folder of a file. Raises OutError unless the file could be written now."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OutError(f"{path}: cannot be written ({error.strerror})") from None
    if os.path.isdir(path):
        raise OutError(f"{path}: cannot be written (it is a directory)")
    if not os.access(folder, os.W_OK):
        raise OutError(f"{path}: cannot be written (permission denied)")
