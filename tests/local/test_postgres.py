"""The local PostgreSQL: whoever uses it and however that ends, nothing is left running and no data is lost."""

import os
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest

from ops.local.postgres import LocalPostgresError, server
from ops.local.postgres_account import account_for
from ops.local.postgres_binaries import find_binaries
from ops.local.postgres_cluster import Cluster
from tests.local.ordinary_user import python_without_rights
from tests.local.postgres_processes import (
    PATIENCE,
    answer,
    assert_end,
    data_folder,
    execute,
    leave,
    postmaster,
    said,
    user,
)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter and write to; pytest's are closed to others."""
    with tempfile.TemporaryDirectory(prefix="shiftlock-test-") as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


def test_the_server_of_a_killed_user_ends_and_its_throwaway_folder_goes(open_folder: Path) -> None:
    with user(None, TMPDIR=str(open_folder)) as process:
        data = data_folder(said(process))
        left = [*psutil.Process(process.pid).children(), postmaster(data), *postmaster(data).children()]
        process.send_signal(signal.SIGKILL)
        assert_end(left)
    assert list(open_folder.iterdir()) == []


def test_the_server_of_a_killed_user_ends_and_its_kept_data_stays(tmp_path: Path) -> None:
    with user(tmp_path) as process:
        execute(said(process), "create table kept as select 7 as n")
        left = [*psutil.Process(process.pid).children(), postmaster(tmp_path / "data")]
        process.send_signal(signal.SIGKILL)
        assert_end(left)
    with server(tmp_path) as url:
        assert answer(url, "select n from kept") == 7


@pytest.mark.parametrize("program", ["initdb", "pg_ctl"])
def test_a_user_killed_in_the_middle_of_a_start_leaves_nothing(open_folder: Path, program: str) -> None:
    binaries, temporary = open_folder / "bin", open_folder / "tmp"
    reached, go_on = open_folder / "reached", open_folder / "go_on"
    binaries.mkdir(mode=0o755)
    temporary.mkdir()
    for fifo in (reached, go_on):
        os.mkfifo(fifo)
        fifo.chmod(0o666)
    real = find_binaries(None, account_for(open_folder / "data")).folder
    for path in real.iterdir():
        (binaries / path.name).symlink_to(path)
    (binaries / program).unlink()
    (binaries / program).write_text(
        f"#!/bin/sh\necho now > '{reached}'\nread answer < '{go_on}'\nexec '{real}/{program}' \"$@\"\n"
    )
    (binaries / program).chmod(0o755)

    with user(None, binaries=binaries, TMPDIR=str(temporary)) as process:
        assert reached.read_text() == "now\n"
        left = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait(PATIENCE)
        go_on.write_text("go on\n")
        assert_end(left)
    assert list(temporary.iterdir()) == []
    assert not [p for p in psutil.process_iter(["cwd"]) if (p.info["cwd"] or "").startswith(str(temporary))]


def test_two_processes_share_a_server_until_the_second_leaves(tmp_path: Path) -> None:
    with user(tmp_path) as first, user(tmp_path) as second:
        urls = {said(first), said(second)}
        assert len(urls) == 1
        shared = postmaster(tmp_path / "data")
        leave(first)
        assert answer(urls.pop(), "select 1") == 1
        leave(second)
        assert_end([shared])


def test_a_killed_user_takes_no_server_from_another(tmp_path: Path) -> None:
    with server(tmp_path, fast=True) as url, user(tmp_path) as process:
        assert said(process) == url
        started = answer(url, "select pg_postmaster_start_time()")
        process.kill()
        process.wait(PATIENCE)
        assert answer(url, "select pg_postmaster_start_time()") == started


def test_interrupting_the_process_group_leaves_the_server_to_its_user(tmp_path: Path) -> None:
    with user(tmp_path) as process:
        url = said(process)
        interrupted = postmaster(tmp_path / "data")
        os.killpg(process.pid, signal.SIGINT)
        assert said(process) == "interrupted"
        assert answer(url, "select 1") == 1
        leave(process)
        assert_end([interrupted])


