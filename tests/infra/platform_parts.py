"""Find watchdog, dispatcher, recorder and notifier in a template: shared by their tests."""

from collections.abc import Mapping
from typing import Any

from tests.infra.templates import Template, statements

PARTS = ("watchdog", "dispatcher", "recorder", "notifier")
# What every function may do.
OF_A_FUNCTION = {"WriteLogs", "SendDeadLetters"}
IN_THE_NETWORK = {"ConnectToDatabase", "AttachToNetwork", "NotByTheCode"}


def ids(template: Template) -> dict[str, str]:
    """Logical ids of the four functions by what they are."""
    return {
        function["FunctionName"].split("_")[1]: logical_id
        for logical_id, function in template.of("Lambda::Function").items()
        if "_" in function["FunctionName"]
    }


def function(template: Template, part: str) -> Mapping[str, Any]:
    return template.of("Lambda::Function")[ids(template)[part]]


def held(template: Template, logical_id: str) -> dict[str, Mapping[str, Any]]:
    """The statements of a function's role by Sid."""
    role = template.of("Lambda::Function")[logical_id]["Role"]["Fn::GetAtt"][0]
    found = [statement for owner, statement in statements(template) if owner == role]
    assert len({statement["Sid"] for statement in found}) == len(found)
    return {statement["Sid"]: statement for statement in found}


def calls(template: Template, logical_id: str) -> Mapping[str, Any]:
    """How Lambda treats the asynchronous calls of a function."""
    (config,) = (
        each
        for each in template.of("Lambda::EventInvokeConfig").values()
        if each["FunctionName"] == {"Ref": logical_id}
    )
    return config


def queue(template: Template) -> Mapping[str, Any]:
    (logical_id,) = template.of("SQS::Queue")
    return arn(logical_id)


def arn(logical_id: str) -> Mapping[str, Any]:
    return {"Fn::GetAtt": [logical_id, "Arn"]}


def rule(template: Template, name: str) -> Mapping[str, Any]:
    (found,) = (each for each in template.of("Events::Rule").values() if each["Name"].endswith(f"_{name}"))
    return found
