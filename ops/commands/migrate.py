"""`jobs migrate`: the schema of the ledger, and its table of jobs."""

from handlers.runtime.migrate_entry import bring_up_to_date
from handlers.schedule import SCHEDULE
from ops.configured import needed


def migrate_ledger() -> None:
    """Apply what is missing, register what is new, and print both. Raises what `bring_up_to_date` and `needed` do."""
    done = bring_up_to_date(needed())
    for name in done.applied:
        print(f"applied {name}")
    if not done.applied:
        print("the schema is up to date")
    for shortcoming in done.shortcomings:
        print(shortcoming)
    print(
        f"registered {done.registered} new of {len(SCHEDULE)} jobs"
        if done.registered
        else f"all {len(SCHEDULE)} jobs are registered"
    )
