"""The command line's own way to say no."""


class Refused(Exception):
    """What was asked for cannot be done; the message is one line: what, where, what to do."""
