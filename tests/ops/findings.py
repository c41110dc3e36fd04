"""What `jobs doctor` has printed, as tests look at it."""

from tests.ops.command import Done


def findings(done: Done) -> dict[str, tuple[str, str]]:
    """State and text of each check that was shown."""
    lines = [line.split("  ") for line in done.out.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return {check: (state, text) for check, state, text in cells}


def problems(done: Done) -> dict[str, str]:
    """The text of each check that found one; the exit code must say the same."""
    found = {check: text for check, (state, text) in findings(done).items() if state == "problem"}
    assert (done.code, done.err) == (1 if found else 0, "")
    return found
