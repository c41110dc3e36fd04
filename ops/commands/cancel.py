"""`jobs cancel`: end a run that is to come or goes on."""

from datetime import timedelta

from handlers.guard.intervene import cancel
from ops.interventions import intervening, named
from ops.ledger import RunDetails, details
from ops.wording import one_line, span

REASON = "cancelled with `jobs cancel`"


def cancel_run(name: str, *, reason: str | None) -> None:
    """End a pending run, or ask a running one to end, and print which. Raises what `intervening` does."""
    with intervening(name) as (ledger, run_id):
        cancel(ledger, run_id, one_line(reason or "") or REASON)
        run, _ = details(ledger, run_id)
    print(f"{named(run)} {_what_follows(run)}")


def _what_follows(run: RunDetails) -> str:
    if run.status != "running" or run.lease_left_seconds is None:
        return f"is {run.status}"
    if run.lease_left_seconds <= 0:
        return f"is to end, but {run.holder} has lost its lease and may be dead: the job's next start ends it"
    # A holder that has not renewed its lease until then has lost the run.
    within = span(timedelta(seconds=run.lease_left_seconds))
    return f"is asked to end: {run.holder} hears of it with its next heartbeat, within {within}"
