"""The made-up POS: what it counts, what it can be told to do wrong, and when it ends."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ops.local.pos.counts import changes
from ops.local.pos.server import PosServer, menus, pos
from tests.pos.clock import Clock

REPOSITORY = Path(__file__).parents[2]
NOON = 1_796_040_000.0
ITEMS = range(101, 131)


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The POS as a process, whose standard input this test holds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ops.local.pos", "--restaurants", "2", *arguments],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_counts_follow_from_seed_item_and_time_alone() -> None:
    assert changes("a", 1, ITEMS, NOON) == changes("a", 1, ITEMS, NOON)
    assert changes("a", 1, ITEMS, NOON) != changes("b", 1, ITEMS, NOON)
    assert {change.item for change in changes("a", 1, ITEMS, NOON)} == set(ITEMS)


def test_what_comes_later_stands_behind_what_was_there_and_never_changes_it() -> None:
    seen = {change.sequence: change for change in changes("a", 1, ITEMS, NOON)}
    for minute in range(1, 120):
        last = max(seen)
        for change in changes("a", 1, ITEMS, NOON + 60 * minute):
            assert change.sequence > last or seen[change.sequence] == change
            seen[change.sequence] = change
    assert len(seen) > 2 * len(ITEMS)


def test_one_restaurant_in_three_is_counted_once_a_day() -> None:
    midnight = NOON - NOON % 86_400
    assert changes("a", 3, ITEMS, midnight) == changes("a", 3, ITEMS, midnight + 86_399)
    assert changes("a", 1, ITEMS, midnight) != changes("a", 1, ITEMS, midnight + 86_399)


def test_a_restaurant_of_the_platform_has_its_menu() -> None:
    with pos(restaurants=2) as url:
        page = httpx.get(f"{url}/v1/restaurants/2/stock", trust_env=False).json()
        assert httpx.get(f"{url}/v1/restaurants/3/stock", trust_env=False).status_code == 404
    assert {change["item"] for change in page["changes"]} <= set(menus(2)[2])


def test_faults_are_ordered_and_healed_over_http_and_requests_are_told(server: PosServer) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as http:
        ordered = [{"kind": "status", "status": 503, "times": 2, "restaurant": 1, "after": 1}]
        assert http.put("/admin/faults", json=ordered).json() == {"faults": 1}
        seen = [http.get(f"/v1/restaurants/{restaurant}/stock").status_code for restaurant in (1, 2, 1, 1, 1)]
        assert seen == [200, 200, 503, 503, 200]
        http.put("/admin/faults", json=[{"kind": "reset", "times": 100}])
        assert http.put("/admin/faults", json=[]).json() == {"faults": 0}
        assert http.get("/v1/restaurants/1/stock").status_code == 200
        assert [request["status"] for request in http.get("/admin/requests").json()] == [*seen, 200]


@pytest.mark.parametrize(
    "given", ["[", "{}", '[{"kind": "flood"}]', '[{"kind": "reset", "times": "2"}]', '[{"kind": "reset", "x": 1}]']
)
def test_an_order_that_is_none_is_refused_with_what_is_allowed(server: PosServer, given: str) -> None:
    answer = httpx.put(f"{server.url}/admin/faults", content=given, trust_env=False)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_it_ends_while_clients_are_connected_and_waiting(clock: Clock) -> None:
    with PosServer({1: [101]}, clock=clock) as server, httpx.Client(trust_env=False) as http:
        with server.serving():
            http.get(f"{server.url}/v1/restaurants/1/stock")
            assert http.get(f"{server.url}/elsewhere").status_code == 404
        with pytest.raises(httpx.TransportError):
            http.get(f"{server.url}/v1/restaurants/1/stock")


def test_it_says_where_it_is_on_this_machine_only_and_ends_with_its_parent() -> None:
    with started() as process:
        assert process.stdout is not None
        assert process.stdin is not None
        url = httpx.URL(process.stdout.readline().strip())
        assert url.host == "127.0.0.1"
        assert httpx.get(url.join("/v1/restaurants/1/stock"), trust_env=False).status_code == 200
        process.stdin.close()  # as when the parent dies
        assert process.wait(60) == 0
        with started("--port", str(url.port)) as next_one:
            assert next_one.stdout is not None
            assert next_one.stdout.readline().strip() == str(url).rstrip("/")
            next_one.send_signal(signal.SIGTERM)
            assert next_one.wait(60) == 0


def test_a_port_that_is_taken_is_said_in_one_line(server: PosServer) -> None:
    port = str(server.server_address[1])
    with started("--port", port) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err.startswith(f"pos: port {port} of 127.0.0.1: ")
    assert err.count("\n") == 1
