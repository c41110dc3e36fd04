"""The ledger's database roles, and what each may do with it: the one place where privileges are given.

Migrations call `settle`, so that a new table and the leave to use it come in one transaction. Users of other names get
theirs by membership: `grant shiftlock_runner to night_jobs`.
"""

from collections.abc import Iterator, Mapping

import psycopg
from psycopg import sql

# Owns the ledger and migrates it; nothing else needs to own anything.
MIGRATOR = "shiftlock_migrator"
# Runs jobs, clocks and watchdogs. It can end its own sessions, which are those that its ghosts have, and no others.
RUNNER = "shiftlock_runner"
# Looks: people, dashboards, `jobs list`.
READER = "shiftlock_reader"

# Verbs by table or sequence. Of a table that is not in it nothing is allowed.
RUNNER_MAY = {
    "migrations": "select",
    "lock_keys": "select insert",
    "jobs": "select insert update",
    "fence": "usage",
    "job_runs": "select insert update delete",
    "job_attempts": "select insert update",
    "run_steps": "select insert",
    "outbox": "select insert delete",
    "idempotency_records": "select insert update delete",
}
EVERY_TABLE = "*"
READER_MAY = {EVERY_TABLE: "select"}
PRIVILEGES: Mapping[str, Mapping[str, str]] = {RUNNER: RUNNER_MAY, READER: READER_MAY}

# What an owner holds is no grant, and nobody takes it away.
FOUND = """
select wanted.name, role.oid is not null, exists (
    select from pg_class where relnamespace = to_regnamespace('shiftlock') and relowner = role.oid
)
from unnest(%(roles)s::text[]) with ordinality as wanted (name, place)
left join pg_roles as role on role.rolname = wanted.name
order by place
"""
MAY_CREATE_ROLES = "select current_user, rolsuper or rolcreaterole from pg_roles where rolname = current_user"
CREATE_ROLE = sql.SQL("create role {role} nologin")

OBJECTS = """
select case relkind when 'S' then 'sequence' else 'table' end, relname from pg_class
where relnamespace = to_regnamespace('shiftlock') and relkind in ('r', 'p', 'v', 'm', 'S')
"""
HELD = """
select role.rolname, object.kind, object.name, lower(entry.privilege_type)
from (
    select 'schema', nspname, nspacl from pg_namespace where nspname = 'shiftlock'
    union all
    select case relkind when 'S' then 'sequence' else 'table' end, relname, relacl from pg_class
    where relnamespace = to_regnamespace('shiftlock') and relkind in ('r', 'p', 'v', 'm', 'S')
) as object (kind, name, acl)
cross join lateral aclexplode(object.acl) as entry
join pg_roles as role on role.oid = entry.grantee
where role.rolname = any(%(roles)s)
"""
GRANT = sql.SQL("grant {verb} on {kind} {name} to {role}")
REVOKE = sql.SQL("revoke {verb} on {kind} {name} from {role}")

# For a table that is made without a migration, by the same role: a copy before a repair, say.
READS_FUTURE_TABLES = """
select not has_schema_privilege('shiftlock', 'create') or exists (
    select from pg_default_acl cross join lateral aclexplode(defaclacl) as entry
    where defaclnamespace = to_regnamespace('shiftlock') and pg_get_userbyid(defaclrole) = current_user
      and pg_get_userbyid(entry.grantee) = %(reader)s
)
"""
READ_FUTURE_TABLES = sql.SQL("alter default privileges in schema shiftlock grant select on tables to {reader}")

Privilege = tuple[str, str, str, str]  # role, kind of object, name, verb


def settle(connection: psycopg.Connection) -> None:
    """Give each role that is there, or may be made, exactly its privileges.

    Nothing is written where nothing is to be changed. Raises psycopg.errors.InsufficientPrivilege when there is
    something, and this role does not own the ledger.
    """
    _create_missing(connection)
    wanted, held = _wanted(connection), _held(connection)
    for statement, privileges in ((REVOKE, held - wanted), (GRANT, wanted - held)):
        for role, kind, name, verb in sorted(privileges):
            place = sql.Identifier(name) if kind == "schema" else sql.Identifier("shiftlock", name)
            connection.execute(
                statement.format(verb=sql.SQL(verb), kind=sql.SQL(kind), name=place, role=sql.Identifier(role))
            )
    for reader in _governed(connection):
        if EVERY_TABLE in PRIVILEGES[reader] and connection.execute(
            READS_FUTURE_TABLES, {"reader": reader}
        ).fetchone() == (False,):
            connection.execute(READ_FUTURE_TABLES.format(reader=sql.Identifier(reader)))


def shortcomings(connection: psycopg.Connection) -> Iterator[str]:
    """Yield one line for each role that is not as `settle` would have it, with what to do."""
    yield from unsettled(connection)
    for lack in lacking(connection):
        yield f"{lack}: run the migrations as the ledger's owner"


def lacking(connection: psycopg.Connection) -> list[str]:
    """What the roles that are there should be allowed and are not."""
    missing = sorted(_wanted(connection) - _held(connection))
    return [f"role {role} lacks {verb} on {kind} {name}" for role, kind, name, verb in missing]


def unsettled(connection: psycopg.Connection) -> Iterator[str]:
    """Those of the lines that a ledger with one user for everything can live with."""
    for role, exists, owns in connection.execute(FOUND, {"roles": list(PRIVILEGES)}).fetchall():
        if not exists:
            user, may_create = _may_create_roles(connection)
            yield (
                f"role {role} is not there: run the migrations"
                if may_create
                else f"role {role} is not there and {user} may not create it: until a role that may runs "
                f"`create role {role}`, and the migrations run again, only the ledger's owner can use it"
            )
        if owns:
            yield f"role {role} owns tables of the ledger and can change its schema: give them to {MIGRATOR}"


def _create_missing(connection: psycopg.Connection) -> None:
    missing = [role for role, exists, _ in connection.execute(FOUND, {"roles": list(PRIVILEGES)}) if not exists]
    if not missing or not _may_create_roles(connection)[1]:
        return
    for role in missing:
        try:
            with connection.transaction():
                connection.execute(CREATE_ROLE.format(role=sql.Identifier(role)))
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            continue  # roles belong to the whole server: the migrations of another database were first


def _may_create_roles(connection: psycopg.Connection) -> tuple[str, bool]:
    row = connection.execute(MAY_CREATE_ROLES).fetchone()
    return ("", False) if row is None else (row[0], row[1])


def _governed(connection: psycopg.Connection) -> list[str]:
    return [
        role for role, exists, owns in connection.execute(FOUND, {"roles": list(PRIVILEGES)}) if exists and not owns
    ]


def _wanted(connection: psycopg.Connection) -> set[Privilege]:
    objects = connection.execute(OBJECTS).fetchall()
    wanted = set()
    for role in _governed(connection):
        wanted.add((role, "schema", "shiftlock", "usage"))
        for kind, name in objects:
            verbs = PRIVILEGES[role].get(name) or (kind == "table" and PRIVILEGES[role].get(EVERY_TABLE)) or ""
            wanted |= {(role, kind, name, verb) for verb in verbs.split()}
    return wanted


def _held(connection: psycopg.Connection) -> set[Privilege]:
    return set(connection.execute(HELD, {"roles": _governed(connection)}).fetchall())
