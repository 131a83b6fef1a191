"""The race: all tools of one experiment on one data set, side by side, one at a time, in rounds of random order.

Every round runs every cell once in fresh random order; rounds go on until the medians are known or the time is up.
Round 1 is verified and later rounds are hashed. One tool of each device runs twice under two names.
"""

import random
import time
from dataclasses import replace

import psutil

from wfa_kernels import Affine, PairBatch
from workflow.race import canary, kernel_cache, oracle, slices, statistics
from workflow.race.cells import Key, Record, reference_keys, round_order, subset_sizes, twin_keys
from workflow.race.prepared import bases, data_bytes, held_bytes, shared_bytes
from workflow.race.team import WorkerFailed
from workflow.race.worker import shard_bounds

#: Rounds stop when every cell's median is known to this half width.
ENOUGH = 0.02
#: Seconds for a first call, which compiles (10 s cold on two quiet cores), and for verification.
PATIENCE_S = 180
#: Seconds from its start within which a race ends where its tools behave, hashing the data set and a second try
#: included: it is what a run that is stopped has to do again, within 8 minutes. Half a minute of them is left for the
#: end, 9 s with 100M pairs of 150 letters page-locked, and for what estimates miss.
STEP_SECONDS = 450
#: Seconds for exact scores; pairs without one are told as not verified.
EXACT_SECONDS = 120
#: Rounds, of what preparing and running all cells takes, that go into the rest: the twins' start, verification, reading
#: and hashing of answers. Measured, with the fewest of 6: 1.0 (thesis Tab 1, 50,000 pairs of 150 letters) and 1.6
#: (thesis Tab 8, 300 of 10,000).
FURTHER_ROUNDS = 2
#: Seconds a letter of a cell that its rounds take beyond that: to verify and hash answers, and to write them to memory
#: that is taken anew. Of a tool on the CPU next to nothing, of a GPU's whole data sets 7 to 87 s a race, .05 to .32 ns
#: a letter (thesis Tab 1 of 1000 letters, Tab 8 of 150 and 1000, the fewest rounds, on H200 hosts).
LETTER_S = 3e-10
#: Rounds that finding the sizes takes, before it is known what fits: 126 to 160 s at slices of 1 s (thesis Tab 1, 55
#: cells on the CPU of an H200 host with 16 cores), of which a round takes 50 by PACE.
SIZES_ROUNDS = 2.5
#: Seconds of a run on the CPU below which another follows, and counts: the first brings back what other tools' runs
#: have displaced.
COLD_S = 0.01
#: Seconds of a run of one thread from which on it tells of longer ones: less may be the call rather than its pairs.
TELLING_S = 0.001
#: A slice is shortened to this part of the plan's at least, a GPU's only where that of the CPU is and all does not fit
#: yet. On a pair or two what a call costs besides would be all that a time on the CPU tells, and a GPU is good for many
#: pairs. A race that is then too long is.
LEAST_SLICE = {"cpu": 1 / 8, "cuda": 1 / 2}


