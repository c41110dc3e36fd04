"""What is wrong with the arguments of a command, as one line."""

import typer


def in_one_line(error: typer.TyperException) -> str:
    """What is wrong with the arguments, and where to read on."""
    message = " ".join(error.format_message().split()).replace("Value error, ", "")
    stop = "" if message.endswith((".", "?")) else "."
    context = getattr(error, "ctx", None)  # of the command whose arguments they are
    return f"{message}{stop} See `{context.command_path if context else 'jobs'} --help`."
