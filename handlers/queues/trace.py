"""The sender's trace, which goes with a message as text."""

import os
from collections.abc import Mapping

from handlers.queues.fitting import unfit_text

LONGEST_TRACE = 1024
# AWS X-Ray's header as Lambda gives it ("Lambda runtime environment variables"); else that of W3C Trace Context.
VARIABLES = ("_X_AMZN_TRACE_ID", "TRACEPARENT")


def trace_here(environ: Mapping[str, str] = os.environ) -> str | None:
    """What a tracer has left in this process for whoever is called next; None without one, or when it is no header."""
    found = (environ.get(name) for name in VARIABLES)
    return next((trace for trace in found if trace and not unfit_text("trace", trace, LONGEST_TRACE)), None)
