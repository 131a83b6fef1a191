"""The race: all tools of one experiment on one data set, side by side, one at a time, in rounds of random order.

Every round runs every cell once in fresh random order; rounds go on until the medians are known or the time is up.
Round 1 is verified and later rounds are hashed. One tool of each device runs twice under two names.
"""

import random
import time

from wfa_kernels import Affine, PairBatch
from workflow.race import canary, oracle, statistics
from workflow.race.cells import SUBSET_STEP, Key, Record, reference_keys, round_order, subset_sizes, twin_keys
from workflow.race.team import WorkerFailed

#: Rounds stop when every cell's median is known to this half width.
ENOUGH = 0.02
#: Seconds for a first call, which compiles (10 s cold on two quiet cores), and for verification.
PATIENCE_S = 180
#: Seconds from its start within which a race ends where its tools behave, a second try included: it is what a run that
#: is stopped has to do again.
STEP_SECONDS = 480
#: Seconds for exact scores; pairs without one are told as not verified.
EXACT_SECONDS = 120


class Race:
    """One data set's race. conductor: whose workers run. path: the Arrow pair file; dataset_hash: of its content."""

    def __init__(self, conductor, path, dataset_hash):
        self.conductor, self.plan = conductor, conductor.plan
        self.path, self.dataset_hash = path, dataset_hash
        self.pairs = PairBatch.from_arrow(path)
        self.exact, self.confirmed = {}, {}
        self.records = None
        self.began, self.pace = time.monotonic(), {}

    def run(self, least, most):
        """Rounds over all cells; ({Key: Record}, card). The cells and their subsets are chosen once."""
        deadline = min(time.monotonic() + self.plan.race_seconds, self.began + STEP_SECONDS)
        if self.records is None:
            self.records = self._admit()
            self._find_exact_scores()
        for record in self.records.values():
            record.times.clear()
            record.further.clear()
        seed = self.conductor.seed
        seed = random.SystemRandom().getrandbits(32) if seed is None else seed
        paces, rounds = [canary.seconds()], {}
        blocks = {self._device(key): None for key, record in self.records.items() if record.status == "ok"}
        for left, device in zip(range(len(blocks), 0, -1), sorted(blocks), strict=True):  # GPU tools after the others
            begin = time.monotonic()
            rounds[device] = self._rounds(device, seed, least, most, begin + (deadline - begin) / left, paces)
        twins = self._twins()
        card = {"valid": all(t["even"] for t in twins.values()), "rerun": False, "twins": twins, "rounds": rounds}
        return self.records, {**card, "seed": seed, "confirmed": self.confirmed, "canary": canary.card(paces)}

    def rounds_left(self):
        """Rounds of all its blocks that fit what is left of its step, by the slowest ones so far."""
        return int((self.began + STEP_SECONDS - time.monotonic()) / sum(self.pace.values()))

    def _device(self, key):
        return self._device_of(key.tool)

    def _device_of(self, tool):
        return self.conductor.adapters[tool].device

    def _admit(self):
        """A Record for every cell that the plan asks for, and for those of the reference."""
        records = {}
        for tool in self.plan.tools:
            for scope in self.plan.scopes:
                for threads in self.conductor.threads(tool):
                    n, record = self._entry(tool, scope, threads)
                    records[Key(tool, scope, threads, n)] = record
        block = {tool for tool in self.plan.tools if self._device_of(tool) == self._device_of(self.plan.twin)}
        for key in [*reference_keys(records, self.plan, block), *twin_keys(records, self.plan, self._device_of)]:
            records[key] = Record()
        for key, record in records.items():
            first = self.conductor.first_calls.get(key.tool, {})
            record.jit_s, record.jit_compiled = first.get(key.scope, (None, None))
        return records

    def _entry(self, tool, scope, threads):
        conductor = self.conductor
        if tool in conductor.missing:
            return 0, Record(status="not_installed", reason=conductor.missing[tool])
        reason = conductor.adapters[tool].unsupported(conductor.job(scope))
        if reason:
            return 0, Record(status="unsupported", reason=reason)
        try:
            return self._calibrate(tool, scope, threads), Record()
        except WorkerFailed as failure:
            conductor.say(f"  {tool} {scope}: {failure}")
            return 0, Record(status=failure.status, reason=failure.reason)

    def _calibrate(self, tool, scope, threads):
        """Largest of the subset sizes that a cell runs within its slice of a round; the smallest gives every thread a
        pair, or its time would not be that of all cores.

        A run that took out of all proportion is timed again: a tool may compile for a size when it first meets it.
        """
        sizes = [n for n in subset_sizes(len(self.pairs)) if n >= min(threads, len(self.pairs))]
        fits, before = sizes[0], 0
        for n in sizes:
            key = Key(tool, scope, threads, n)
            try:
                took = self._warm(key)
                if took * SUBSET_STEP > self.plan.round_seconds and took > 2 * SUBSET_STEP * before:
                    took = min(took, self._warm(key))
                self.conductor.drop(key, self.path)
            except WorkerFailed as failure:
                if n == sizes[0]:
                    raise
                self.conductor.say(f"  {tool} {scope}, {n} pairs: {failure}; it runs {fits}")
                return fits
            if took > self.plan.round_seconds and n > fits:
                break
            fits, before = n, took
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
            self.exact[name], self.confirmed[name] = oracle.exact_scores(
                self.pairs[:most], penalties, self.conductor.oracle_folder, self.dataset_hash,
                seconds=EXACT_SECONDS / len(objectives),
            )  # fmt: skip

    def _objective(self, key):
        return self.conductor.adapters[key.tool].objective(self.conductor.job(key.scope))

    def _rounds(self, device, seed, least, most, deadline, paces):
        """Rounds over the cells of one device; their number.

        Past the fewest none begins that would end after the deadline, as far as the last one tells.
        """
        ran = [key for key in self.records if key.n]
        for done in range(1, most + 1):
            begin = time.monotonic()
            order = [key for key in round_order(seed, done, ran) if self._device(key) == device]
            for key in order:
                if self.records[key].status == "ok":
                    self._sample(key, self.records[key])
            paces.append(canary.seconds())
            now = time.monotonic()
            self.pace[device] = max(self.pace.get(device, 0), now - begin)
            if done >= least and (now + (now - begin) > deadline or self._settled(order)):
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
                self._ask(key, "peak_memory", key.name, True)
            took = self._warm(key)
            if first:
                record.peak_rss_bytes = self._ask(key, "peak_rss_bytes", False)
                record.peak_memory = self._ask(key, "peak_memory", key.name, False)
            produced = self._ask(key, "outcome", key.name)
            if produced != record.output_hash:
                self._verify(key, record)
                record.output_hash = produced
            record.times.append(took)
            for name, seconds in self._ask(key, "timings", key.name).items():
                record.further.setdefault(name, []).append(seconds)
        except WorkerFailed as failure:
            self.conductor.say(f"  {key.tool} {key.scope}: {failure}")
            record.status, record.reason = failure.status, failure.reason

    def _verify(self, key, record):
        """Verify the last run's outputs; of several different outputs the worst verdict stands.

        A tool is blamed only when plain dynamic programming finds the exact scores right on pairs that it fails.
        """
        penalties, objective = self.plan.penalties, self._objective(key)
        native = self.exact[str(objective)]
        affine = self.exact[str(penalties)] if isinstance(penalties, Affine) and key.scope == "cigar" else None
        verdict = self._ask(key, "verify", key.name, native, affine)
        if verdict.failing:
            oracle.judge_again(self.pairs, objective, native, [number for number, _ in verdict.failing])
        if record.verdict is None or verdict.worth < record.verdict.worth:
            record.verdict = verdict

    def _warm(self, key):
        """Seconds of one run; on a GPU of the second of two, as a cold card is not a slow tool."""
        if self._device(key) == "cuda":
            self._timed(key)
        return self._timed(key)

    def _timed(self, key):
        self._prepare(key)
        return self.conductor.run(key, self.path)

    def _prepare(self, key):
        self.conductor.prepare(key, self.path, self.pairs[: key.n])

    def _ask(self, key, method, *arguments):
        return self.conductor.ask(key, self.path, method, *arguments)

    def _twins(self):
        """Verdict on each twin: {"tool scope" or "tool scope, n threads": {ratio, low, high, even}}."""
        verdicts = {}
        for key, record in self.records.items():
            own = self.records.get(Key(key.tool, key.scope, key.threads, key.n))
            if key.twin and record.status == "ok" and own.status == "ok":
                threads = f", {key.threads} threads" if key.threads > 1 else ""
                verdicts[f"{key.tool} {key.scope}{threads}"] = statistics.twin_verdict(own.times, record.times)
        return verdicts
