"""A point-of-sale system of the kind that restaurants have, as a server on this machine: `with pos() as url`."""
