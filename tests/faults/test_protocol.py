"""Claim, heartbeat, step, finish and takeover in any order, by several holders: who may write is never in doubt."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import count
from typing import Any, ClassVar, Literal

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from handlers.guard.answers import AlreadyDone, Busy, Claimed
from handlers.guard.errors import Fenced
from handlers.guard.once import Guard
from handlers.guard.request import ClaimRequest, Ending
from handlers.guard.steps import Steps
from tests.faults import checker, facts
from tests.faults.job import EFFECT
from tests.faults.stage import set_up
from tests.guard.holders import backend_of, wait_until_ended

LEASE = timedelta(minutes=5)  # ends when a rule says so, and never by itself
HOLDERS = st.integers(0, 2)
KEYS = st.sampled_from(["a", "b", "c"])
NUMBERS = count(1)
Status = Literal["new", "pending", "running", "succeeded", "failed"]
End = tuple[Literal["succeeded", "failed"], Literal["succeeded", "failed", "pending"]]
ENDINGS: dict[End, Ending] = {
    ("succeeded", "succeeded"): Ending(outcome="succeeded", status="succeeded"),
    ("failed", "pending"): Ending(outcome="failed", status="pending"),
    ("failed", "failed"): Ending(outcome="failed", status="failed"),
}
RUN_KEY = "once"

END_LEASE = """
update shiftlock.job_runs set lease_until = clock_timestamp() - interval '1 second'
where job_name = %s and status = 'running'
"""
END_SESSION = """
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where application_name = %s and datname = current_database()
"""


class Protocol(RuleBasedStateMachine):
    """One run and three holders. `holder` is the one who may write, by the model."""

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.job = f"protocol-{next(NUMBERS)}"
        self.ledger = psycopg.connect(self.url, autocommit=True)
        self.guards = [Guard(lambda: self.url, lease=LEASE, name=f"holder {n}") for n in range(3)]
        self.last: dict[int, Claimed] = {}
        self.holder: int | None = None
        self.leased = False
        self.status: Status = "new"
        self.outcomes: list[str | None] = []
        self.fences: list[int] = []
        self.effects: list[str] = []

    def teardown(self) -> None:
        """Close what is open, so that no lock is left for the next series."""
        for guard in self.guards:
            guard.__exit__(None, None, None)
            wait_until_ended(self.ledger, backend_of(guard))
        self.ledger.close()

    @rule(who=HOLDERS)
    def claim(self, who: int) -> None:
        """It is given out when nobody holds it, or when the holder's lease has ended."""
        answer = self.guards[who].claim(
            ClaimRequest(
                job=self.job,
                run_key=RUN_KEY,
                tick=None,
                trigger="rule",
                holder=f"holder:{who}:",
                compute="test",
                lease=LEASE,
                lost_budget=1000,
            )
        )
        if self.status in ("succeeded", "failed"):
            assert isinstance(answer, AlreadyDone)
            assert answer.status == self.status
        elif self.status == "running" and self.leased:
            assert isinstance(answer, Busy)
        else:
            assert isinstance(answer, Claimed), answer
            if self.status == "running":
                self.outcomes[-1] = "lost"
            assert answer.attempt == len(self.outcomes) + 1
            assert answer.fence > max(self.fences, default=0)
            self.outcomes.append(None)
            self.fences.append(answer.fence)
            self.last[who], self.holder, self.leased, self.status = answer, who, True, "running"

    @precondition(lambda self: self.status == "running")
    @rule()
    def the_lease_ends(self) -> None:
        """Nobody has taken over yet, so the holder may still renew and write."""
        self.ledger.execute(END_LEASE, (self.job,))
        self.leased = False

    @rule(who=HOLDERS)
    def the_session_ends(self, who: int) -> None:
        """The guard gets another one when it needs it."""
        self.ledger.execute(END_SESSION, (f"holder {who}",))

    @rule(who=HOLDERS)
    def renew(self, who: int) -> None:
        """Only the holder can."""
        for claimed in self._claim_of(who):
            if self._may_write(who, claimed):
                self.guards[who].renew(claimed, None)
                self.leased = True
            else:
                with pytest.raises(Fenced):
                    self.guards[who].renew(claimed, None)

    @rule(who=HOLDERS, key=KEYS)
    def step(self, who: int, key: str) -> None:
        """Done by the holder, once; a zombie's is undone."""
        for claimed in self._claim_of(who):
            with closing(psycopg.connect(self.url, autocommit=True)) as connection:
                steps = Steps(connection, claimed, lease=LEASE)
                if self._may_write(who, claimed) or key in self.effects:
                    done = self._step(steps, claimed, key)
                    assert done == (key not in self.effects)
                    self.effects += [key] if done else []
                else:
                    with pytest.raises(Fenced):
                        self._step(steps, claimed, key)

    @rule(who=HOLDERS, how=st.sampled_from(sorted(ENDINGS)))
    def finish(
        self, who: int, how: tuple[Literal["succeeded", "failed"], Literal["succeeded", "failed", "pending"]]
    ) -> None:
        """Only the holder can; what is on record already may be said again."""
        for claimed in self._claim_of(who):
            recorded = self.outcomes[claimed.attempt - 1]
            if self._may_write(who, claimed):
                self.guards[who].finish(claimed, ENDINGS[how])
                self.outcomes[-1], self.status = how
                self.holder, self.leased = None, False
            elif recorded == how[0]:
                self.guards[who].finish(claimed, ENDINGS[how])
            else:
                with pytest.raises(Fenced):
                    self.guards[who].finish(claimed, ENDINGS[how])
                if recorded == "lost":
                    self.outcomes[claimed.attempt - 1] = "fenced"

    @invariant()
    def the_ledger_agrees_with_the_model(self) -> None:
        """In every row that the protocol writes."""
        found = facts.read(self.ledger, self.job, RUN_KEY)
        if self.status == "new":
            assert (*found.runs, *found.attempts, *found.moves) == ()
            return
        [run] = found.runs
        assert (run.status, run.attempt, run.fence) == (self.status, len(self.outcomes), self.fences[-1])
        assert [attempt.outcome for attempt in found.attempts] == self.outcomes
        assert [attempt.fence for attempt in found.attempts] == self.fences
        assert [effect.name for effect in found.effects] == self.effects
        assert found.total == len(self.effects)
        assert sorted(step.step_key for step in found.steps) == sorted(self.effects)
        assert list(checker.moves(found, RUN_KEY)) == []
        assert found.locks <= (self.status == "running")

    def _claim_of(self, who: int) -> Iterator[Claimed]:
        """The last run that this holder got, if it ever got one."""
        if who in self.last:
            yield self.last[who]

    def _may_write(self, who: int, claimed: Claimed) -> bool:
        return self.status == "running" and self.holder == who and claimed.fence == self.fences[-1]

    def _step(self, steps: Steps, claimed: Claimed, key: str) -> bool:
        facts_: dict[str, Any] = {"job": self.job, "name": key, "attempt": claimed.attempt, "pid": 1, "weight": 1}
        with steps.step(key) as tx:
            if tx is not None:
                tx.execute(EFFECT, facts_)
            return tx is not None


def test_no_order_of_claims_beats_steps_endings_and_losses_lets_a_zombie_write(
    database_url: str, database: psycopg.Connection
) -> None:
    set_up(database)
    Protocol.url = database_url
    run_state_machine_as_test(
        Protocol,
        settings=settings(
            max_examples=20,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
