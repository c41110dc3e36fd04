"""`jobs resolve`: say what became of a run that was lost or timed out and may have had its effects."""

from handlers.guard.intervene import Verdict, resolve
from ops.interventions import how_it_starts, intervening, named
from ops.ledger import details
from ops.wording import one_line


def resolve_run(name: str, *, verdict: Verdict, note: str | None) -> None:
    """Settle an unknown run, or have it tried again, and print which. Raises what `intervening` does."""
    with intervening(name) as (ledger, run_id):
        resolve(ledger, run_id, verdict, one_line(note or "") or f"resolved with `jobs resolve --as {verdict}`")
        run, _ = details(ledger, run_id)
    print(f"{named(run)} " + (f"is due again: {how_it_starts(run)}" if verdict == "retry" else f"has {verdict}"))
