"""A GPU that does what it is asked for as late as it may, in the simulator, which else does all at once.

Each CUDA stream is a queue of its own, whose works are done when the host waits for them, or another stream that it
waits for: what nothing waits for comes too late. Streams that are not late do theirs as soon as they may, and so too
early where they wait for nothing.
"""


class Queue:
    """In place of a CUDA stream. late: it does nothing of its own accord."""

    every = []

    def __init__(self):
        self.works, self.done, self.late = [], 0, True
        Queue.every.append(self)

    def ask(self, work, after=None):
        """after: None, or (a Queue, how many of its works are to be done before)."""
        self.works.append((work, after))
        go_on()

    def step(self):
        """Do the next work if there is one that need not wait; whether it was done."""
        if self.done == len(self.works):
            return False
        work, after = self.works[self.done]
        if after is not None and after[0].done < after[1]:
            return False
        self.works[self.done] = None
        self.done += 1
        work()
        return True

    def reach(self, count):
        """Do so many works, and those that they wait for."""
        while self.done < count:
            _, after = self.works[self.done]
            if after is not None:
                after[0].reach(after[1])
            self.step()
        go_on()

    def synchronize(self):
        self.reach(len(self.works))


def go_on():
    """What streams that are not late can do now."""
    while any(not queue.late and queue.step() for queue in Queue.every):
        pass


class Event:
    """In place of a CUDA event."""

    at = None

    def record(self, queue):
        self.at = queue, len(queue.works)

    def wait(self, queue):
        queue.ask(lambda: None, self.at)

    def synchronize(self):
        if self.at is not None:
            self.at[0].reach(self.at[1])


def take_the_place_of_the_simulators(early):
    """Patch the simulator and the library. early: the streams that are not late, of "inward", "outward", "afterwards",
    and "compute", those of all slots, or "compute 1", that of a slot."""
    from numba import cuda

    from wfa_kernels.cuda import device, launching, stream

    cuda.stream, cuda.event = Queue, Event
    launch, make = launching.Launcher.__call__, stream.Stream.__init__
    copy_in, copy_out, clear = device.copy_in, device.copy_out, device.clear

    def made(self, *arguments):
        make(self, *arguments)
        queues = {"inward": self.inward, "outward": self.outward, "afterwards": self.afterwards}
        queues |= {f"compute {number}": slot.compute for number, slot in enumerate(self.slots)}
        for name, queue in queues.items():
            queue.late = name not in early and name.split()[0] not in early

    def in_turn(queue, work, *arguments, **options):
        queue.ask(lambda: work(*arguments, **options)) if queue else work(*arguments, **options)

    def launched(self, *arguments, **options):
        in_turn(self._stream, launch, self, *arguments, **options)

    stream.Stream.__init__, launching.Launcher.__call__ = made, launched
    device.copy_in = lambda target, source, queue, first=0: in_turn(queue, copy_in, target, source, 0, first)
    device.copy_out = lambda target, source, first, queue: in_turn(queue, copy_out, target, source, first, 0)
    device.clear = lambda target, count, queue: in_turn(queue, clear, target, count, 0)
    device.wait = lambda: [queue.synchronize() for queue in Queue.every]
    device.is_done = lambda event: event.at is None or event.at[0].done >= event.at[1]
