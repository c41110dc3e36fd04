"""`jobs retry`: let a run that has ended without success be due again."""

from handlers.guard.intervene import retry
from ops.interventions import how_it_starts, intervening, named
from ops.ledger import details


def retry_run(name: str) -> None:
    """Make the run due now, and print what starts it. Raises what `intervening` does."""
    with intervening(name) as (ledger, run_id):
        retry(ledger, run_id)
        run, _ = details(ledger, run_id)
    print(f"{named(run)} is due again: {how_it_starts(run)}")
