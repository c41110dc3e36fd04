"""Once at a time, once successfully: claim, lease, fence and exactly-once steps over one Postgres ledger.

The guard needs psycopg and nothing else: it knows neither AWS nor how jobs are declared.
"""
