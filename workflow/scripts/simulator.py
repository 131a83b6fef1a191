"""A process of its own for Numba's CUDA simulator, which must be chosen before Numba loads; no GPU is needed.

There a kernel is a Python function that can be watched.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def ask(module, request):
    """What the main() of a module answers on stdout to a request on its stdin, both JSON, in the simulator.

    Raises subprocess.CalledProcessError if it fails; what it said is on stderr.
    """
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(request),
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
