"""The widgets of a dashboard as plain data ("Dashboard body structure and syntax" in the CloudWatch API reference)."""

from collections.abc import Iterable, Sequence
from typing import Any

from infra.metric import Expression, Metric

# The grid has 24 columns.
COLUMNS, HEIGHT, ALARM_HEIGHT = 24, 6, 2
PERIOD = 300

Widget = dict[str, Any]


def graph(
    title: str,
    left: Iterable[tuple[str, Metric | Expression]],
    *,
    right: Iterable[tuple[str, Metric]] = (),
    line: tuple[str, int] | None = None,
    stacked: bool = False,
) -> Widget:
    """A graph over time. line: its label and where it lies, on the left axis."""
    properties: dict[str, Any] = {
        "title": title,
        "region": "${AWS::Region}",
        "view": "timeSeries",
        "stacked": stacked,
        "period": PERIOD,
        "metrics": [*(_metric(*each) for each in left), *(_metric(*each, axis="right") for each in right)],
        "yAxis": {"left": {"min": 0}, "right": {"min": 0}},
    }
    if line is not None:
        properties["annotations"] = {"horizontal": [{"label": line[0], "value": line[1]}]}
    return {"type": "metric", "properties": properties}


def _metric(label: str, of: Metric | Expression, axis: str = "left") -> list[Any]:
    if isinstance(of, Expression):
        return [{"expression": of.text, "label": label, "yAxis": axis}]
    dimensions = [part for pair in of.dimensions.items() for part in pair]
    return [of.namespace, of.name, *dimensions, {"stat": of.statistic, "label": label, "yAxis": axis}]


def placed(row: Sequence[Widget], number: int) -> list[Widget]:
    """The widgets of a row side by side, below the light and the rows before."""
    width = COLUMNS // len(row)
    top = ALARM_HEIGHT + number * HEIGHT
    return [widget | place(column * width, top, width, HEIGHT) for column, widget in enumerate(row)]


def place(x: int, y: int, width: int, height: int) -> dict[str, Any]:
    """Where a widget is in the grid, in columns and rows."""
    return {"x": x, "y": y, "width": width, "height": height}
