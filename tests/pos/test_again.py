"""When the POS is asked again, and after how long."""

from datetime import timedelta

import pytest

from handlers.pos.again import BASE, LONGEST_WAIT, TRIES, after, again
from handlers.pos.errors import GaveUp, InvalidAnswer, Unavailable


class Line:
    """Answers in order; exceptions are raised."""

    def __init__(self, *answers: object) -> None:
        self.left = list(answers)

    def __call__(self) -> object:
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_the_wait_doubles_and_jitter_takes_a_part_of_it() -> None:
    assert [after(None, tries=tries, jitter=1.0).wait for tries in (1, 2, 3)] == [BASE, 2 * BASE, 4 * BASE]
    assert after(None, tries=3, jitter=0.5).wait == 2 * BASE
    assert after(None, tries=1, jitter=0.0).wait == timedelta()


def test_a_wait_that_was_asked_for_is_kept_to_and_jitter_comes_on_top() -> None:
    assert after(timedelta(seconds=2), tries=1, jitter=1.0).wait == timedelta(seconds=2) + BASE
    assert after(LONGEST_WAIT, tries=1, jitter=0.0).wait == LONGEST_WAIT


def test_a_wait_too_long_for_a_run_and_a_last_try_end_it_with_the_reason() -> None:
    long = after(timedelta(hours=1), tries=1, jitter=0.0)
    assert (long.wait, long.because) == (None, "it wants 3600 s without requests, and a run waits 10 s at most")
    last = after(timedelta(), tries=TRIES, jitter=0.0)
    assert (last.wait, last.because) == (None, f"tried {TRIES} times")


def test_an_answer_after_two_failures_is_returned_after_two_waits() -> None:
    waits: list[float] = []
    line = Line(Unavailable("cut off"), Unavailable("busy", timedelta(seconds=3)), "page")
    assert again(line, waits.append, jitter=lambda: 1.0) == "page"
    assert waits == [0.25, 3.5]


def test_the_last_failure_is_told_with_the_number_of_tries() -> None:
    waits: list[float] = []
    line = Line(*(Unavailable(f"503, number {number}") for number in range(TRIES)))
    with pytest.raises(GaveUp, match=f"^503, number {TRIES - 1}; tried {TRIES} times$"):
        again(line, waits.append, jitter=lambda: 1.0)
    assert (len(waits), line.left) == (TRIES - 1, [])


def test_what_is_no_failure_of_the_moment_is_not_asked_for_again() -> None:
    line = Line(InvalidAnswer("changes is null"), "never asked for")
    with pytest.raises(InvalidAnswer):
        again(line, lambda _: pytest.fail("waited"))
    assert line.left == ["never asked for"]


def test_a_wait_that_raises_ends_the_asking() -> None:
    line = Line(Unavailable("cut off"), "never asked for")

    def told_to_stop(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        again(line, told_to_stop)
    assert line.left == ["never asked for"]
