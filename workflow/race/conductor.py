"""The race: all tools of one experiment on one data set, side by side, one at a time, in rounds of random order.

A tool keeps its process for the whole experiment. Every round runs every cell once in fresh random order; rounds go
on until the medians are known or the time is up. Round 1 is verified and later rounds are hashed. One tool runs twice
under two names: a race that treats the two unevenly is run once more with double rounds, and if need be marked.
"""

import random
import time

from wfa_kernels import Affine, PairBatch
from workflow.aligners import Job, ToolMissing
from workflow.race import oracle, statistics
from workflow.race.cells import SUBSET_STEP, Key, Record, reference_keys, shard_counts, subset_sizes
from workflow.race.team import Worker, WorkerFailed

#: Rounds stop when every cell's median is known to this half width.
ENOUGH = 0.02
#: For a first call, which compiles, and for verification.
_PATIENCE_S = 600


class Conductor:
    """Keeps the workers of one experiment and races them over its data sets.

    adapters: {id: Adapter}. oracle_folder: where exact scores are kept. say: takes a line of progress.
    """

    def __init__(self, plan, adapters, oracle_folder, say, seed=None):
        self.plan, self.adapters, self.oracle_folder, self.say = plan, adapters, oracle_folder, say
        self.order = random.Random(seed)
        self.workers = {}
        self.jit_s = {}
        self.versions, self.missing = {}, {}
        for tool in plan.tools:
            try:
                self.versions[tool] = adapters[tool].version()
            except ToolMissing as error:
                self.missing[tool] = str(error)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers.values():
            worker.stop()

    def race(self, path, dataset_hash):
        """Race one data set. Returns ({Key: Record}, card): what each cell gave, and how the race went."""
        race = _Race(self, path, dataset_hash)
        records, card = race.run(self.plan.min_rounds, self.plan.max_rounds)
        if not card["valid"]:
            self.say("  its twins were treated unevenly: racing once more with double rounds")
            records, card = race.run(2 * self.plan.min_rounds, 2 * self.plan.max_rounds)
            card["rerun"] = True
        return records, card

    def job(self, scope):
        """The job at a scope."""
        return Job(scope, self.plan.penalties)

    def supported_jobs(self, tool):
        """The jobs the tool can do."""
        jobs = [self.job(scope) for scope in self.plan.scopes]
        return [job for job in jobs if self.adapters[tool].unsupported(job) is None]

    def shards(self, tool):
        """The numbers of shards the tool is timed with."""
        return shard_counts(self.plan, self.adapters[tool])

    def worker(self, tool, twin, path):
        """The tool's live worker with the data set open; started and warmed up where there is none."""
        worker = self.workers.get((tool, twin))
        if worker is None or not worker.alive:
            worker = Worker(tool, self.adapters[tool].device, max(self.shards(tool)))
            took = worker.ask(_PATIENCE_S, "warm_up", self.supported_jobs(tool), path, max(self.shards(tool)))
            self.jit_s.setdefault(tool, took)
            self.workers[(tool, twin)] = worker
        if worker.opened != path:
            worker.ask(_PATIENCE_S, "open", path)
            worker.opened, worker.prepared = path, set()
        return worker


