"""Messages: how they are written, sent and answered. Knows SQS and the declaration, not the ledger."""
