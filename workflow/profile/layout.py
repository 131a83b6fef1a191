"""The layout of a profile's file: which kinds there are, and what a file must hold to be one."""

#: Version of the files' layout: what reads them refuses another one.
LAYOUT = 1
#: Kind -> the key of what was read from the GPU.
KINDS = {"kernels": "cells", "timeline": "designs", "occupancy": "kernels"}


def fault(content, kind):
    """Why a file's JSON is no profile of that kind, as a predicate; "" for one."""
    keys = ("host", "host_card", "commit", "time_utc", KINDS[kind])
    if not isinstance(content, dict) or content.get("kind") != kind or any(key not in content for key in keys):
        return f"is no profile of kind {kind!r}"
    if content.get("layout") != LAYOUT:
        return f"has layout {content.get('layout')!r}, this version reads {LAYOUT}"
    return ""
