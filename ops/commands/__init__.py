"""What the commands of `jobs` do, one per module. ops/cli.py imports a module when its command is called."""
