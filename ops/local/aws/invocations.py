"""One invocation of a function: a process of its own, with the errors that Lambda gives.

ministack calls every error Runtime.HandlerError. Source: Lambda Developer Guide, "Troubleshoot execution issues in
Lambda", and "Building with Python", "Exceptions".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from signal import Signals
from typing import Any

from ops.local.aws.breaks import Breaks, How
from ops.local.aws.function_code import nothing, unpacked, with_path
from ops.local.aws.internals import lambda_runtime, lambda_svc

Json = Mapping[str, Any]

DIED = "Worker process died"
TIMED_OUT = re.compile(r"Task timed out after [0-9.]+ seconds")
NEVER_STARTED = "Unable to import module: it was broken by `jobs break`"


class Worker(lambda_runtime.Worker):  # type: ignore[misc]  # ministack comes without types
    """ministack's process of a function, remembered beyond its end: its exit status says how it died.

    Its code is in a folder that all processes of the function share; ministack unpacks nothing for it.
    """

    def __init__(self, func_name: str, config: dict[str, Any], code_zip: bytes) -> None:
        variables = (config.get("Environment") or {}).get("Variables") or {}
        environment = {"Variables": with_path(variables, unpacked(code_zip))}
        super().__init__(func_name, {**config, "Environment": environment}, nothing())

    def _spawn(self) -> None:
        super()._spawn()
        self.process = self._proc

    def cause_of_death(self) -> str:
        """Why the process is gone, in Lambda's words."""
        status = self.process.poll()
        if status is not None and status < 0:
            name = Signals(-status).name.removeprefix("SIG").lower()
            return f"Runtime exited with error: signal: {'killed' if name == 'kill' else name}"
        if status:
            return f"Runtime exited with error: exit status {status}"
        return "Runtime exited without providing a reason"


@dataclass(frozen=True, slots=True)
class Invocations:
    """Carries out invocations; those that somebody has ordered to fail, fail."""

    breaks: Breaks

    def install(self) -> None:
        """Takes the execution of functions in processes over from ministack."""
        lambda_runtime.Worker = Worker
        lambda_svc._execute_function_warm = self._execute

    def _execute(self, func: Json, event: Any, request_id: str) -> dict[str, Any]:
        config = func.get("config") or func
        name = config["FunctionName"]
        how = self.breaks.ordered(name)
        if how == "never-start" and self.breaks.take(name):
            return _failed("Runtime.ImportModuleError", NEVER_STARTED, "")
        broken = how is not None and how != "never-start"
        if how and broken:
            worker = self._broken(func, how)
        else:
            worker, _ = lambda_runtime.acquire_worker(name, config, func["code_zip"])
        try:
            result = worker.invoke(event, request_id, invoked_function_arn=config["FunctionArn"])
        except (OSError, RuntimeError) as error:  # there is no process that could be asked
            return _failed("Runtime.ImportModuleError", str(error), "")
        finally:
            lambda_runtime.release_worker(worker)
            if broken:
                lambda_runtime.kill_workers([worker])
        return _answer(result, request_id, worker)

    def _broken(self, func: Json, how: How) -> Worker:
        """A process that is not among those that are used again."""
        config = func.get("config") or func
        variables = (config.get("Environment") or {}).get("Variables") or {}
        hook = self.breaks.environment(config["FunctionName"], how, variables.get("PYTHONPATH", ""))
        return Worker(
            config["FunctionName"], {**config, "Environment": {"Variables": {**variables, **hook}}}, func["code_zip"]
        )


def _answer(result: Json, request_id: str, worker: Worker) -> dict[str, Any]:
    log = result.get("log", "")
    if result["status"] == "ok":
        return {"body": result.get("result"), "log": log}
    error, trace = result.get("error", ""), result.get("trace", "")
    log = "\n".join(filter(None, (log, trace or error)))
    if TIMED_OUT.fullmatch(error):
        return _failed("Sandbox.Timedout", f"RequestId: {request_id} Error: {error}", log)
    if not trace:
        why = worker.cause_of_death() if error == DIED else error
        return _failed("Runtime.ExitError", f"RequestId: {request_id} Error: {why}", log)
    return _failed(_type_in(trace, error), error, log)


def _failed(kind: str, message: str, log: str) -> dict[str, Any]:
    return {"body": {"errorMessage": message, "errorType": kind}, "error": True, "log": log}


def _type_in(trace: str, message: str) -> str:
    """The class of the exception, which a traceback names without its module before the message."""
    head = trace.rstrip("\n").removesuffix(message).rstrip(": \n")
    return head.rpartition("\n")[2].rpartition(".")[2]
