"""Jobs that work on messages. Their payload says what happens; they reach their test through the ledger's database."""

from handlers.runtime.context import Context
from handlers.runtime.retry import Fatal


def note(context: Context) -> None:
    """Have an effect once; fail in the first `fails` attempts, or for good."""
    with context.step("effect") as tx:
        if tx is not None:
            tx.execute("insert into effect (name, attempt) values (%s, %s)", (context.run_key, context.attempt))
    if context.payload.get("fatal"):
        raise Fatal("the picture is broken")
    if context.attempt <= context.payload.get("fails", 0):
        raise ConnectionError("the bucket was busy")


def note_and_wait(context: Context) -> None:
    """Have an effect once, tell of it, and in the first attempt wait to be told to stop."""
    note(context)
    context.connection.execute("notify begun")
    if context.attempt == 1:
        context.stop.wait(60)
        context.stop_if_asked()


def note_and_hang(context: Context) -> None:
    """The same, deaf to every wish."""
    note(context)
    context.connection.execute("notify begun")
    while context.attempt == 1:
        context.connection.execute("select pg_sleep(60)")


def open_gate(context: Context) -> None:
    """Have an effect once, tell of it, and wait until nobody holds the gate."""
    note(context)
    context.connection.execute("notify begun")
    context.connection.execute("select pg_advisory_lock_shared(77), pg_advisory_unlock_shared(77)")
