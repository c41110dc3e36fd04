"""The work itself: one module per job, each with one `run(context)`; handlers/schedule.py says when."""
