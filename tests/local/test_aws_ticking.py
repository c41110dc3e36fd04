"""The real clock. Last of these files by name: by then the sample's minute has mostly passed."""

from datetime import UTC, datetime

from tests.local.aws.cloud import Cloud

pytest_plugins = ("tests.local.aws.fixtures",)


def test_a_rule_fires_by_itself_at_its_minute(cloud: Cloud) -> None:
    report = cloud.listener.wait(lambda report: report["from"] == "ticker", seconds=70)
    time = datetime.strptime(report["event"]["time"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert time.second == 0
    assert 0 <= (datetime.now(UTC) - time).total_seconds() < 120
