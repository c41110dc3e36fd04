"""The deployer: a synthesised app, unmodified, deployed to the local AWS."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from ops.local.aws.assembly import stack_assets, zip_folder
from ops.local.aws.deploy import deploy
from ops.local.aws.errors import LocalAwsError, LocalDeployError
from ops.local.aws.settings import ACCOUNT
from tests.local.aws.cloud import DATABASE, STACKS, Cloud

pytest_plugins = ("tests.local.aws.fixtures",)


def test_both_stacks_deploy_unmodified_and_answer_their_outputs(cloud: Cloud) -> None:
    assert set(cloud.outputs) == set(STACKS)
    assert cloud.outputs["sample-jobs"]["TopicArn"].startswith(f"arn:aws:sns:us-east-1:{ACCOUNT}:")


def test_a_database_endpoint_resolves_to_the_real_server_across_stacks(cloud: Cloud) -> None:
    host, port = DATABASE
    assert cloud.outputs["sample-base"]["DatabasePort"] == str(port)
    function = cloud.aws.client("lambda").get_function_configuration(FunctionName="worker")
    assert function["Environment"]["Variables"]["DATABASE_HOST"] == host


def test_an_alarm_on_metric_math_is_kept(cloud: Cloud) -> None:
    alarms = cloud.aws.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert {alarm["AlarmName"].split("-")[2][:4] for alarm in alarms} == {"Plai", "Math", "Wait"}


def test_a_schedule_keeps_its_zone(cloud: Cloud) -> None:
    schedule = cloud.aws.client("scheduler").get_schedule(Name="in-riyadh")
    assert schedule["ScheduleExpressionTimezone"] == "Asia/Riyadh"


def test_a_second_deploy_of_the_same_app_changes_and_sends_nothing(cloud: Cloud, assembly: Path) -> None:
    s3 = cloud.aws.client("s3")
    (bucket,) = (bucket["Name"] for bucket in s3.list_buckets()["Buckets"])
    before = s3.list_objects_v2(Bucket=bucket)["Contents"]
    assert deploy(cloud.aws, assembly, STACKS) == cloud.outputs
    assert s3.list_objects_v2(Bucket=bucket)["Contents"] == before


def test_new_code_of_a_function_runs_after_the_next_deploy(cloud: Cloud, assembly: Path, tmp_path: Path) -> None:
    changed = tmp_path / "assembly"
    shutil.copytree(assembly, changed)
    code = next(changed.glob("asset.*/package")).parent
    old, new = code.name.removeprefix("asset."), "f" * 64
    code.joinpath("package", "other.py").write_text("def handler(event, context): return 'new code'")
    code.rename(changed / f"asset.{new}")
    for path in changed.glob("sample-jobs.*.json"):
        path.write_text(path.read_text().replace(old, new).replace("package.entry.handler", "package.other.handler"))
    _rename_template(changed / "sample-jobs.assets.json")
    invoke = cloud.aws.client("lambda").invoke
    try:
        deploy(cloud.aws, changed, ["sample-jobs"])
        assert json.loads(invoke(FunctionName="recorder", Payload="{}")["Payload"].read()) == "new code"
    finally:
        deploy(cloud.aws, assembly, ["sample-jobs"])
    assert json.loads(invoke(FunctionName="recorder", Payload="{}")["Payload"].read()) == {"answer": None}


def test_a_refused_resource_is_named_with_its_reason_and_the_stack_deploys_once_it_is_mended(
    cloud: Cloud, tmp_path: Path
) -> None:
    retries = {"FunctionName": "absent", "Qualifier": "$LATEST", "MaximumRetryAttempts": 0}
    bad = {"Retries": {"Type": "AWS::Lambda::EventInvokeConfig", "Properties": retries}}
    with pytest.raises(LocalDeployError, match=r"Retries \(AWS::Lambda::EventInvokeConfig\): .*absent") as refused:
        deploy(cloud.aws, _assembly(tmp_path / "bad", bad), ["other"])
    assert refused.value.stack == "other"
    good = {"Retries": {"Type": bad["Retries"]["Type"], "Properties": {**retries, "FunctionName": "recorder"}}}
    assert deploy(cloud.aws, _assembly(tmp_path / "good", good), ["other"]) == {"other": {}}


def test_a_type_the_local_aws_lacks_is_named(cloud: Cloud, tmp_path: Path) -> None:
    with pytest.raises(LocalDeployError, match="AWS::Nothing::Such"):
        deploy(cloud.aws, _assembly(tmp_path, {"Odd": {"Type": "AWS::Nothing::Such"}}), ["other-type"])


def test_an_unknown_stack_is_refused_with_the_known_ones(cloud: Cloud, assembly: Path) -> None:
    with pytest.raises(LocalAwsError, match=r"no stack nowhere; it has: sample-base, sample-jobs"):
        deploy(cloud.aws, assembly, ["nowhere"])


def test_equal_folders_make_equal_zips_whatever_their_dates(tmp_path: Path) -> None:
    for number, name in enumerate(("one", "two")):
        folder = tmp_path / name / "package"
        folder.mkdir(parents=True)
        for file in ("b.py", "a.py")[:: 1 - 2 * number]:
            folder.joinpath(file).write_text(file)
    assert zip_folder(tmp_path / "one") == zip_folder(tmp_path / "two")


def test_an_image_is_known_by_its_tag_and_its_build_folder(assembly: Path) -> None:
    ((tag, folder),) = stack_assets(assembly, "sample-jobs", ACCOUNT, "us-east-1").images.items()
    assert folder.joinpath("Dockerfile").exists()
    assert tag in assembly.joinpath("sample-jobs.template.json").read_text()


def _assembly(folder: Path, resources: Mapping[str, object]) -> Path:
    stack = "other-type" if "Odd" in resources else "other"
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath(f"{stack}.template.json").write_text(json.dumps({"Resources": resources}))
    destination = {"bucketName": "assets", "objectKey": f"{folder.name}-{stack}.json"}
    source = {"path": f"{stack}.template.json", "packaging": "file"}
    manifest = {"files": {"template": {"source": source, "destinations": {"here": destination}}}}
    folder.joinpath(f"{stack}.assets.json").write_text(json.dumps(manifest))
    return folder


def _rename_template(manifest: Path) -> None:
    read = json.loads(manifest.read_text())
    for entry in read["files"].values():
        if entry["source"]["path"].endswith(".template.json"):
            for destination in entry["destinations"].values():
                destination["objectKey"] = "changed.json"
    manifest.write_text(json.dumps(read))
