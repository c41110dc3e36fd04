"""Whether a run has ended with what the event speaks of: failed or unknown, whoever has recorded that."""

from collections.abc import Sequence

import psycopg

from handlers.guard.bad_end import BadEnd, bad_end_of, bad_ends
from handlers.runtime.recorder.findings import Finding, NotStarted
from handlers.runtime.recorder.record import DISPATCHER


def ended_badly(connection: psycopg.Connection, found: Sequence[Finding], written: Sequence[int]) -> list[BadEnd]:
    """The runs whose last attempt a finding is about, each once, as the ledger has them now.

    By their state, not by what was `written` just now (ids of runs): a job that fails records that itself, and a
    recorder that died after its writing is called again. Only of a worker's many runs those alone are meant: how the
    others ended has long been told.
    """
    ends = [end for finding in found for end in _ends(connection, finding)] + bad_ends(connection, written)
    return list({end.run_id: end for end in ends}.values())


def _ends(connection: psycopg.Connection, finding: Finding) -> list[BadEnd]:
    if isinstance(finding, NotStarted):
        run_id = finding.tried.delivery.run_id
        return [] if run_id is None else bad_ends(connection, [run_id], compute=DISPATCHER)
    if finding.worker:
        return []
    end = bad_end_of(connection, finding.job, finding.compute, run_id=finding.run_id)
    return [] if end is None else [end]
