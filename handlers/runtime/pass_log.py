"""What a pass over the ledger found, for the log."""

from aws_lambda_powertools.logging import Logger

from handlers.planning.sweep import Pass


def log_pass(log: Logger, made: Pass) -> None:
    """Write what a person would look for: ticks that do not run, and runs that were lost."""
    for job, skip in made.skipped:
        facts = {"job": job, "run_key": skip.due.run_key, "reason": skip.reason, "because": skip.because}
        log.warning("skipped", extra=facts)
    for lost in made.lost:
        facts = {"job": lost.job, "run_id": str(lost.run_id), "run_status": lost.status}
        log.warning("lost", extra=facts)
