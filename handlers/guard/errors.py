"""What can go wrong at the guard, each as one line that says what, where and what to do."""


class GuardError(Exception):
    """Base of every error that the guard raises."""


class DatabaseUnavailable(GuardError):
    """No session with the database could be had, or it broke and could not be had again."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        super().__init__(f"database {place} unavailable: {reason}")


class SchemaTooOld(GuardError):
    """The ledger's schema lacks migrations that this code needs."""

    def __init__(self, found: int, needed: int) -> None:
        self.found, self.needed = found, needed
        super().__init__(f"the ledger is at migration {found}, this code needs {needed}: run `jobs migrate` first")


class NotRegistered(GuardError):
    """The job has no row in the ledger's table of jobs."""

    def __init__(self, job: str) -> None:
        self.job = job
        super().__init__(f"job {job} is not registered in the ledger: run `jobs migrate`")


class LockKeyCollision(GuardError):
    """Another job already owns the lock key that this name derives to."""

    def __init__(self, job: str, lock_key: int) -> None:
        self.job, self.lock_key = job, lock_key
        super().__init__(f"job {job} has the lock key {lock_key} of another registered job: give it another name")


class Fenced(GuardError):
    """Another attempt has taken over this run: nothing more may be written by this one."""

    def __init__(self, run_id: int, fence: int) -> None:
        self.run_id, self.fence = run_id, fence
        super().__init__(f"run {run_id} is no longer held under fence {fence}: another attempt has taken over")


def one_line(error: BaseException) -> str:
    """The error's first line, or its kind where it has no text."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
