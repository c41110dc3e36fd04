"""Synthesise stacks for tests, and read what came out."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handlers.declaration.catalogue import Catalogue
from infra.environment import Environment

Properties = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """One synthesised stack."""

    name: str
    path: Path
    resources: Mapping[str, Mapping[str, Any]]

    def of(self, kind: str) -> dict[str, Properties]:
        """Properties by logical id of all resources of a type, given without `AWS::`."""
        return {
            logical_id: resource.get("Properties", {})
            for logical_id, resource in self.resources.items()
            if resource["Type"] == f"AWS::{kind}"
        }

    def only(self, kind: str) -> Properties:
        """The properties of the one resource of a type."""
        (properties,) = self.of(kind).values()
        return properties


def synthesise(
    outdir: Path,
    environments: tuple[Environment, ...],
    catalogue: Catalogue,
    context: Mapping[str, str] | None = None,
    *,
    rules: bool = True,
) -> dict[str, Template]:
    """The templates by stack name. rules: run cdk-nag too.

    The bundle is a stand-in: its content is not what these tests are about.
    """
    from infra.assembly import app, finish, populate
    from infra.bundle import Bundle

    folder = outdir.with_name(f"{outdir.name}-bundle")
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM scratch\n")
    scope = app(context or {}, outdir)
    populate(scope, environments, catalogue, Bundle(folder, folder, "0" * 64, "arm64"))
    if rules:
        finish(scope)
    else:
        scope.synth()
    return read(outdir)


def read(outdir: Path) -> dict[str, Template]:
    """The templates of a cloud assembly by stack name."""
    return {
        path.name.removesuffix(".template.json"): Template(
            path.name.removesuffix(".template.json"), path, json.loads(path.read_text())["Resources"]
        )
        for path in sorted(outdir.glob("*.template.json"))
    }


def statements(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield logical id and statement of every policy in a template; trust policies are not among them."""
    for logical_id, resource in template.resources.items():
        properties = resource.get("Properties", {})
        policies = [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
        policies += [properties["PolicyDocument"]] if "PolicyDocument" in properties else []
        for policy in policies:
            for statement in policy["Statement"]:
                yield logical_id, statement


def listed(value: Any) -> list[Any]:
    """A policy's value that may stand alone or in a list, as a list."""
    return value if isinstance(value, list) else [value]
