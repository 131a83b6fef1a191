"""Run an experiment: race every data set it names and write one samples file a race.

Works without Snakemake, so that a bare GPU host can produce samples. Finished races are kept in a store under a key of
all they depend on: a run that was stopped goes on where it was, and an unchanged race is not run again.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import yaml

from wfa_kernels import Affine, Edit, PairBatch, PairsError, PenaltyError
from workflow import aligners
from workflow.race import provenance, samples
from workflow.race.cells import Plan
from workflow.race.conductor import Conductor
from workflow.race.host import host_card, host_id, usable_cores
from workflow.race.lock import host_lock


class EngineError(ValueError):
    """A request the engine cannot serve: the message names the file and the key."""


def load_yaml(path):
    """The mapping a YAML file holds. Raises EngineError."""
    try:
        with open(path) as handle:
            content = yaml.safe_load(handle)
    except OSError as error:
        raise EngineError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise EngineError(f"{path}: not a text file") from None
    except yaml.YAMLError as error:
        raise EngineError(f"{path}: not YAML ({str(error).splitlines()[0]})") from None
    if not isinstance(content, dict):
        raise EngineError(f"{path}: must hold a mapping of keys")
    return content


def make_plan(experiment_path, lane_path, known_tools):
    """The Plan of an experiment under a lane. Raises EngineError naming file and key."""
    experiment, lane = load_yaml(experiment_path), load_yaml(lane_path)
    try:
        penalties = _penalties(experiment["penalties"], experiment_path)
        if lane["rounds"]["min"] < 5:
            raise EngineError(f"{lane_path}: rounds.min must be at least 5, not {lane['rounds']['min']}")
        unknown = [t for t in [*experiment["tools"], experiment["twin"]] if t not in known_tools]
        if unknown:
            raise EngineError(f"{experiment_path}: tools: unknown {unknown[0]!r}; known: {', '.join(known_tools)}")
        narrowed = {**experiment, **lane.get("narrow", {}).get(experiment["id"], {})}
        return Plan(
            experiment=experiment["id"],
            lane=lane["name"],
            penalties=penalties,
            scopes=tuple(narrowed["scopes"]),
            threads=tuple(dict.fromkeys(usable_cores() if t == "all" else t for t in narrowed["threads"])),
            tools=tuple(dict.fromkeys([*experiment["tools"], experiment["twin"]])),
            twin=experiment["twin"],
            min_rounds=lane["rounds"]["min"],
            max_rounds=lane["rounds"]["max"],
            round_seconds=lane["round_seconds"],
            race_seconds=lane["race_seconds"],
            timeout_seconds=lane["timeout_seconds"],
        )
    except KeyError as error:
        raise EngineError(f"{experiment_path} and {lane_path}: key {error} is missing") from None
    except TypeError as error:
        raise EngineError(f"{experiment_path} or {lane_path}: a key has a value of the wrong type ({error})") from None


def _penalties(value, path):
    try:
        return Edit() if value == "edit" else Affine(*value)
    except (PenaltyError, TypeError) as error:
        raise EngineError(f"{path}: penalties: {error}") from None


def run(experiment_path, lane_path, data, out, store, datasets=None, host=None, time_limit_s=None, say=None):
    """Race the experiment's data sets; returns the number left undone at time_limit_s.

    data: folder of ``<dataset>.arrow``. out: folder of the ``<dataset>.parquet`` to write. store: folder of finished
    races and exact scores. datasets: ids, by default every one whose file is in ``data`` and that the experiment names.
    """
    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    adapters = aligners.load()
    plan = make_plan(experiment_path, lane_path, list(adapters))
    paths = _dataset_paths(experiment_path, data, datasets)
    host = host or host_id()
    for folder in (out, store):
        _require_writable(folder)
    begin, longest = time.monotonic(), 0.0
    with host_lock(), Conductor(plan, adapters, os.path.join(store, "exact"), say) as conductor:
        for done, (dataset, path) in enumerate(paths.items()):
            passed = time.monotonic() - begin
            if time_limit_s and passed + 1.2 * longest > time_limit_s:
                say(f"[{plan.experiment}] stopped by its time limit with {len(paths) - done} data sets to go")
                return len(paths) - done
            eta = f", about {passed / done * (len(paths) - done) / 60:.0f} min left" if done else ""
            say(f"[{plan.experiment}] data set {done + 1} of {len(paths)}: {dataset}{eta}")
            _race_once(conductor, dataset, path, host, store, os.path.join(out, f"{dataset}.parquet"))
            longest = max(longest, time.monotonic() - begin - passed)
    say(f"[{plan.experiment}] done in {(time.monotonic() - begin) / 60:.1f} min")
    return 0


def _require_writable(folder):
    """Make the folder; raises EngineError now rather than after the first race."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{folder}: cannot be written ({error.strerror})") from None
    if not os.access(folder, os.W_OK):
        raise EngineError(f"{folder}: cannot be written (permission denied)")


