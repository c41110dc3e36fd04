"""From what AWS says of a dead process, or of a start that came to nothing, to the ledger."""
