"""The environments, all on one page, and the check that refuses them with every complaint in one message."""

from handlers.declaration.catalogue import Catalogue
from infra.environment import Environment
from infra.errors import InfraError
from infra.surroundings import OwnDatabase, OwnNetwork


class InvalidEnvironments(InfraError):
    """Environments have mistakes; the message has one line for each."""

    def __init__(self, complaints: tuple[str, ...]) -> None:
        self.complaints = complaints
        noun = "mistake" if len(complaints) == 1 else "mistakes"
        super().__init__(f"{len(complaints)} {noun} in the environments:\n" + "\n".join(f"  {c}" for c in complaints))


class UnknownEnvironment(InfraError):
    """No environment has this name; the message names those that exist."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"unknown environment {name!r}: known are {', '.join(known)}")


def checked(environments: tuple[Environment, ...], catalogue: Catalogue) -> tuple[Environment, ...]:
    """These environments, unchanged. Raises InvalidEnvironments with the complaints of all of them."""
    complaints = tuple(f"{each.name}: {text}" for each in environments for text in each.complaints(catalogue))
    names = [each.name for each in environments]
    complaints += tuple(f"{name}: the name is given twice" for name in sorted({n for n in names if names.count(n) > 1}))
    if complaints:
        raise InvalidEnvironments(complaints)
    return environments


def choose(environments: tuple[Environment, ...], name: str | None) -> tuple[Environment, ...]:
    """The environment of this name alone, or all of them for None. Raises UnknownEnvironment."""
    chosen = tuple(each for each in environments if name in (None, each.name))
    if not chosen:
        raise UnknownEnvironment(str(name), tuple(each.name for each in environments))
    return chosen


ENVIRONMENTS = (
    # The cheapest that works: about $12 for the database while it runs, and $7 for the way to the queues.
    Environment("dev", network=OwnNetwork("10.40.0.0/16", egress="public"), database=OwnDatabase()),
    # Like prod wherever a mistake would show, small wherever only load would. A NAT gateway, since a job calls what is
    # not AWS; with queues it is cheaper than endpoints too, at $37 a month instead of $58.
    Environment(
        "staging",
        network=OwnNetwork("10.41.0.0/16", egress="nat"),
        database=OwnDatabase(backup_days=7),
        log_days=30,
    ),
    Environment(
        "prod",
        network=OwnNetwork("10.42.0.0/16", egress="nat", flow_logs=True),
        database=OwnDatabase("db.t4g.small", storage=50, multi_az=True, backup_days=35),
        protected=True,
        log_days=365,
        export_days=400,
    ),
)