def test_an_interrupt_while_the_server_stops_leaves_the_rest_to_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Cluster, *, at_once: bool) -> None:
        raise KeyboardInterrupt

    use = ExitStack()
    others = psutil.Process().children()  # of servers that other tests share
    data = data_folder(use.enter_context(server(None, fast=True)))
    left = [postmaster(data), *(child for child in psutil.Process().children() if child not in others)]
    monkeypatch.setattr(Cluster, "stop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        use.close()
    assert_end(left)
    assert not data.exists()


def test_a_second_start_keeps_the_data_and_takes_a_fraction_of_the_first(tmp_path: Path) -> None:
    seconds: list[float] = []
    for statement in ("create table kept as select 7 as n", "update kept set n = n + 1"):
        began = time.monotonic()
        with server(tmp_path) as url:
            seconds.append(time.monotonic() - began)
            execute(url, statement)
            kept = answer(url, "select n from kept")
    assert kept == 8
    first, second = seconds
    assert second < first / 2


@pytest.mark.parametrize(
    "name", ["with a space", "with,a comma", "so long " * 15, "naïve ünicode", 'it\'s "quoted" $HOME']
)
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    with server(tmp_path / name, fast=True) as url:
        assert answer(url, "select 1") == 1
        sockets = data_folder(url)
    assert (tmp_path / name / "data").exists()
    assert sockets == tmp_path / name / "data" or not sockets.exists()
    assert not (sockets / ".s.PGSQL.5432").exists()


def test_the_server_never_runs_as_root_and_a_closed_folder_above_stays_closed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with server(closed / "postgres", fast=True):
        assert postmaster(closed / "postgres" / "data").uids().real == (os.getuid() or account_for(closed / "none").uid)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_an_ordinary_user_can_run_it_too(open_folder: Path) -> None:
    python = python_without_rights(open_folder)
    folder = (
        open_folder / 'it\'s "quoted" $HOME'
    )  # no descriptor's number stands for the name here, as it does for root
    with user(folder, python=python) as process:
        assert answer(said(process), "select 1") == 1
        theirs = postmaster(folder / "data")
        assert theirs.uids().real == psutil.Process(process.pid).uids().real != 0
        leave(process)
        assert_end([theirs])


def test_a_process_number_that_another_program_has_now_does_not_stop_a_start(tmp_path: Path) -> None:
    with server(tmp_path, fast=True):
        pass
    for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        (tmp_path / "data" / name).write_text(
            f"{os.getppid()}\n{tmp_path}/data\n1\n5432\n{tmp_path}/data\n\n0 0\nready\n"
        )
    with server(tmp_path, fast=True) as url:
        assert answer(url, "select 1") == 1


def test_a_start_waits_for_what_a_killed_postmaster_left(tmp_path: Path) -> None:
    with server(tmp_path, fast=True) as url, closing(psycopg.connect(url)) as connection:
        backend = psutil.Process(connection.info.backend_pid)
        backend.suspend()
        killed = postmaster(tmp_path / "data")
        killed.kill()
        assert_end([killed])
        with user(tmp_path) as process:
            backend.resume()
            assert answer(said(process), "select 1") == 1
            leave(process)


def test_the_variables_of_other_servers_have_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGDATA": "/nowhere", "PGPORT": "1", "PGHOST": "nowhere.invalid", "PGUSER": "nobody"}.items():
        monkeypatch.setenv(name, value)
    with server(tmp_path, fast=True) as url:
        assert answer(url, "select 1") == 1


def test_it_listens_on_a_port_only_when_told_to() -> None:
    with server(None, fast=True, settings={"work_mem": "5MB"}) as url:
        assert answer(url, "show listen_addresses") == ""
        assert answer(url, "show work_mem") == "5MB"
    with server(None, fast=True, tcp=True) as url:
        assert urlsplit(url).hostname == "127.0.0.1"
        assert answer(url, "select host(inet_server_addr())") == "127.0.0.1"


def test_a_refusal_is_one_line_with_the_place_and_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    other = tmp_path / "other"
    (other / "data").mkdir(parents=True)
    nowhere = Path("/nowhere/bin")
    wrong: list[tuple[Path, Path | None, dict[str, str], Path, str]] = [
        (file, None, {}, file, "File exists"),
        (file / "below", None, {}, file, "Not a directory"),
        (other, None, {}, other, "not a database cluster"),
        (tmp_path / "new", None, {"max_connections": "lots"}, tmp_path / "new", "max_connections"),
        (tmp_path / "new", nowhere, {}, nowhere, "No such file"),
    ]
    for folder, binaries, settings, place, reason in wrong:
        with pytest.raises(LocalPostgresError) as refusal, server(folder, binaries=binaries, settings=settings):
            pytest.fail("it must not start")
        message = str(refusal.value)
        assert reason in message
        assert str(place) in message
        assert len(message.splitlines()) == 1
