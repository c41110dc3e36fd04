"""What a job is. Standard library only: synth, tests and the smallest Lambda all import it."""
