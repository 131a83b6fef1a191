"""What a module of this folder finds on the GPU, asked in a process of its own.

So the race's conductor holds no GPU while tools are timed.
"""

import json
import subprocess
import sys


def ask(module, timeout_s=120):
    """The JSON that ``python -m <module>`` prints; None where it fails, as without numba-cuda."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", module], capture_output=True, text=True, check=True, timeout=timeout_s
        )
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
