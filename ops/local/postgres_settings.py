"""The settings of a local server: durable for kept data, as quick as can be for data that is thrown away."""

from collections.abc import Mapping

ALWAYS = {
    "cluster_name": "shiftlock",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "shared_buffers": "128MB",
    # No replica will ever read the log, so a table filled in the transaction that made it need not be in it.
    "wal_level": "minimal",
    "max_wal_senders": "0",
}

# Survives a power cut. The rest keeps a load of millions of rows from being one checkpoint after another.
DURABLE = {
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "maintenance_work_mem": "128MB",
    "work_mem": "16MB",
}

# Survives the death of any process, though not of the machine.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_wal_size": "4GB",
    "checkpoint_flush_after": "0",
    "bgwriter_flush_after": "0",
}


def server_settings(*, fast: bool, tcp: bool, major: int, more: Mapping[str, str]) -> dict[str, str]:
    """The settings of a server of this major version; those in `more` win."""
    settings = ALWAYS | (FAST if fast else DURABLE) | {"listen_addresses": "127.0.0.1" if tcp else ""}
    if fast and major >= 18:
        settings["file_copy_method"] = "clone"
    return settings | dict(more)


def locale_options(major: int) -> list[str]:
    """The options of initdb for UTF-8 with the same order of text on every machine."""
    provider = ["--locale-provider=builtin"] if major >= 17 else []
    return [*provider, "--locale=C.UTF-8", "--encoding=UTF8"]
