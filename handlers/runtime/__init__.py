"""How any job runs, on Lambda, on Fargate and on a laptop."""
