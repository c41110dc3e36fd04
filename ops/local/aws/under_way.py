"""Whether anything still goes on: calls of functions, deliveries, batches and tasks that have begun and not ended."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class UnderWay:
    """A count that can be waited for; safe to use from many threads."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def begin(self) -> None:
        """One more. To be called before the thread is started that will end it."""
        with self._changed:
            self._count += 1

    @contextmanager
    def until_done(self) -> Iterator[None]:
        """Ends what was begun when the block is left."""
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def wait(self, seconds: float, *, leaving: int) -> int:
        """Waits until no more than `leaving` are under way, at most so long; how many more still are."""
        with self._changed:
            self._changed.wait_for(lambda: self._count <= leaving, seconds)
            return max(0, self._count - leaving)
