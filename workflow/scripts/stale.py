"""Whether samples were measured with the sources that a tool has in this checkout: what every "stale" mark rests on."""

from workflow import aligners
from workflow.scripts.tools import tool_id


def current_hashes():
    """{tool id: source hash of this checkout}."""
    return {adapter.id: adapter.source_hash() for adapter in aligners.load().values()}


def is_stale(row, current):
    """The tool of a sample row is gone, or its sources have changed since. current: current_hashes()."""
    return current.get(tool_id(row)) != row["tool_source_hash"]
