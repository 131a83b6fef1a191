"""The conductor: keeps the workers of one experiment and races them over its data sets, one worker at a time.

A tool keeps its process for the whole experiment; those that hold the same data share one. A race that treats its twins
unevenly is run once more with double rounds, as many as fit the time of a restartable step, and if need be marked.
"""

import contextlib

from workflow.aligners import Job, ToolMissing
from workflow.race.cells import thread_counts
from workflow.race.prepared import SHARED, Prepared, held_bytes, shared_bytes
from workflow.race.race import PATIENCE_S, Race
from workflow.race.stopwatch import Stopwatch
from workflow.race.team import Worker, WorkerFailed

#: Seconds of a phase that is told of when it ends.
LONG_S = 30
#: What a race's seconds are counted as, by what a worker is asked besides runs; else as "questions".
_PARTS = dict.fromkeys(("open", "prepare", "drop", "forget", "release", "clear"), "preparing")
_PARTS |= {"outcome": "hashing", "verify": "verification", "warm_up": "first calls"}


class Conductor:
    """The workers of one experiment.

    adapters: {id: Adapter}. oracle_folder: where exact scores are kept. say: takes a line of progress. seed: of the
    rounds' order, by default a fresh one each race.
    """

    def __init__(self, plan, adapters, oracle_folder, say, seed=None):
        self.plan, self.adapters, self.oracle_folder, self.say = plan, adapters, oracle_folder, say
        self.seed = seed
        self.workers = {}  # {(process, twin): Worker}: see home()
        self.prepared, self.watch = Prepared(), Stopwatch()
        self.first_calls = {}
        self.unstarted = {}  # {(tool, twin): (path, WorkerFailed)} of tools that failed in their first call
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

    def race(self, path, dataset_hash, began):
        """Race one data set. Returns ({Key: Record}, card): what each cell gave, and how the race went.

        began: instant of the monotonic clock at which its step began, which is to end in time.
        Raises OracleError when the exact scores it is judged by are wrong.
        """
        self.watch = Stopwatch(ended=self._phase_ended)
        race = Race(self, path, dataset_hash, began)
        self.watch.passed("opening", began)
        with self.watch.phase("starting workers"):
            self._begin()
        records, card = race.run(self.plan.min_rounds, self.plan.max_rounds)
        if not card["valid"]:
            fewest = min(2 * self.plan.min_rounds, race.rounds_left())
            if fewest < self.plan.min_rounds:
                self.say("  its twins were treated unevenly, and no time is left to race once more")
            else:
                self.say("  its twins were treated unevenly: racing once more with double rounds, as far as they fit")
                records, card = race.run(fewest, 2 * self.plan.max_rounds)
                card["rerun"] = True
        card["seconds"], card["seconds_of_tools"] = self.watch.card(), self.watch.tools_card()
        return records, card

    def _phase_ended(self, name, seconds):
        """Tell of a phase that took long: so it is seen where a long race is."""
        if seconds >= LONG_S:
            self.say(f"  {name}: {seconds:.0f} s")

    def job(self, scope):
        """The job at a scope."""
        return Job(scope, self.plan.penalties)

    def supported_jobs(self, tool):
        """The jobs the tool can do."""
        jobs = [self.job(scope) for scope in self.plan.scopes]
        return [job for job in jobs if self.adapters[tool].unsupported(job) is None]

    def home(self, key):
        """(process, whether it is the twin's) of a cell's worker. On a GPU a twin has its tool's: the letters are not
        page-locked once more for it, 30 GB for 100M pairs of 150."""
        adapter = self.adapters[key.tool]
        return adapter.process, key.twin and adapter.device == "cpu"

    def threads(self, tool):
        """The numbers of threads the tool is timed with."""
        return thread_counts(self.plan, self.adapters[tool])

    def ask(self, key, path, method, *arguments, timeout_s=PATIENCE_S):
        """Answer of the worker of a cell's tool, on that data set. Raises WorkerFailed."""
        return self._asked(self._worker(key, path), timeout_s, method, *arguments, tool=key.tool)

    def prepare(self, key, path, pairs):
        """Have a cell ready in its worker; pairs: of the data set. Drops what was used longest ago for its room."""
        own, adapter = self.home(key), self.adapters[key.tool]
        self._worker(key, path)  # a new worker, or one that opens the data set, holds nothing
        if self.prepared.use(own, key.name):
            return
        sizes = held_bytes(adapter, pairs, key.n), shared_bytes(adapter, pairs, key.n)
        for other, name in self.prepared.add(own, key.name, *sizes):
            with contextlib.suppress(WorkerFailed):  # it has died, and what it held with it
                request = ("release",) if name is SHARED else ("drop", name)
                self._asked(self.workers[other], PATIENCE_S, *request)
        shards = self._processes(key.tool, key.threads)
        self.ask(key, path, "prepare", key.name, key.tool, self.job(key.scope), key.n, shards)

    def drop(self, key, path):
        """Let a cell go."""
        self.ask(key, path, "drop", key.name)
        self.prepared.forget(self.home(key), key.name)

    def clear(self, device):
        """Let all cells of a device's tools go: its rounds are done, and another's need the room."""
        homes = {self.adapters[tool].process for tool in self.plan.tools if self.adapters[tool].device == device}
        for own, worker in self.workers.items():
            if own[0] in homes and worker.alive:
                self.prepared.forget(own)
                with contextlib.suppress(WorkerFailed):  # it has died, and what it held with it
                    self._asked(worker, PATIENCE_S, "clear")

    def run(self, key, path, counted_as="timed runs"):
        """Seconds of one run of a cell that is ready. counted_as: what the race spends them on."""
        worker, processes = self._worker(key, path), self._processes(key.tool, key.threads)
        with self.watch.of(counted_as, key.tool):
            return worker.ask(self.plan.timeout_seconds, "run", key.name, processes)

    def _asked(self, worker, timeout_s, method, *arguments, tool=None):
        """A worker's answer, its seconds counted. tool: for which it is asked, where it is for one."""
        with self.watch.of(_PARTS.get(method, "questions"), tool):
            return worker.ask(timeout_s, method, *arguments)

    def _processes(self, tool, threads):
        """Processes of a cell: one a thread, or one whose library has so many threads."""
        return 1 if self.adapters[tool].pool else threads

    def _worker(self, key, path):
        """The live worker of a cell's tool, which has made its first call, with the data set open."""
        own = self.home(key)
        worker = self.workers.get(own)
        if worker is None or not worker.alive:
            self.workers[own] = worker = self._new_worker(own[0])
        if key.tool not in worker.warm:
            self._warm_up(worker, key.tool, own[1], path)
        if worker.opened != path:
            self.prepared.forget(own)
            self._asked(worker, PATIENCE_S, "open", path)
            worker.opened = path
        return worker

    def _begin(self):
        """Start every process that is not there, all at once: each takes a second to import what it needs."""
        begun = []
        for tool in self.plan.tools:
            own = self.adapters[tool].process, False
            if own not in self.workers and tool not in self.missing and self.supported_jobs(tool):
                self.workers[own] = self._new_worker(own[0])
                begun.append(self.workers[own])
        for worker in begun:
            with contextlib.suppress(WorkerFailed):  # its first call will tell
                self._asked(worker, PATIENCE_S, "peak_rss_bytes", False)

    def _new_worker(self, process):
        """A worker with as many processes and threads as any of its tools is timed with."""
        tools = [tool for tool in self.plan.tools if self.adapters[tool].process == process]
        most = {tool: max(self.threads(tool)) for tool in tools}
        processes = max(self._processes(tool, most[tool]) for tool in tools)
        return Worker(self.adapters[tools[0]].device, processes, max(most.values()) // processes)

    def _patience_s(self, tool):
        """Seconds for the first call of a tool: only our own compile in it."""
        return PATIENCE_S if tool.startswith("wavebench") else min(PATIENCE_S, self.plan.timeout_seconds)

    def _warm_up(self, worker, tool, twin, path):
        """Have a worker make the first call of a tool. One that could not is not asked again for another cell of that
        data set: each try may take all of the patience. Raises WorkerFailed."""
        failed_on, failure = self.unstarted.get((tool, twin), (None, None))
        if failed_on == path:
            raise failure
        try:
            asked = "warm_up", tool, self.supported_jobs(tool), path
            took = self._asked(worker, self._patience_s(tool), *asked, tool=tool)
        except WorkerFailed as failure:
            self.unstarted[(tool, twin)] = path, failure
            raise
        worker.warm.add(tool)
        self.first_calls.setdefault(tool, took)