def _dataset_paths(experiment_path, data, datasets):
    """{dataset: path}; by default the experiment's data sets that are there."""
    named = datasets or [d for d in load_yaml(experiment_path)["datasets"] if (Path(data) / f"{d}.arrow").exists()]
    paths = {d: os.path.join(data, f"{d}.arrow") for d in named}
    missing = [path for path in paths.values() if not os.path.exists(path)]
    if missing or not paths:
        raise EngineError(f"no such data set: {missing[0]}" if missing else f"{data}: holds none of the data sets")
    return paths


def _race_once(conductor, dataset, path, host, store, out):
    """Race a data set, or take the finished race from the store."""
    pairs = PairBatch.from_arrow(path)
    if not len(pairs):
        raise PairsError(f"{path}: holds no pairs")
    dataset_hash = pairs.content_hash()
    key = provenance.race_key(conductor.plan, conductor, dataset_hash, host)
    kept = os.path.join(store, f"{conductor.plan.experiment}-{dataset}-{key}.parquet")
    if os.path.exists(kept):
        conductor.say("  unchanged: taken from the store")
    else:
        records, card = conductor.race(path, dataset_hash)
        card.update(
            key=key,
            procedure=provenance.PROCEDURE,
            host_card=host_card(host),
            plan={k: str(v) for k, v in vars(conductor.plan).items()},
        )
        context = _context(conductor, dataset, pairs, dataset_hash, host, key)
        samples.write(kept, _rows(conductor, records, pairs, context), card)
        conductor.say(f"  {_summary(records, card)}")
    os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
    beside = f"{out}.{os.getpid()}.part"
    shutil.copyfile(kept, beside)
    os.replace(beside, out)


def _context(conductor, dataset, pairs, dataset_hash, host, key):
    plan, note = conductor.plan, pairs.metadata
    affine = isinstance(plan.penalties, Affine)
    return {
        "race_id": key,
        "experiment": plan.experiment,
        "dataset": dataset,
        "dataset_hash": dataset_hash,
        "dataset_model": note.get("model", ""),
        "length_bp": int(float(note.get("length_bp") or round(float(pairs.pattern_lengths.mean())))),
        "error": float(note["error"]) if note.get("error") else None,
        "lane": plan.lane,
        "host": host,
        "commit": provenance.commit(),
        "time_utc": provenance.now_utc(),
        "metric": "affine" if affine else "edit",
        "penalties": ",".join(map(str, plan.penalties.triple)) if affine else "",
        "input": "ascii",
        "pairs_total": len(pairs),
    }


def _rows(conductor, records, pairs, context):
    """One row a cell and round; a cell without a time has one row, with round 0 and its reason."""
    rows = []
    products = np.cumsum(pairs.pattern_lengths.astype(float) * pairs.text_lengths)
    cells = {key.n: float(products[key.n - 1]) if key.n else 0.0 for key in records}
    for key, record in records.items():
        adapter = conductor.adapters[key.tool]
        row = {
            **context,
            "tool": adapter.tool,
            "variant": adapter.variant,
            "threads": key.shards,
            "twin": key.twin,
            "tool_version": conductor.versions.get(key.tool),
            "tool_source_hash": adapter.source_hash(),
            "exact": adapter.exact,
            "scope": key.scope,
            "quantity": adapter.quantity,
            "pairs": key.n,
            "cells": cells[key.n],
            "status": record.status,
            "reason": record.reason,
            "output_hash": record.output_hash,
            "jit_s": record.jit_s,
            "peak_rss_bytes": record.peak_rss_bytes,
            **_verdict_fields(record.verdict),
        }
        times = record.times if record.status == "ok" else []
        # The failing pairs can be many: they stand in the first row of the cell only.
        rows.extend(
            {**row, "round": i, "value_s": t, **({"failing_pairs": None} if i > 1 else {})}
            for i, t in enumerate(times, 1)
        )
        if not times:
            rows.append({**row, "round": 0, "value_s": None})
    return rows


def _verdict_fields(verdict):
    if verdict is None:
        return {}
    return {
        "recall_native": verdict.recall_native,
        "recall_affine": verdict.recall_affine,
        "coverage": verdict.coverage,
        "refused": json.dumps(verdict.refused),
        "verified": verdict.judged,
        "failing_pairs": json.dumps(verdict.failing),
    }


def _summary(records, card):
    answered = [r for r in records.values() if r.status == "ok"]
    rounds = ", ".join(f"{n} rounds" + (f" ({d})" if d != "cpu" else "") for d, n in card["rounds"].items())
    wrong = sum(1 for r in answered if r.verdict.recall_native not in (None, 1.0))
    parts = [f"{len(answered)} of {len(records)} cells timed", rounds or "no rounds"]
    parts.append(f"{wrong} with wrong answers" if wrong else "all answers right")
    if not card["valid"]:
        parts.append("INVALID: twins uneven")
    return "; ".join(parts)
