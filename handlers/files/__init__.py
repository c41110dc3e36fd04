"""The environment's bucket: what jobs read from S3 and write to it. Knows S3 alone, and nothing of runs."""
