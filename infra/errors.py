"""The base of what this package raises on purpose."""


class InfraError(Exception):
    """The stacks cannot be made as asked; the message is for the person at the terminal, without a trace."""
