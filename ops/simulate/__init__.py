"""The real ledger, guard, planning and policies on a virtual clock: what a year would bring, in less than a minute."""
