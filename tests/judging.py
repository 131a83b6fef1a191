"""Running an adapter and holding its answers against the judge."""

from tests import naive
from wfa_kernels.result import OK, UNSUPPORTED
from workflow.aligners import Job


def nothing(pattern, text):
    """The pairs refused by a tool that refuses none."""
    return False


def answer(adapter, pairs, scope, penalties):
    """What an adapter gives for a job it takes."""
    job = Job(scope, penalties)
    assert adapter.unsupported(job) is None
    adapter.prepare(pairs, job)
    adapter.run()
    return adapter.outputs()


def check(adapter, batch, result, scope, penalties, refuses=nothing):
    """Every answer is optimal under the tool's objective, every CIGAR is one of that cost, the rest is refused."""
    triple = adapter.objective(Job(scope, penalties)).triple
    cigars = result.cigar_strings() if scope == "cigar" else None
    for i in range(len(batch)):
        pattern, text = batch.pair(i)
        if pattern and text and refuses(pattern, text):
            assert (result.status[i], result.scores[i]) == (UNSUPPORTED, -1), (pattern, text)
            assert cigars is None or cigars[i] == "*"
            continue
        assert result.status[i] == OK, (pattern, text)
        expected = naive.affine_score(pattern, text, *triple)
        assert result.scores[i] == expected, (pattern, text)
        if cigars is not None:
            assert naive.check_cigar(pattern, text, cigars[i], triple) == expected
