"""What can go wrong with the POS, told apart by what is to be done about it. Each message is one line."""

from datetime import timedelta


class PosError(Exception):
    """The POS did not give what it was asked for; the message says what, where and why."""


class BadAddress(PosError):
    """SHIFTLOCK_POS_URL is no address that may be called: somebody has to set it right."""


class Refused(PosError):
    """The POS has understood and will not: to ask again is of no use until somebody has changed something."""


class InvalidAnswer(PosError):
    """The answer is not what the API promises; the message names the field. Nothing of it was used."""


class CursorExpired(PosError):
    """The POS no longer knows the cursor: read from the beginning."""


class Unavailable(PosError):
    """No answer, or none that could be read: the same request may succeed later.

    asked_to_wait: how long the POS wants to be left alone, when it has said so.
    """

    def __init__(self, message: str, asked_to_wait: timedelta | None = None) -> None:
        self.asked_to_wait = asked_to_wait
        super().__init__(message)


class GaveUp(PosError):
    """Still unavailable, and waiting on is for somebody who has more time. asked_to_wait: see Unavailable."""

    def __init__(self, message: str, asked_to_wait: timedelta | None = None) -> None:
        self.asked_to_wait = asked_to_wait
        super().__init__(message)
