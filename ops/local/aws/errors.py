"""What can go wrong with the local AWS."""

from collections.abc import Sequence


class LocalAwsError(Exception):
    """The local AWS could not do what was asked; the message says what and what to do."""


class LocalDeployError(LocalAwsError):
    """A stack did not reach a complete state; `reasons` has one line per failed resource."""

    def __init__(self, stack: str, status: str, reasons: Sequence[str]) -> None:
        self.stack = stack
        self.status = status
        self.reasons = tuple(reasons)
        super().__init__(f"stack {stack} ended {status}: " + ("; ".join(reasons) or "no resource gave a reason"))
