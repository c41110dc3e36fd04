"""`make run`: the whole platform on this machine, started in order and stopped in reverse.

PostgreSQL from a wheel, a restaurant platform's data, the synthesised stacks deployed into a local AWS; then the
schedules ring by themselves. Data and database stay in .data between runs.
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

import psycopg

from handlers.guard.errors import one_line
from handlers.schedule import SCHEDULE
from infra.bundle import ROOT
from infra.environments import ENVIRONMENTS
from ops.local.aws.deploy import deploy
from ops.local.aws.errors import LocalAwsError
from ops.local.aws.server import LocalAws
from ops.local.aws.settings import Settings
from ops.local.file_lock import Taken, only_one
from ops.local.platform.load import LoadFailed, OtherDataset, load
from ops.local.postgres import LocalPostgresError, server
from ops.local.progress import Step, step
from ops.local.settled import Verdict, judge, standings
from ops.local.synth import SynthFailed, synthesised
from ops.local.watch import watch
from ops.migrate_task import MigrationFailed, MigrationTask, run_migrations

FOLDER = ROOT / ".data"
ENVIRONMENT = next(environment for environment in ENVIRONMENTS if environment.name == "dev")
