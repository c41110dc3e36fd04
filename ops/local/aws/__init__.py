"""AWS on one machine: ministack, with what it lacks added, running Lambdas and tasks as local processes."""