class _Race:
    """One data set's race."""

    def __init__(self, conductor, path, dataset_hash):
        self.conductor, self.plan = conductor, conductor.plan
        self.path, self.dataset_hash = path, dataset_hash
        self.pairs = PairBatch.from_arrow(path)
        self.exact = {}
        self.records = None

    def run(self, least, most):
        """Rounds over all cells; ({Key: Record}, card). The cells and their subsets are chosen once."""
        if self.records is None:
            self.records = self._admit()
            self._find_exact_scores()
        for record in self.records.values():
            record.times.clear()
        canary = [canary_seconds()]
        rounds = {}
        for device in ("cpu", "cuda"):  # GPU tools race in a block of their own
            block = [k for k, r in self.records.items() if r.status == "ok" and self._device(k) == device]
            if block:
                rounds[device] = self._rounds(block, least, most, canary)
        twins = self._twins()
        card = {"valid": all(t["even"] for t in twins.values()), "rerun": False, "twins": twins, "rounds": rounds}
        return self.records, {**card, "canary": canary_card(canary)}

    def _device(self, key):
        return self.conductor.adapters[key.tool].device

    def _admit(self):
        """A Record for every cell that the plan asks for, and for those of the reference."""
        records = {}
        for tool in self.plan.tools:
            for scope in self.plan.scopes:
                for shards in self.conductor.shards(tool):
                    n, record = self._entry(tool, scope, shards)
                    records[Key(tool, scope, shards, n)] = record
        adapters = self.conductor.adapters
        block = {tool for tool in self.plan.tools if adapters[tool].device == adapters[self.plan.twin].device}
        for key in reference_keys(records, self.plan, block):
            records[key] = Record()
        for key, record in records.items():
            record.jit_s = self.conductor.jit_s.get(key.tool, {}).get(key.scope)
        return records

    def _entry(self, tool, scope, shards):
        conductor = self.conductor
        if tool in conductor.missing:
            return 0, Record(status="not_installed", reason=conductor.missing[tool])
        reason = conductor.adapters[tool].unsupported(conductor.job(scope))
        if reason:
            return 0, Record(status="unsupported", reason=reason)
        try:
            return self._calibrate(tool, scope, shards), Record()
        except WorkerFailed as failure:
            conductor.say(f"  {tool} {scope}: {failure}")
            return 0, Record(status=failure.status, reason=failure.reason)

    def _calibrate(self, tool, scope, shards):
        """Largest of the subset sizes that a cell runs within its slice of a round; the smallest gives every shard a
        pair, or its time would not be that of all cores."""
        sizes = [n for n in subset_sizes(len(self.pairs)) if n >= min(shards, len(self.pairs))]
        fits = sizes[0]
        for n in sizes:
            key = Key(tool, scope, shards, n)
            try:
                took = self._warm(key)
                self._ask(key, "drop", key.name)
            except WorkerFailed as failure:
                if n == sizes[0]:
                    raise
                self.conductor.say(f"  {tool} {scope}, {n} pairs: {failure}; it runs {fits}")
                return fits
            if took > self.plan.round_seconds and n > fits:
                break
            fits = n
            if took * SUBSET_STEP > self.plan.round_seconds:
                break
        return fits

    def _find_exact_scores(self):
        """Exact scores of the pairs that are raced, under every objective that is verified."""
        most = max((k.n for k, r in self.records.items() if r.status == "ok"), default=0)
        objectives = {str(self.plan.penalties): self.plan.penalties}
        for key, record in self.records.items():
            if record.status == "ok":
                objective = self._objective(key)
                objectives[str(objective)] = objective
        for name, penalties in objectives.items():
            self.exact[name] = oracle.exact_scores(
                self.pairs[:most], penalties, self.conductor.oracle_folder, self.dataset_hash
            )

    def _objective(self, key):
        return self.conductor.adapters[key.tool].objective(self.conductor.job(key.scope))

    def _rounds(self, block, least, most, canary):
        """Rounds over the block's cells; their number."""
        begin = time.monotonic()
        for done in range(1, most + 1):
            live = [key for key in block if self.records[key].status == "ok"]
            self.conductor.order.shuffle(live)
            for key in live:
                self._sample(key, self.records[key])
            canary.append(canary_seconds())
            late = time.monotonic() - begin > self.plan.race_seconds
            if done >= least and (late or self._settled(live)):
                return done
        return most

    def _settled(self, keys):
        times = [self.records[key].times for key in keys if self.records[key].status == "ok"]
        return all(statistics.relative_half_width(t) <= ENOUGH for t in times)

    def _sample(self, key, record):
        first = not record.times
        try:
            if first:
                self._prepare(key)
                self._ask(key, "peak_rss_bytes", True)
            took = self._warm(key)
            if first:
                record.peak_rss_bytes = self._ask(key, "peak_rss_bytes", False)
            produced = self._ask(key, "outcome", key.name)
            if produced != record.output_hash:
                self._verify(key, record)
                record.output_hash = produced
            record.times.append(took)
        except WorkerFailed as failure:
            self.conductor.say(f"  {key.tool} {key.scope}: {failure}")
            record.status, record.reason = failure.status, failure.reason

    def _verify(self, key, record):
        """Verify the last run's outputs; of several different outputs the worst verdict stands."""
        penalties = self.plan.penalties
        native = self.exact[str(self._objective(key))]
        affine = self.exact[str(penalties)] if isinstance(penalties, Affine) and key.scope == "cigar" else None
        verdict = self._ask(key, "verify", key.name, native, affine)
        if record.verdict is None or verdict.native_right < record.verdict.native_right:
            record.verdict = verdict

    def _warm(self, key):
        """Seconds of one run; on a GPU of the second of two, as a cold card is not a slow tool."""
        if self._device(key) == "cuda":
            self._timed(key)
        return self._timed(key)

    def _timed(self, key):
        self._prepare(key)
        return self._ask(key, "run", key.name, key.shards, timeout_s=self.plan.timeout_seconds)

    def _prepare(self, key):
        worker = self.conductor.worker(key.tool, key.twin, self.path)
        if key.name not in worker.prepared:
            self._ask(key, "prepare", key.name, self.conductor.job(key.scope), key.n, key.shards)
            worker.prepared.add(key.name)

    def _ask(self, key, method, *arguments, timeout_s=_PATIENCE_S):
        worker = self.conductor.worker(key.tool, key.twin, self.path)
        if method == "drop":
            worker.prepared.discard(key.name)
        return worker.ask(timeout_s, method, *arguments)

    def _twins(self):
        """Verdict on each twin: {"tool scope": {ratio, low, high, even}}."""
        verdicts = {}
        for key, record in self.records.items():
            own = self.records.get(Key(key.tool, key.scope, key.shards, key.n))
            if key.twin and record.status == "ok" and own.status == "ok":
                verdicts[f"{key.tool} {key.scope}"] = statistics.twin_verdict(own.times, record.times)
        return verdicts


def canary_seconds():
    """Seconds of a fixed loop: it shows whether the machine itself changed its pace during the race."""
    begin = time.perf_counter()
    total = 0
    for i in range(60_000):
        total ^= i * 2654435761
    return time.perf_counter() - begin


def canary_card(seconds):
    """Median of the canary and its drift: median of the last third over that of the first third, less 1."""
    third = max(1, len(seconds) // 3)
    median = statistics.median_interval(seconds)[0]
    drift = statistics.median_interval(seconds[-third:])[0] / statistics.median_interval(seconds[:third])[0] - 1
    return {"median_s": median, "drift": drift, "samples": len(seconds)}
