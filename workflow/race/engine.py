"""Run an experiment: race every data set it names and write one samples file a race.

Works without Snakemake, so that a bare GPU host can produce samples. Finished races are kept in a store under a key of
all they depend on: a run that was stopped goes on where it was, and an unchanged race is not run again.
"""

import json
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from wfa_kernels import Affine, PairBatch, PairsError, whole_file
from workflow import aligners
from workflow.race import provenance, samples
from workflow.race.conductor import Conductor
from workflow.race.data_card import data_card
from workflow.race.host import chosen_id, host_card
from workflow.race.lock import host_lock
from workflow.race.planning import REAL, EngineError, is_real, load_experiment, load_yaml, make_plan, narrowed


def run(experiment_path, lane_path, data, out, store, datasets=None, host=None, time_limit_s=None, say=None):
    """Race the experiment's data sets; returns the number left undone at time_limit_s.

    data: folder of ``<dataset>.arrow``. out: folder of the ``<dataset>.parquet`` to write. store: folder of finished
    races and exact scores. datasets: ids, by default every one whose file is in ``data`` and that the experiment names,
    as far as the lane narrows that; real data sets by their names only.
    """
    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    adapters = aligners.load()
    plan = make_plan(experiment_path, lane_path, list(adapters))
    paths, absent = _dataset_paths(experiment_path, lane_path, data, datasets)
    host = chosen_id(host)
    provenance.commit()  # a bad one is told before the first race
    for folder in (out, store):
        _require_writable(folder)
    if absent:
        say(f"[{plan.experiment}] not raced, {data} holds no pair file of: {', '.join(absent)}")
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


def _dataset_paths(experiment_path, lane_path, data, datasets):
    """({dataset: path}, those of the experiment in this lane without a file where none were asked for by name).

    Each file is opened before the first race.
    """
    experiment = load_experiment(experiment_path)
    known = narrowed(experiment, load_yaml(lane_path))["datasets"]
    unknown = [d for d in datasets or () if d not in experiment["datasets"] and not is_real(d)]
    if unknown:
        allowed = ", ".join([*experiment["datasets"], f"{REAL}<name>"])
        raise EngineError(f"{experiment_path}: names no data set {unknown[0]!r}; allowed are {allowed}")
    if not known and not datasets:
        raise EngineError(f"{lane_path}: leaves {experiment['id']} out; --datasets names what to race all the same")
    named = datasets or [d for d in known if (Path(data) / f"{d}.arrow").exists()]
    if not named:
        raise EngineError(f"{data}: holds no <dataset>.arrow of {experiment_path} (it names {', '.join(known)})")
    paths = {d: os.path.join(data, f"{d}.arrow") for d in named}
    for path in paths.values():
        if not len(PairBatch.from_arrow(path)):
            raise PairsError(f"{path}: holds no pairs")
    return paths, [] if datasets else [d for d in known if d not in paths]


def _race_once(conductor, dataset, path, host, store, out):
    """Race a data set, or take the finished race from the store."""
    began = time.monotonic()
    pairs = PairBatch.from_arrow(path)[: conductor.plan.most_pairs]
    dataset_hash = pairs.content_hash()
    described = [pairs.metadata.get(key, "") for key in ("model", "source")]  # samples tell what its letters are
    key = provenance.race_key(conductor.plan, conductor, [dataset_hash, *described], host)
    kept = os.path.join(store, f"{conductor.plan.experiment}-{dataset}-{key}.parquet")
    if os.path.exists(kept):
        conductor.say("  unchanged: taken from the store")
    else:
        host_told = host_card(host)  # before: what cannot be told must not lose a race
        records, card = conductor.race(path, dataset_hash, began)
        card.update(
            key=key,
            **provenance.conditions(),
            host_card=host_told,
            data=data_card(pairs),
            plan={k: str(v) for k, v in vars(conductor.plan).items()},
        )
        context = _context(conductor, dataset, pairs, dataset_hash, host, key)
        samples.write(kept, _rows(conductor, records, pairs, context), card)
        conductor.say(f"  {_summary(records, card)}; {_seconds(conductor.watch)}")
    os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
    with whole_file.beside(out) as part:
        shutil.copyfile(kept, part)


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
        "pairs_total": len(pairs),
    }


def _rows(conductor, records, pairs, context):
    """One row a cell and round; a cell without a time has one row, with round 0 and its reason."""
    rows = []
    cells = {n: float(pairs[:n].cells) for n in {key.n for key in records}}
    for key, record in records.items():
        adapter = conductor.adapters[key.tool]
        row = {
            **context,
            "tool": adapter.tool,
            "variant": adapter.variant,
            "threads": key.threads,
            "twin": key.twin,
            "tool_version": conductor.versions.get(key.tool),
            "tool_source_hash": adapter.source_hash(),
            "exact": adapter.exact,
            "scope": key.scope,
            "input": adapter.input,
            "quantity": adapter.quantity,
            "pairs": key.n,
            "cells": cells[key.n],
            "status": record.status,
            "reason": record.reason,
            "output_hash": record.output_hash,
            "jit_s": record.jit_s,
            "jit_compiled": record.jit_compiled,
            "base_rss_bytes": record.base_rss_bytes,
            "peak_rss_bytes": record.peak_rss_bytes,
            **record.peak_memory,
            **record.counts,
            **_verdict_fields(_verdict(records, key)),
        }
        # The failing pairs can be many: they stand in the first row of the cell only.
        later = {**row, "failing_pairs": None}
        if record.status != "ok":
            rows.append({**row, "round": 0, "value_s": None})
            continue
        rows.extend({**(later if i > 1 else row), "round": i, "value_s": t} for i, t in enumerate(record.times, 1))
        for quantity, seconds in record.further.items():
            rows.extend({**later, "quantity": quantity, "round": i, "value_s": t} for i, t in enumerate(seconds, 1))
    return rows


def _verdict(records, key):
    """The Verdict on a cell's tool, None without one: a tool and its twin are one, and the worse of both is of both."""
    own, other = records[key].verdict, records.get(replace(key, twin=not key.twin))
    if own is None or other is None or other.verdict is None:
        return own
    return min(own, other.verdict, key=lambda verdict: verdict.worth)


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
    parts = [f"{len(answered)} of {len(records)} cells timed", rounds or "no rounds"]
    parts += _found([record.verdict for record in answered])
    if not card["valid"]:
        parts.append("INVALID: twins uneven")
    return "; ".join(parts)


def _seconds(watch):
    """How long a race took, in words."""
    first = watch.total("first calls")
    return f"{watch.total():.0f} s" + (f", {first:.0f} of them first calls, which compile" if first >= 1 else "")


def _found(verdicts):
    """What verification found, in words."""
    wrong = sum(bool(v.failing) for v in verdicts)  # a heuristic does not fail where it misses an optimum
    unknown = sum(v.judged < v.answered for v in verdicts)
    parts = [f"{wrong} with wrong answers"] if wrong else []
    parts += [f"{unknown} with answers that were not verified"] if unknown else []
    return parts or ["all answers right" if any(v.answered for v in verdicts) else "no answers"]
