"""Check that a job's target exists without importing it: synth must load neither a job nor what the job needs."""

import ast
import re
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

TARGET = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<function>[A-Za-z_]\w*)")


def target_complaints(target: str) -> Iterator[str]:
    """Yield why `package.module:function` names no function with one parameter, if it does not."""
    match = TARGET.fullmatch(target)
    if match is None:
        yield f"target {target!r}: allowed is package.module:function"
        return
    source = _source_of(match["module"])
    if source is None:
        yield f"target {target!r}: there is no module {match['module']}"
        return
    try:
        statements = ast.parse(source.read_bytes()).body
    except (SyntaxError, ValueError) as error:  # ValueError: a null byte, as in a compiled module
        yield f"target {target!r}: {source.name} is not Python source: {error}"
        return
    functions = {node.name: node for node in statements if isinstance(node, ast.FunctionDef)}
    function = functions.get(match["function"])
    if function is None:
        yield f"target {target!r}: {match['module']} has no function {match['function']}"
    elif len(function.args.posonlyargs + function.args.args) != 1:
        yield f"target {target!r}: {match['function']} must take one argument, the context"


def _source_of(module: str) -> Path | None:
    """The file of `module`, found folder by folder so that no parent package is run."""
    path: list[str] | None = None
    *parents, last = module.split(".")
    for name in parents:
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.submodule_search_locations is None:
            return None
        path = list(spec.submodule_search_locations)
    spec = PathFinder.find_spec(last, path)
    return Path(spec.origin) if spec is not None and spec.origin is not None and spec.has_location else None
