"""The layer costs a start only where it is used."""

import subprocess
import sys

IMPORT_THE_RUNTIME = """
import sys
import handlers.runtime.lambda_entry, handlers.runtime.task_entry
print([name for name in sys.modules if "idempotency" in name or name in ("boto3", "handlers.powertools")])
"""


def test_a_jobs_start_loads_neither_the_layer_nor_powertools_idempotency() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_THE_RUNTIME], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_making_a_layer_opens_no_connection() -> None:
    make = "from handlers.powertools.idempotency import PostgresPersistenceLayer as P; P('host=db.invalid')"
    subprocess.run([sys.executable, "-c", make], capture_output=True, text=True, check=True)
