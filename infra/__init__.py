"""How Shiftlock is deployed: the job table of `handlers.schedule`, turned into CloudFormation by CDK."""
