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
    """The job, or its partition, has no lock key in the ledger."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        super().__init__(f"{owner} is not registered in the ledger: run `jobs migrate`")


class LockKeyCollision(GuardError):
    """Another job, or partition, already owns the lock key that this name derives to."""

    def __init__(self, owner: str, lock_key: int) -> None:
        self.owner, self.lock_key = owner, lock_key
        super().__init__(f"{owner} has the lock key {lock_key} of another job or partition: give it another name")


class Fenced(GuardError):
    """Another attempt has taken over this run: nothing more may be written by this one."""

    def __init__(self, run_id: int, fence: int) -> None:
        self.run_id, self.fence = run_id, fence
        super().__init__(f"run {run_id} is no longer held under fence {fence}: another attempt has taken over")


def one_line(error: BaseException) -> str:
    """The error's first line, or its kind where it has no text."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
