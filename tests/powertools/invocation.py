"""Lambda's side of an idempotent handler: its context, its timeout, and a handler that counts its executions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from aws_lambda_powertools.utilities.idempotency import BasePersistenceLayer, IdempotencyConfig, idempotent

EVENT = {"id": "order-1", "amount": 5}
HOUR = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Context:
    """Lambda's context object. remaining: milliseconds until Lambda would end the call."""

    remaining: int = 10_000

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining


@dataclass(frozen=True, slots=True)
class DurableContext:
    """The context of a durable function that is run again after its first operation."""

    lambda_context: Context = field(default_factory=Context)
    state: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(operations=["execution", "step"]))


class Killed(BaseException):
    """Lambda's timeout: no clean-up runs, neither the handler's nor Powertools'."""


def killed(event: dict[str, Any]) -> None:
    """A handler's body that Lambda ends."""
    raise Killed


@dataclass(slots=True)
class Function:
    """A function's code with one sandbox after the other; it answers with the number of the execution."""

    config: dict[str, Any] = field(default_factory=dict)
    key_prefix: str | None = None
    body: Callable[[dict[str, Any]], Any] | None = None
    executions: int = 0

    def invoke(self, layer: BasePersistenceLayer, event: dict[str, Any] | None = None, context: object = None) -> Any:
        """One invocation, in a sandbox with this layer."""

        @idempotent(persistence_store=layer, config=IdempotencyConfig(**self.config), key_prefix=self.key_prefix)
        def handler(event: dict[str, Any], context: Any) -> Any:
            self.executions += 1
            number = self.executions
            return {"execution": number} if self.body is None else self.body(event)

        return handler(EVENT if event is None else event, context or Context())
