"""Page-locking a batch where it lies, for batches that shall not be copied."""

from wfa_kernels.api import AlignError, gpu_problem


def register_pairs(pairs):
    """A PairBatch over the same memory, page-locked as long as it lives: what pin_pairs() copies, without the copy.

    pairs: PairBatch, a memory-mapped one too, whose file must not change meanwhile. Raises AlignError where there is no
    GPU or its driver refuses to lock that memory; pin_pairs() is then the way.
    """
    problem = gpu_problem(simulator=True)
    if problem:
        raise AlignError(f"pairs cannot be page-locked: {problem}")
    from wfa_kernels.cuda import registered

    try:
        return registered.register(pairs)
    except registered.RegisterError as error:
        raise AlignError(f"{error}; pin_pairs() copies them") from None
