"""`jobs queue`: the commands of queues, on the local AWS of a running `make run` or, with --env, on AWS."""

from typing import Annotated

import typer

from ops.parameters import AsJson, JobName, MaybeJobName, Partition, up_to
from ops.refused import Refused

app = typer.Typer(
    name="queue",
    help="What waits in the queues of jobs, and what has ended as a dead letter.",
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Env = Annotated[
    str | None,
    typer.Option("--env", metavar="NAME", help="An environment on AWS, instead of `make run`.", show_default=False),
]
Dead = Annotated[bool, typer.Option("--dead", help="The dead letters instead.")]
Few = Annotated[int, typer.Option("--count", parser=up_to(1000), metavar="N", help="How many at most.")]
Most = Annotated[
    int | None,
    typer.Option("--count", parser=up_to(1_000_000), metavar="N", help="At most so many.", show_default=False),
]
Key = Annotated[str | None, typer.Option(metavar="KEY", help="The one with this key alone.", show_default=False)]
RunKey = Annotated[str, typer.Option("--key", metavar="KEY", help="The key of its run, such as an order's number.")]
Payload = Annotated[str, typer.Argument(metavar="JSON", help="What to work on, an object such as '{\"order\": 42}'.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@app.callback()
def queue(context: typer.Context, *, env: Env = None, as_json: AsJson = False) -> None:
    """What waits in the queues of jobs, and what has ended as a dead letter; alone it is `jobs queue show`."""
    if context.invoked_subcommand is None:
        show(env=env, as_json=as_json)
    elif env is not None or as_json:
        option = "--json" if env is None else f"--env {env}"
        raise Refused(f"{option}: allowed is after the command: `jobs queue {context.invoked_subcommand} ... {option}`")


@app.command("show")
def show(job: MaybeJobName = None, *, env: Env = None, as_json: AsJson = False) -> None:
    """How many messages wait and are under way, how old the oldest is, and how many dead letters there are."""
    from ops.commands.queue_show import show_queues

    show_queues(job, environment=env, as_json=as_json)


@app.command("peek")
def peek(job: JobName, *, dead: Dead = False, count: Few = 10, env: Env = None, as_json: AsJson = False) -> None:
    """The messages that wait, without taking them out; SQS counts it as a receipt of each."""
    from ops.commands.queue_peek import peek

    peek(job, dead=dead, count=count, environment=env, as_json=as_json)


@app.command("redrive")
def redrive(job: JobName, *, key: Key = None, count: Most = None, dry_run: DryRun = False, env: Env = None) -> int:
    """Send the dead letters anew, and have their failed runs tried again. Exits with 1 when one has to stay."""
    from ops.commands.queue_redrive import redrive

    return redrive(job, key=key, count=count, dry_run=dry_run, environment=env)


@app.command("send")
def send(job: JobName, payload: Payload, *, key: RunKey, partition: Partition = None, env: Env = None) -> None:
    """Send a message: a run of the job. A second message with the same key is the same run."""
    from ops.commands.queue_send import send

    send(job, payload, key=key, partition=partition, environment=env)


@app.command("purge")
def purge(job: JobName, *, dead: Dead = False, yes: Yes = False, env: Env = None) -> None:
    """Delete all messages that wait, and cancel their runs."""
    from ops.commands.queue_purge import purge

    purge(job, dead=dead, yes=yes, environment=env)
