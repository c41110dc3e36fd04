"""What the runtime accepts as its environment, and how it says what is wrong with one."""

from datetime import timedelta

import pytest

from handlers.runtime.settings import DatabaseUrl, IamDatabase, InvalidSettings, Settings, read_settings

ON_AWS = {
    "SHIFTLOCK_ENVIRONMENT": "prod",
    "SHIFTLOCK_DATABASE_HOST": "db.example.com",
    "SHIFTLOCK_DATABASE_PORT": "5433",
    "SHIFTLOCK_DATABASE_NAME": "shiftlock",
    "SHIFTLOCK_DATABASE_USER": "job",
    "AWS_REGION": "me-central-1",
}
LOCAL = {"SHIFTLOCK_ENVIRONMENT": "dev", "SHIFTLOCK_DATABASE_URL": "postgresql://postgres@/shiftlock?host=/tmp/sockets"}


def test_a_database_on_aws_is_read_from_its_five_variables() -> None:
    database = IamDatabase("db.example.com", 5433, "shiftlock", "job", "me-central-1")
    assert read_settings(ON_AWS) == Settings("prod", database, timedelta(seconds=30))


def test_a_url_overrides_all_database_variables_even_bad_ones() -> None:
    settings = read_settings({**ON_AWS, **LOCAL, "SHIFTLOCK_DATABASE_PORT": "none"})
    assert settings.database == DatabaseUrl(LOCAL["SHIFTLOCK_DATABASE_URL"])


def test_an_empty_variable_counts_as_not_set() -> None:
    assert isinstance(read_settings({**ON_AWS, "SHIFTLOCK_DATABASE_URL": ""}).database, IamDatabase)
    with pytest.raises(InvalidSettings, match="SHIFTLOCK_ENVIRONMENT is not set"):
        read_settings({**LOCAL, "SHIFTLOCK_ENVIRONMENT": ""})


def test_everything_wrong_is_said_at_once_in_one_line() -> None:
    with pytest.raises(InvalidSettings) as caught:
        read_settings({"SHIFTLOCK_DATABASE_PORT": "70000", "SHIFTLOCK_LEASE_SECONDS": "soon"})
    assert str(caught.value) == (
        "bad settings: SHIFTLOCK_ENVIRONMENT is not set; "
        "SHIFTLOCK_LEASE_SECONDS is 'soon': allowed is a whole number from 1 to 600; "
        "SHIFTLOCK_DATABASE_HOST is not set (or SHIFTLOCK_DATABASE_URL instead of all DATABASE settings); "
        "SHIFTLOCK_DATABASE_PORT is '70000': allowed is a whole number from 1 to 65535; "
        "SHIFTLOCK_DATABASE_NAME is not set; SHIFTLOCK_DATABASE_USER is not set; AWS_REGION is not set"
    )


@pytest.mark.parametrize(("given", "seconds"), [("1", 1), ("600", 600), ("030", 30)])
def test_a_lease_within_its_bounds_is_taken(given: str, seconds: int) -> None:
    assert read_settings({**LOCAL, "SHIFTLOCK_LEASE_SECONDS": given}).lease == timedelta(seconds=seconds)


@pytest.mark.parametrize("given", ["0", "601", "-1", "1.5", "1e2", " 30", "٣٠", ""])
def test_a_lease_out_of_bounds_or_no_whole_number_is_refused(given: str) -> None:
    with pytest.raises(InvalidSettings, match=r"SHIFTLOCK_LEASE_SECONDS is .* from 1 to 600"):
        read_settings({**LOCAL, "SHIFTLOCK_LEASE_SECONDS": given})


@pytest.mark.parametrize(
    "url", ["shiftlock", "postgresql://job:pass%word@db/shiftlock", "postgresql://db/?password=hush&nosuch=1"]
)
def test_a_malformed_url_is_refused_without_showing_what_may_be_a_password(url: str) -> None:
    with pytest.raises(InvalidSettings, match="SHIFTLOCK_DATABASE_URL is no libpq") as caught:
        read_settings({**LOCAL, "SHIFTLOCK_DATABASE_URL": url})
    assert "pass" not in str(caught.value).replace("password", "")
    assert "hush" not in str(caught.value)
