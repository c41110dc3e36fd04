"""`jobs migrate`: the schema of the ledger, and its table of jobs."""

from handlers.runtime.migrate_entry import bring_up_to_date
from handlers.schedule import SCHEDULE
from ops.configured import needed


def migrate_ledger() -> None:
    """Apply what is missing, register what is new, and print both. Raises what `bring_up_to_date` and `needed` do."""
    applied, registered = bring_up_to_date(needed())
    for name in applied:
        print(f"applied {name}")
    if not applied:
        print("the schema is up to date")
    print(
        f"registered {registered} new of {len(SCHEDULE)} jobs"
        if registered
        else f"all {len(SCHEDULE)} jobs are registered"
    )
