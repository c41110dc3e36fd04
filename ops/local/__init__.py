"""What `make run` and the tests need on one machine: a PostgreSQL, a local AWS, the platform's own data."""
