"""Where Lambda sends the record of an asynchronous call, once that has ended."""

from dataclasses import dataclass

from aws_cdk import aws_iam as iam


@dataclass(frozen=True, slots=True)
class Destination:
    """A queue or a function. statement: leave to send there, which the role of the function that was called needs."""

    arn: str
    statement: iam.PolicyStatement


@dataclass(frozen=True, slots=True)
class Calls:
    """How Lambda treats asynchronous calls of a function.

    retries: how often it calls again after a failure. age: seconds for which a call may wait to be made.
    """

    retries: int
    age: int
    on_failure: Destination
    on_success: Destination | None = None

    def statements(self) -> list[iam.PolicyStatement]:
        """Leave to send to the destinations."""
        return [each.statement for each in (self.on_success, self.on_failure) if each is not None]
