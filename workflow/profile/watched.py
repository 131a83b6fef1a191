"""The tools whose kernels a profile watches, and of which sources they are: samples of races are keyed by the same."""

from workflow import aligners

#: Kind of profile -> ids of the tools.
TOOLS = {
    "kernels": ("wavebench-edit:paper",),
    "timeline": ("wavebench-edit:fast", "wavebench-edit:paper"),
    "occupancy": ("wavebench-affine:fast",),
}


def source_hashes(kind):
    """{tool id: source hash of this checkout} of a kind of profile's tools."""
    adapters = aligners.load()
    return {tool: adapters[tool].source_hash() for tool in TOOLS[kind]}
