"""Launches of the GPU's kernels."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda

from tests import gpu_cells
from wfa_kernels import Edit, align
from wfa_kernels.cuda import device, kept_streams
from wfa_kernels.cuda.launching import Launcher, _bind, _Bound

ROOT = Path(__file__).parents[1]


@cuda.jit
def nothing():
    """A kernel that is configured and never run."""


class Configured:
    """Its launches go no further than to what Numba says of them."""

    def __getitem__(self, configuration):
        nothing[configuration]
        return lambda *arguments: None


def test_numba_does_not_tell_users_of_small_grids():
    with pytest.warns(match="Grid size 1 will likely result in GPU under-utilization"):
        nothing[1, 32, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Launcher(0)(Configured(), 1, 32)


def test_kernels_out_of_numbas_cache_are_bound():
    """Numba binds what it compiles; of what it loads it would forget how much shared memory a processor is to have."""
    bound, function = [], SimpleNamespace(handle=7, num_arguments=1)
    library = SimpleNamespace(get_cufunc=lambda: SimpleNamespace(kernel=function))
    loaded = SimpleNamespace(bind=lambda: bound.append(True), _codelibrary=library)
    kernel = SimpleNamespace(
        overloads={("int64",): loaded}, typeof_pyval=lambda argument: type(argument).__name__ + "64"
    )
    assert _bind(kernel, (5,)).function == 7 and bound == [True]


def test_arrays_and_numbers_are_put_down_as_numba_hands_them_over(monkeypatch):
    """Of an array two pointers of no use, its items, the bytes of one, where it lies, its shape, its strides."""
    monkeypatch.setattr(device, "address", lambda array: 4096)
    function, array = SimpleNamespace(handle=7, num_arguments=11), np.zeros((3, 5), np.uint16)
    compiled = SimpleNamespace(
        bind=lambda: None, _codelibrary=SimpleNamespace(get_cufunc=lambda: SimpleNamespace(kernel=function))
    )
    kernel = SimpleNamespace(overloads={("int", "ndarray", "int"): compiled}, typeof_pyval=lambda a: type(a).__name__)
    bound = _bind(kernel, (8, array, 6))
    assert bound.values.tolist() == [8, 0, 0, 15, 2, 4096, 3, 5, 10, 2, 6]
    assert (bound.places - bound.values.ctypes.data).tolist() == list(range(0, 88, 8))
    assert bound.takes((1, array, -2)) and bound.values[[0, 5, 10]].tolist() == [1, 4096, -2]


def test_what_is_launched_again_has_its_own_numbers_and_no_other_arrays():
    array, other, values = object(), object(), np.zeros(4, np.int64)
    bound = _Bound(7, [(1, array)], [(0, 0), (2, 3)], values, values)
    assert bound.takes((5, array, -6)) and values.tolist() == [5, 0, 0, -6]
    assert not bound.takes((5, other, -6))


def test_what_is_launched_again_is_allowed_as_much_shared_memory_as_it_asks_for(monkeypatch):
    """A later batch's longest pair may need more than any one before."""
    allowed, launched, values = [], [], np.zeros(1, np.int64)
    monkeypatch.setattr(device, "allow_shared", lambda *what: allowed.append(what))
    monkeypatch.setattr(device, "launch", lambda function, *what: launched.append(what[:3]))
    for shared_bytes in 0, device.ALWAYS_ALLOWED, device.ALWAYS_ALLOWED + 1:
        _Bound(7, [], [], values, values).launch(5, 32, shared_bytes, None)
        assert launched[-1] == (5, 32, shared_bytes)
    assert allowed == [(7, device.ALWAYS_ALLOWED + 1)]


#: What the kernels of strips ask for of a processor's memory on chip as shared memory, in percent.
_CARVEOUTS = """
from cuda.bindings import driver
from tests import gpu_cells
from wfa_kernels import Affine, align
from wfa_kernels.cuda import kept_streams
asked = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
for _ in range(2):
    align(gpu_cells.uniform(300, 5000, 0.1), Affine(2, 3, 1), scope="cigar", device="cuda")
bound = [one for slot in kept_streams.slots() for one in slot.launch._bound.items()]
told = {kernel.py_func.__name__: driver.cuKernelGetAttribute(asked, one.function, 0)[1] for kernel, one in bound}
print(*sorted({percent for name, percent in told.items() if "strips" in name}))
"""


@pytest.mark.gpu
def test_strips_leave_room_for_others_in_a_process_that_has_not_compiled_them(tmp_path):
    given = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", _CARVEOUTS], capture_output=True, text=True, cwd=ROOT, env=given)
        assert done.stdout.split() == ["100"], done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("design", ["fast", "paper"])
def test_arguments_are_put_down_once_for_a_kernel_and_its_arrays(design):
    """Else every launch works them out anew, as where Numba does not tell what it launches."""
    align(gpu_cells.uniform(100_000, 150, 0.05), Edit(), scope="cigar", device="cuda", design=design)
    bound = [bound for slot in kept_streams.slots() for bound in slot.launch._bound.values()]
    assert bound and None not in bound


def test_a_process_aligns_on_one_gpu(monkeypatch):
    here = SimpleNamespace(id=1)
    monkeypatch.setattr(device, "simulated", lambda: False)
    monkeypatch.setattr(device, "_gpu_in_use", {})
    monkeypatch.setattr(cuda, "current_context", lambda: None)
    monkeypatch.setattr(cuda, "get_current_device", lambda: here)
    device.attach()
    device.attach()
    here.id = 0
    with pytest.raises(device.OtherGpuError, match="GPU 0 is the current one, and this process has aligned on GPU 1"):
        device.attach()
