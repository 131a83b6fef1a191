"""The report's first page: what was run, whether it can be trusted, where our kernels stand, what is missing."""

import csv
import json
from collections import Counter

from workflow.scripts.format_numbers import percent, short_commit, significant
from workflow.scripts.ratios import speedups
from workflow.scripts.table import TOOL_NAMES, tool_id

REFERENCE = "wavebench-wfa:cpu"
#: Drift of the canary loop above which the reader is warned.
NOISY = 0.1


def hosts(measurements, races):
    """One dict a host: name, source, what it is, lanes, commits, first and last day, races."""
    cards = {race.host: race.card.get("host_card", {}) for race in races}
    found = {}
    for m in measurements:
        host = found.setdefault(
            (m["source"], m["host"]), {"lanes": set(), "commits": set(), "times": [], "races": set()}
        )
        host["lanes"].add(m["lane"])
        host["commits"].add(short_commit(m["commit"]))
        host["times"].append((m["time_utc"] or "")[:10])
        host["races"].add(m["race_id"])
    return [
        {
            "name": name,
            "source": "this host" if source == "here" else "recorded host",
            "card": card_text(cards.get(name, {})),
            "lanes": sorted(h["lanes"]),
            "commits": sorted(h["commits"]),
            "days": sorted({min(h["times"]), max(h["times"])}),
            "races": len(h["races"]),
        }
        for (source, name), h in sorted(found.items())
    ]


def card_text(card):
    """A host card in a line."""
    told = [card.get("cpu"), f"{card['cores']} cores" if card.get("cores") else None]
    told.append(f"{card['memory_gib']} GiB memory" if card.get("memory_gib") else None)
    told += [f"{gpu.get('name')} (driver {gpu.get('driver')})" for gpu in card.get("gpus") or []]
    if card and not card.get("gpus"):
        told.append("no GPU")
    told.append(f"Python {card['python']}, numba {card['numba']}" if card.get("numba") else None)
    return ", ".join(filter(None, told)) or "no host card"


def verification(measurements):
    """Verdict on every timed cell of our tables: counts, and the names of the tools that broke their promise."""
    timed = [m for m in measurements if m["main"] and m["status"] == "ok" and m["median_s"] is not None]
    judged = [m for m in timed if m["recall_native"] is not None]
    wrong = [
        f"{_tool(m)} on {m['dataset']} ({m['scope']}, recall {percent(m['recall_native'])})"
        for m in judged
        if m["exact"] and m["recall_native"] < 1
    ]
    refused = Counter()
    for m in timed:
        for name, n in json.loads(m["refused"] or "{}").items():
            refused[f"{_tool(m)}: {name.replace('_', ' ')}"] += n
    return {
        "timed": len(timed),
        "judged": len(judged),
        "pairs": int(sum(m.get("verified") or 0 for m in judged)),
        "wrong": sorted(set(wrong)),
        "refused": [f"{what}, {n} pairs" for what, n in sorted(refused.items())],
        "stale": sorted({_tool(m) for m in timed if m["stale"]}),
    }


def validity(measurements):
    """Verdict on the races: twins and canary."""
    races = {m["race_id"]: m for m in measurements}
    drifts = [abs(m["canary_drift"]) for m in races.values() if m["canary_drift"] is not None]
    invalid = sorted(f"{m['experiment']} {m['dataset']} on {m['host']}: {m['race_note']}" for m in races.values()
                     if not m["race_valid"])  # fmt: skip
    most = max(drifts, default=0)
    drift = f"{significant(100 * most, 2)} %" if drifts else "not measured"
    return {"races": len(races), "invalid": invalid, "drift": drift, "noisy": most > NOISY}


def standing(races):
    """For each experiment and scope, our kernel on all cores against the fastest other tool of each data set.

    A tool with wrong answers does not count, nor one that optimises another objective than the experiment's.
    List of dicts: experiment, host, scope, threads, slower, cells, rows; a row is data set, tool, ratio text.
    """
    groups = {}
    for race in races:
        threads = max(row["threads"] for row in race.rows)
        easier = {tool_id(row) for row in race.rows if row["recall_affine"] is not None and row["recall_affine"] < 1}
        for scope in sorted({row["scope"] for row in race.rows}):
            others = [s for s in speedups(race, REFERENCE, scope, threads) if s.median is not None and not s.inexact]
            peers = [s for s in others if not s.tool.startswith("wavebench") and s.tool not in easier]
            if peers:
                best = min(peers, key=lambda s: s.median)
                key = (race.rows[0]["experiment"], race.host, scope, threads)
                groups.setdefault(key, []).append(best)
    return [
        {
            "experiment": experiment, "host": host, "scope": scope, "threads": threads, "cells": len(rows),
            "faster": sum(s.low > 1 for s in rows), "slower": sum(s.high < 1 for s in rows),
            "rows": [(s.dataset, TOOL_NAMES.get(s.tool, s.tool), ratio_text(s)) for s in rows],
            "least": _at(min(rows, key=lambda s: s.median)), "most": _at(max(rows, key=lambda s: s.median)),
        }
        for (experiment, host, scope, threads), rows in sorted(groups.items())
    ]  # fmt: skip


def ratio_text(speedup):
    """``2.31× [2.28, 2.35]``."""
    return f"{significant(speedup.median)}× [{significant(speedup.low)}, {significant(speedup.high)}]"


def _at(speedup):
    return f"{ratio_text(speedup)} over {TOOL_NAMES.get(speedup.tool, speedup.tool)} on {speedup.dataset}"


def missing(table_files):
    """[(why, cells)] of the cells of ours without a time, most frequent first; table_files: the tables' CSV files."""
    why = Counter()
    for path in table_files:
        with open(path, newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if row.get("source") in ("here", "recorded") and row.get("status", "ok") != "ok":
                    why[row["status"].split(":")[0]] += 1
    return why.most_common()


def _tool(measurement):
    name = tool_id(measurement)
    return TOOL_NAMES.get(name, name)
