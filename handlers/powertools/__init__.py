"""For Lambda handlers that are no jobs: Powertools' idempotency over the ledger's database.

Nothing else under `handlers` imports this: Powertools' idempotency brings boto3 along, which a job's cold start would
pay for.
"""
