"""Signals that arrive while a kernel runs in the main thread wait until it has given back its arrays.

Numba runs Python code to make these arrays, and Python calls a signal's handler within the next Python code that the
main thread runs. What the handler raises there, KeyboardInterrupt as a rule, Numba's code does not see: it becomes a
SystemError or ends the process.
"""

import _signal  # what the module signal wraps in enumerations, which take as long as aligning a short pair
import signal
import threading

#: Signals whose handlers are likely to raise something.
_SIGNALS = [
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
]


def hold(work, *arguments):
    """What ``work(*arguments)`` gives; signals with a handler in Python wait meanwhile.

    Behind it their handlers are called, in the order they came.
    """
    if threading.current_thread() is not threading.main_thread():
        return work(*arguments)
    handlers = {number: handler for number in _SIGNALS if callable(handler := _signal.getsignal(number))}
    waiting = []
    try:
        for number in handlers:
            _signal.signal(number, lambda *came: waiting.append(came))
        return work(*arguments)
    finally:
        _put_back_and_call(list(handlers.items()), handlers, waiting)


def _put_back_and_call(replaced, handlers, waiting):
    """Put all handlers back, then call those of the signals that came, each whatever one before it raises.

    SIGINT's, the first of _SIGNALS, last: one that is back may be called at once, while others are still replaced.
    """
    try:
        if replaced:
            _signal.signal(*replaced.pop())
        elif waiting:
            number, frame = waiting.pop(0)
            handlers[number](number, frame)
    finally:
        if replaced or waiting:
            _put_back_and_call(replaced, handlers, waiting)
