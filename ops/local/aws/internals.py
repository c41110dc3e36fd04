"""The private names of ministack that this package reads or replaces, and what it takes them to be.

ministack 1.5.33 offers no way to add a resource type or to run a task without Docker, so the package reaches inside.
Each such name is listed here; the launcher refuses to start, and a test fails, when one has changed.
"""

import inspect
from collections.abc import Iterator
from types import ModuleType

from ministack.core import lambda_runtime  # type: ignore[import-untyped]
from ministack.core.responses import json_response, request_scope  # type: ignore[import-untyped]
from ministack.services import (  # type: ignore[import-untyped]
    ecs,
    ecs_metadata,
    eventbridge,
    lambda_svc,
    scheduler,
    sqs,
)
from ministack.services.cloudformation import provisioners  # type: ignore[import-untyped]

__all__ = [
    "ecs",
    "ecs_metadata",
    "eventbridge",
    "json_response",
    "lambda_runtime",
    "lambda_svc",
    "provisioners",
    "request_scope",
    "scheduler",
    "sqs",
]

# A function is described by the names of its parameters, anything else by the name of its type.
CONTRACT: dict[tuple[ModuleType, str], str] = {
    (ecs, "_ACTION_MAP"): "dict",
    (ecs, "_SecretResolutionError"): "type",
    (ecs, "_awslogs_config"): "cdef, task_id, container_id",
    (ecs, "_cluster_name_from_arn"): "arn",
    (ecs, "_container_override_for"): "container_overrides, container_name",
    (ecs, "_emit_awslogs_event"): "config, message",
    (ecs, "_ensure_awslogs_stream"): "config",
    (ecs, "_recount_cluster"): "cluster_name",
    (ecs, "_register_metadata"): "task_arn, cluster_arn, td, cdef, launch_type, env, host_mode, ministack_net_ip",
    (ecs, "_resolve_cluster_name"): "ref",
    (ecs, "_resolve_container_secrets"): "cdef",
    (ecs, "_resolve_task"): "ref, cluster_name",
    (ecs, "_resolve_td_key"): "ref",
    (ecs, "_run_task"): "data",
    (ecs, "_sanitize"): "obj",
    (ecs, "_stop_task"): "data",
    (ecs, "new_uuid"): "",
    (ecs, "_task_defs"): "AccountRegionScopedDict",
    (ecs, "_tasks"): "AccountRegionScopedDict",
    (ecs_metadata, "_TOKEN_TO_CONTAINER"): "dict",
    (ecs_metadata, "_TOKEN_TO_TASK"): "dict",
    (ecs_metadata, "unregister_token"): "token",
    (eventbridge, "_SCHEDULER_TICK_INTERVAL"): "int",
    (eventbridge, "_apply_input_transformer"): "transformer, rule, view",
    (eventbridge, "_dispatch_event"): "event, view",
    (eventbridge, "_invoke_target"): "target, event, rule, view",
    (eventbridge, "_parse_cron_fields"): "expr",
    (eventbridge, "_pattern_event_view"): "event",
    (eventbridge, "_rules"): "AccountRegionScopedDict",
    (eventbridge, "_targets"): "AccountRegionScopedDict",
    (lambda_runtime, "Worker"): "type",
    (lambda_runtime, "acquire_worker"): "func_name, config, code_zip, qualifier, max_concurrency",
    (lambda_runtime, "kill_workers"): "workers",
    (lambda_runtime, "release_worker"): "worker",
    (lambda_runtime, "reset"): "",
    (lambda_svc, "_emit_lambda_logs"): "func, request_id, log_text, error, duration_ms, log_source",
    (lambda_svc, "_ensure_poller"): "",
    (lambda_svc, "_esms"): "AccountRegionScopedDict",
    (lambda_svc, "_event_invoke_config"): "func, qualifier",
    (lambda_svc, "_execute_function"): "func, event",
    (lambda_svc, "_execute_function_warm"): "func, event, request_id",
    (lambda_svc, "_get_func_record_for_qualifier"): "name, qualifier",
    (lambda_svc, "invoke_async_with_retry"): "func, event",
    (provisioners, "_RESOURCE_HANDLERS"): "dict",
    (provisioners, "_cw_metric_alarm_record"): "name, props",
    (provisioners, "_physical_name"): "stack_name, logical_id, lowercase, max_len, seeded",
    (provisioners, "_rds_db_cluster_attrs"): "cluster",
    (provisioners, "_rds_db_instance_attrs"): "instance",
    (scheduler, "_SCHEDULE_TICK_INTERVAL"): "int",
    (scheduler, "_create_schedule"): "name, body",
    (scheduler, "_schedule_arn"): "group, name",
    (scheduler, "_schedules"): "AccountRegionScopedDict",
    (scheduler, "_to_epoch"): "value",
    (scheduler, "_update_schedule"): "name, body",
    (sqs, "_queues"): "AccountRegionScopedDict",
}


def breaches() -> Iterator[str]:
    """One line for each private name that is gone or no longer what this package takes it to be."""
    for (module, name), expected in CONTRACT.items():
        value = getattr(module, name, None)
        found = ", ".join(inspect.signature(value).parameters) if inspect.isfunction(value) else type(value).__name__
        if found != expected:
            yield f"{module.__name__}.{name}: expected ({expected}), found ({found})"
