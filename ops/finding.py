"""What `jobs doctor` finds at one check."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at and how it is; `remedy` says what to do about it, and None that all is well."""

    check: str
    found: str
    remedy: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing has to be done."""
        return self.remedy is None