class Race:
    """One data set's race. conductor: whose workers run. path: the Arrow pair file; dataset_hash: of its content.
    began: instant of the monotonic clock at which its step began."""

    def __init__(self, conductor, path, dataset_hash, began):
        self.conductor, self.plan = conductor, conductor.plan
        self.path, self.dataset_hash = path, dataset_hash
        self.pairs = PairBatch.from_arrow(path)[: self.plan.most_pairs]
        #: {pairs: cells of their matrices} of all subsets; a pair without letters counts, too
        self.work = {n: self.pairs[:n].cells + n for n in subset_sizes(len(self.pairs))}
        self.exact, self.confirmed = {}, {}
        self.records, self.slices_s = None, {}
        self.sizes = {}  # {(tool, scope, threads): what _calibrate() gave}
        self.began, self.pace = began, {}

    def run(self, least, most):
        """Rounds over all cells; ({Key: Record}, card). The cells and their subsets are chosen once."""
        deadline = min(time.monotonic() + self.plan.race_seconds, self.began + STEP_SECONDS)
        if self.records is None:
            self.records = self._admit()
        for record in self.records.values():
            record.times.clear()
            record.further.clear()
            record.counts.clear()
        seed = self.conductor.seed
        seed = random.SystemRandom().getrandbits(32) if seed is None else seed
        paces, rounds = [canary.seconds()], {}
        blocks = {self._device(key): None for key, record in self.records.items() if record.status == "ok"}
        for left, device in zip(range(len(blocks), 0, -1), sorted(blocks), strict=True):  # GPU tools after the others
            begin = time.monotonic()
            with self.conductor.watch.phase(f"rounds on {device}"):
                rounds[device] = self._rounds(device, seed, least, most, begin + (deadline - begin) / left, paces)
                self.conductor.clear(device)
        twins = self._twins()
        card = {"valid": all(t["even"] for t in twins.values()), "rerun": False, "twins": twins, "rounds": rounds}
        card["round_seconds"] = self.slices_s
        return self.records, {**card, "seed": seed, "confirmed": self.confirmed, "canary": canary.card(paces)}

    def rounds_left(self):
        """Rounds of all its blocks that fit what is left of its step, by the slowest ones so far."""
        return int((self.began + STEP_SECONDS - time.monotonic()) / sum(self.pace.values()))

    def _device(self, key):
        return self._device_of(key.tool)

    def _device_of(self, tool):
        return self.conductor.adapters[tool].device

    def _admit(self):
        """A Record for every cell that the plan asks for, and for those of the reference.

        Exact scores come before the slices are cut to what is left of the step: how long they take is then known.
        """
        self._warn_of_memory()
        of_a_step = self._slices_of_a_step()
        with self.conductor.watch.phase("sizes"):
            entries = self._entries(of_a_step)
        devices = {self._device(key) for key, (runs, _) in entries.items() if runs}
        planned = {device: of_a_step[device] for device in devices}
        with self.conductor.watch.phase("exact scores"):
            self._find_exact_scores(self._cells(entries, planned))
        self.slices_s = self._slices(entries, planned)
        records = self._cells(entries, self.slices_s)
        for key, record in records.items():
            first = self.conductor.first_calls.get(key.tool, {})
            record.jit_s, record.jit_compiled = first.get(key.scope, (None, None))
        return records

    def _slices_of_a_step(self):
        """{device: seconds of a cell's slice}, to find sizes by: on the CPU what a step holds of so many cells, the
        finding included. Longer ones would take a good part of the step to find that they do not fit."""
        planned, conductor = self.plan.slices_s, self.conductor
        tools = [tool for tool in self.plan.tools if tool not in conductor.missing and self._device_of(tool) == "cpu"]
        cells = sum(len(conductor.supported_jobs(tool)) * len(conductor.threads(tool)) for tool in tools)
        slices_a_step = slices.PACE * cells * (SIZES_ROUNDS + self.plan.min_rounds + FURTHER_ROUNDS)
        least = planned | {"cpu": LEAST_SLICE["cpu"] * planned["cpu"]}
        return slices.shortened(planned, least, STEP_SECONDS, lambda tried: {"cpu": slices_a_step * tried["cpu"]})

    def _entries(self, slices_s):
        """{Key on 0 pairs: _entry()} of all that the plan asks for."""
        return {
            Key(tool, scope, threads, 0): self._entry(tool, scope, threads, slices_s)
            for tool in self.plan.tools
            for scope in self.plan.scopes
            for threads in self.conductor.threads(tool)
        }

    def _cells(self, entries, slices_s):
        """{Key: Record} of all cells, those of the reference and of twins too. entries: {Key on 0 pairs: _entry()}."""
        records = {}
        for key, (runs, record) in entries.items():
            n = slices.pairs_within(runs, list(self.work), self._slice_s(key.tool, slices_s)) if runs else 0
            records[replace(key, n=n)] = record
        block = {tool for tool in self.plan.tools if self._device_of(tool) == self._device_of(self.plan.twin)}
        further = [*reference_keys(records, self.plan, block), *twin_keys(records, self.plan, self._device_of)]
        return records | {key: Record() for key in further}

    def _slice_s(self, tool, slices_s):
        """Seconds of a tool's slice, of {device: seconds}.

        A heuristic on a GPU gets what the plan has for a tool on the CPU, shortened as the GPU's slices are: it is
        there for its recall, and slices in which exact tools take whole data sets would cost a race two minutes. As
        short as the CPU's they would hold a pair or two of long reads, of which many take a GPU as long as one.
        """
        adapter = self.conductor.adapters[tool]
        slice_s = slices_s[adapter.device]
        part = 1 if adapter.exact else self.plan.round_seconds / self.plan.slices_s[adapter.device]
        return slice_s * min(1, part)

    def _slices(self, entries, planned):
        """{device: seconds of a cell's slice}: those that sizes were found by; less where the fewest rounds would not
        fit, on a GPU where less on the CPU is not enough."""
        tried = {key: runs for key, (runs, _) in entries.items() if runs}
        left_s = self.began + STEP_SECONDS - time.monotonic()
        rounds = self.plan.min_rounds + FURTHER_ROUNDS

        def costs_s(slices_s):
            live = [key for key in self._cells(entries, slices_s) if key.n]
            fits, most = {}, {}
            for device in slices_s:
                block = [key for key in live if self._device(key) == device]
                fits[device], most[device] = self._fits(block), max((key.n for key in block), default=0)
            costs = dict.fromkeys(slices_s, 0.0)
            for key in live:
                runs, device = tried[replace(key, n=0, twin=False)], self._device(key)
                # What the cells of a worker share of the most pairs is there: it was brought to find the sizes.
                brought = key.n == most[device] and self.conductor.adapters[key.tool].shared_bytes_a_base
                prepared = rounds if not fits[device] else 0 if brought else 1
                costs[device] += slices.cost_s(runs, key.n, rounds, prepared) + LETTER_S * bases(self.pairs, key.n)
            return costs

        least = dict(planned)
        cpu = [run.run_s for key, runs in tried.items() if self._device(key) == "cpu" for run in runs.values()]
        if cpu:
            least["cpu"] = max(LEAST_SLICE["cpu"] * self.plan.round_seconds, min(cpu))
        found = slices.shortened(planned, least, left_s, costs_s)
        if "cuda" in found:
            least["cuda"] = LEAST_SLICE["cuda"] * planned["cuda"]
            found = slices.shortened(found, least, left_s, costs_s)
        for device, slice_s in found.items():
            asked = self.plan.slices_s[device]
            if slice_s < asked:
                said = f"slices of {slice_s:g} s in place of {asked:g} s ({device})"
                self.conductor.say(f"  {said}: the fewest rounds would not fit")
        return found

    def _warn_of_memory(self):
        """Tell where the data set, and what tools hold of it besides, would not fit the host's memory."""
        shared = {}
        for tool in self.plan.tools:
            adapter = self.conductor.adapters[tool]
            if tool not in self.conductor.missing:
                bytes_ = shared_bytes(adapter, self.pairs, len(self.pairs))
                shared[adapter.process] = max(bytes_, shared.get(adapter.process, 0))
        needed, memory = data_bytes(self.pairs) + sum(shared.values()), psutil.virtual_memory().total
        if needed > memory:
            self.conductor.say(
                f"  by estimate {needed / 2**30:.0f} GiB of memory are needed for this data set, and here are "
                f"{memory / 2**30:.0f}: it may be read from disk again and again, and times may tell of that; a lane "
                "of fewer pairs fits"
            )

    def _fits(self, keys):
        """Whether what takes time to prepare may all be held: what a worker's cells share, else what each holds."""
        held = {}
        for key in keys:
            adapter = self.conductor.adapters[key.tool]
            shared = shared_bytes(adapter, self.pairs, key.n)
            one = self.conductor.home(key) if shared else key
            held[one] = max(held.get(one, 0), shared or held_bytes(adapter, self.pairs, key.n))
        return sum(held.values()) <= self.conductor.prepared.budget_bytes

    def _entry(self, tool, scope, threads, slices_s):
        """(the runs that _calibrate() gives, {} where the cell cannot run; its Record)."""
        conductor = self.conductor
        if tool in conductor.missing:
            return {}, Record(status="not_installed", reason=conductor.missing[tool])
        reason = conductor.adapters[tool].unsupported(conductor.job(scope))
        if reason:
            return {}, Record(status="unsupported", reason=reason)
        try:
            alike = self.sizes.get((conductor.adapters[tool].sized_as, scope, threads))
            runs, why_fewer = alike or self._calibrate(tool, scope, threads, self._slice_s(tool, slices_s))
            return runs, Record(reason=why_fewer)
        except WorkerFailed as failure:
            conductor.say(f"  {tool} {scope}: {failure}")
            return {}, Record(status=failure.status, reason=failure.reason)

    def _calibrate(self, tool, scope, threads, slice_s):
        """({pairs: slices.Run} of some subset sizes, why it runs no more pairs where it failed on more). The smallest
        gives every thread a pair, or its time would not be that of all cores. Where one thread tells that this would
        take longer than a slice, just so many pairs are run: slices may be cut to an eighth later on."""
        fewest = min(threads, len(self.pairs))
        work = {n: cells for n, cells in self.work.items() if n >= fewest}
        if self._foretold_s(tool, scope, threads, min(work)) > slice_s:
            work = {fewest: self.pairs[:fewest].cells}
        failed = {}

        def run(n):
            try:
                return self._tried(Key(tool, scope, threads, n))
            except WorkerFailed as failure:
                if n == min(work):
                    raise
                failed[n] = f"on {n} pairs: {failure}"
                self.conductor.say(f"  {tool} {scope}, {failed[n]}; it runs fewer")

        found = slices.calibrated(work, slice_s, run), failed[min(failed)] if failed else ""
        self.sizes[tool, scope, threads] = found
        return found

    def _foretold_s(self, tool, scope, threads, n):
        """Seconds that the process with the most cells takes, by what one thread alone took for its most pairs; 0 where
        that tells nothing.

        Ten mapped reads may hold one of 30,000 letters and 37 one of 54,000, with which each tool took a race on 16
        cores seconds in every round.
        """
        alone, failed = self.sizes.get((tool, scope, 1), ({}, ""))
        most = max(alone, default=0)
        if not most or failed or alone[most].run_s < TELLING_S:
            return 0
        cells = max(self.pairs[start:stop].cells for start, stop in shard_bounds(self.pairs[:n], threads))
        return cells / self.work[most] * alone[most].run_s

    def _tried(self, key):
        """The slices.Run of a cell: its worker is there already, or is not counted."""
        self._ask(key, "peak_rss_bytes", False)
        kernels, begin = kernel_cache.kept(), time.monotonic()
        self._prepare(key)
        prepared = time.monotonic()
        run = slices.Run(self._warm(key), time.monotonic() - prepared, prepared - begin)
        run = replace(run, compiled=not kernel_cache.kept() <= kernels)
        self.conductor.drop(key, self.path)
        return run

    def _find_exact_scores(self, records):
        """Exact scores of the pairs of these cells, under every objective that is verified: of as many pairs as a cell
        under it runs, and under the experiment's penalties, by which CIGARs are scored besides, as any cell does.

        Those of few pairs come first; what they leave of the time is for the others.
        """
        live = [key for key, record in records.items() if record.status == "ok"]
        most = {self.plan.penalties: max((key.n for key in live), default=0)}
        for key in live:
            objective = self._objective(key)
            most[objective] = max(key.n, most.get(objective, 0))
        left_s = EXACT_SECONDS
        for done, (penalties, n) in enumerate(sorted(most.items(), key=lambda item: item[1])):
            name, begin = str(penalties), time.monotonic()
            self.exact[name], self.confirmed[name] = oracle.exact_scores(
                self.pairs[:n], penalties, self.conductor.oracle_folder, self.dataset_hash,
                seconds=max(0, left_s / (len(most) - done)),
            )  # fmt: skip
            left_s -= time.monotonic() - begin

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
        try:
            if not record.output_hash:  # its first: raced once more, the tool holds what its runs have left
                self._measure_memory(key, record)
                took = self._timed(key)
            else:
                took = self._warm(key)
            self._require_time(key, took)
            produced = self._ask(key, "outcome", key.name)
            if produced != record.output_hash:
                self._verify(key, record)
                record.output_hash = produced
            record.times.append(took)
            for name, seconds in self._ask(key, "timings", key.name).items():
                record.further.setdefault(name, []).append(seconds)
            for name, number in self._ask(key, "counts", key.name).items():
                record.counts[name] = max(number, record.counts.get(name, 0))
            self._ask(key, "forget", key.name)
        except WorkerFailed as failure:
            self.conductor.say(f"  {key.tool} {key.scope}: {failure}")
            record.status, record.reason = failure.status, failure.reason

    def _require_time(self, key, took):
        """Raise WorkerFailed for a run of 0 s. While its pairs are being found it tells only that more of them fit."""
        if took <= 0:
            self._ask(key, "forget", key.name)
            reason = f"its own clock printed a time of 0 for {key.n} pairs: it is too coarse for them"
            raise WorkerFailed("crashed", reason)

    def _measure_memory(self, key, record):
        """By an untimed run: it takes memory anew that was given back to the system, page by page."""
        self._prepare(key)
        self._ask(key, "peak_memory", key.name, True)  # what it gives back is not held by the process
        record.base_rss_bytes = self._ask(key, "peak_rss_bytes", True)
        self._untimed(key)
        record.peak_rss_bytes = self._ask(key, "peak_rss_bytes", False)
        record.peak_memory = self._ask(key, "peak_memory", key.name, False)

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
        """Seconds of one run; on a GPU, or where it is short, of the second of two: what is cold is not slow."""
        if self._device(key) == "cuda":
            self._untimed(key)
            return self._timed(key)
        took = self._timed(key)
        return self._timed(key) if took < COLD_S else took

    def _timed(self, key):
        self._prepare(key)
        return self.conductor.run(key, self.path)

    def _untimed(self, key):
        self._prepare(key)
        self.conductor.run(key, self.path, "untimed runs")

    def _prepare(self, key):
        self.conductor.prepare(key, self.path, self.pairs)

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
