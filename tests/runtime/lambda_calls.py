"""Lambda's side of a function: `python -m tests.runtime.lambda_calls 20 2026-11-29T02:00:00Z`.

Calls the handler of SHIFTLOCK_JOB so many times at once, each in a process of its own that has everything imported, as
a warm function has, and prints a line with each answer.
"""

import json
import multiprocessing
import sys
import time
from dataclasses import dataclass, field

from handlers.runtime.lambda_entry import handler

FORK = multiprocessing.get_context("fork")
TOGETHER = 60.0


@dataclass(slots=True)
class LambdaCall:
    """Lambda's context object."""

    aws_request_id: str
    seconds: float = 900.0
    began: float = field(default_factory=time.monotonic)

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would end the call."""
        return round((self.began + self.seconds - time.monotonic()) * 1000)


def call_at_once(calls: int, at: str) -> None:
    """Make the calls and wait for their ends; each prints its answer."""
    together = FORK.Barrier(calls)

    def call(number: int) -> None:
        together.wait(TOGETHER)
        answer = handler({"trigger": "rule", "time": at}, LambdaCall(f"request-{number}"))
        sys.stdout.write(json.dumps({"answer": answer}) + "\n")

    processes = [FORK.Process(target=call, args=(number,)) for number in range(calls)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


if __name__ == "__main__":
    call_at_once(int(sys.argv[1]), sys.argv[2])
