"""A value of the wrong type in the job table is a complaint like any other, and never a traceback."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Literal, get_origin, get_type_hints

import pytest

from handlers.declaration.catalogue import InvalidSchedule, declare
from handlers.declaration.cron import Cron, cron
from handlers.declaration.duration import minutes
from handlers.declaration.job import Job
from handlers.declaration.policy import CatchUp, Retry
from handlers.declaration.queue import Queue
from handlers.declaration.shape import wrong_types

WITHIN = {Job: "", Retry: "retry", CatchUp: "catch_up", Queue: "queue", Cron: "schedule"}

TEXT, NUMBER, SPAN = "text in quotes", "a whole number", "a span such as minutes(5)"
SCHEDULE = "a schedule such as cron('0 2 * * ? *')"
WORDS = "a tuple of words such as ('a', 'b'), or ('a',) for one"

# By the annotation: what people write there by mistake, and what they are told is allowed.
MISTAKES: dict[object, tuple[list[object], str]] = {
    str: ([None, 5, b"x", ["x"]], TEXT),
    str | None: ([5, b"Asia/Riyadh"], f"{TEXT}, or None"),
    int: ([None, "512", 2.5, True], NUMBER),
    int | None: (["3", 2.0, False], f"{NUMBER}, or None"),
    bool: ([None, "no", 0, 1], "True or False"),
    timedelta: ([None, 3, 2.5, "5m"], SPAN),
    timedelta | None: ([5, "1h"], f"{SPAN}, or None"),
    tuple[str, ...]: ([None, "greet", ["greet"], ("greet", 5), {"greet"}], WORDS),
    Cron: ([None, "0 2 * * ? *", minutes(5)], SCHEDULE),
    CatchUp: ([None, "latest", CatchUp], "CatchUp(...)"),
    Retry: ([None, 3, CatchUp()], "Retry(...)"),
    Queue | None: ([True, 5, Queue], "Queue(...), or None"),
}


def entry(**changes: Any) -> Job:
    """A job without mistakes, but for the changes."""
    right: dict[str, Any] = {"name": "nightly", "target": "handlers.jobs.billing_run:run", "longest_run": minutes(5)}
    return Job(**({**right, "schedule": cron("0 2 * * ? *")} | changes))


def complaints(*jobs: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidSchedule) as refused:
        declare(*jobs)
    return refused.value.complaints


def mistakes() -> Iterator[Any]:
    for record, within in WITHIN.items():
        hints = get_type_hints(record)
        for field in fields(record):
            name = f"{within}.{field.name}".lstrip(".")
            if get_origin(hints[field.name]) is not Literal:
                for value in MISTAKES[hints[field.name]][0]:
                    yield pytest.param(record, field.name, value, id=f"{name}={value!r}")


@pytest.mark.parametrize(("record", "field", "value"), list(mistakes()))
def test_a_value_of_another_type_is_named_with_what_is_allowed(record: type, field: str, value: object) -> None:
    changes: dict[str, Any] = {field: value}
    if within := WITHIN[record]:
        needed = {"expression": "0 2 * * ? *"} if record is Cron else {}
        changes = {within: record(**(needed | changes))}
    name = repr(value) if (record, field) == (Job, "name") else "nightly"
    allowed = MISTAKES[get_type_hints(record)[field]][1]
    place = f"{within}.{field}".lstrip(".")
    assert complaints(entry(**changes)) == (f"{name}: {place} {value!r}: allowed is {allowed}",)


@pytest.mark.parametrize("field", ["compute", "overlap", "on_lost", "on_duplicate"])
@pytest.mark.parametrize("value", [None, 5, ["skip"], Queue])
def test_what_is_none_of_the_words_of_a_field_is_told_those_words(field: str, value: object) -> None:
    (told,) = complaints(entry(**{field: value}))
    assert told.startswith(f"nightly: {field} {value!r}: allowed is ")
    assert told.endswith({"compute": "fargate", "overlap": "allow", "on_lost": "hold", "on_duplicate": "error"}[field])


def test_a_mode_that_is_no_word_is_told_the_modes() -> None:
    wrong: Any = 5
    assert complaints(entry(catch_up=CatchUp(wrong))) == ("nightly: catch_up.mode 5: allowed is skip, latest, all",)


def test_all_wrong_types_of_all_jobs_are_told_at_once_with_the_wrong_values_of_others() -> None:
    wrong: Any = "3"
    assert complaints(
        entry(name="one", memory="512", retry=Retry(attempts=wrong), catch_up=CatchUp(window=wrong)),
        entry(name="two", memory=64),
        entry(name="three", queue=Queue(batch=wrong), internet="no"),
    ) == (
        f"one: memory '512': allowed is {NUMBER}",
        f"one: catch_up.window '3': allowed is {SPAN}, or None",
        f"one: retry.attempts '3': allowed is {NUMBER}",
        "two: memory 64: allowed is 128 to 122,880 MB",
        f"three: queue.batch '3': allowed is {NUMBER}",
        "three: internet 'no': allowed is True or False",
    )


def test_the_values_of_a_job_with_a_wrong_type_are_not_looked_at() -> None:
    assert complaints(entry(memory="512", disk=1)) == (f"nightly: memory '512': allowed is {NUMBER}",)


def test_what_is_no_job_is_named_by_its_place_in_the_table() -> None:
    assert complaints(entry(), None, (entry(name="other"),)) == (
        "entry 2 of the table None: allowed is Job(...)",
        f"entry 3 of the table {(entry(name='other'),)!r}"[: 21 + 80] + "...: allowed is Job(...)",
    )


def test_a_word_alone_is_not_read_letter_by_letter() -> None:
    assert complaints(entry(sends="greet")) == (f"nightly: sends 'greet': allowed is {WORDS}",)


def test_a_receiver_whose_entry_has_a_wrong_type_is_known_all_the_same() -> None:
    told = complaints(entry(sends=("pull", "gone")), entry(name="pull", queue=Queue(), memory="512"))
    assert told == (
        f"pull: memory '512': allowed is {NUMBER}",
        "nightly: sends 'gone': allowed is the name of a job with a queue, pull",
    )


def test_a_name_given_twice_is_told_though_one_of_the_two_has_a_wrong_type() -> None:
    assert complaints(entry(), entry(memory="512"))[1] == "nightly: name 'nightly' is given 2 times: allowed is once"


def test_a_long_value_is_cut_and_stays_on_one_line() -> None:
    class Long:
        def __repr__(self) -> str:
            return "x\n" * 200

    (told,) = complaints(entry(memory=Long()))
    assert told == f"nightly: memory {'x ' * 40}...: allowed is {NUMBER}"


def test_values_of_the_declared_types_and_of_types_below_them_are_no_mistake() -> None:
    class Word(str):
        __slots__ = ()

    whole = entry(
        description=Word("Word"), queue=Queue(visibility=minutes(90), receives=20), sends=(), catch_up=CatchUp()
    )
    assert list(wrong_types(whole)) == []
    assert list(wrong_types(entry(catch_up=CatchUp(window=None)))) == []


def test_a_field_of_a_type_that_nobody_checks_is_found_when_it_is_added() -> None:
    @dataclass(frozen=True)
    class Newer:
        shares: dict[str, float]

    with pytest.raises(TypeError, match="nothing here knows whether a value is of type dict"):
        list(wrong_types(Newer({})))
