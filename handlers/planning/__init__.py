"""What is due and what becomes of what was missed: rows ahead, misfires, catch-up. Knows no way to start a job."""
