"""A new server's first run: the users that migrations, jobs and people log in as, made by the server's master user."""

import psycopg
from psycopg import sql

from handlers.guard.migrate import LOCK, MIGRATION_LOCK
from handlers.guard.roles import MIGRATOR, READER, RUNNER

USERS = (MIGRATOR, RUNNER, READER)
# Whoever is in it logs in by an IAM token and by nothing else (RDS user guide, "Creating a database account using IAM
# authentication"). There is no such role on a server that is not Amazon's.
IAM = "rds_iam"

MISSING = """
select name from unnest(%(users)s::text[]) as wanted (name)
where not exists (select from pg_roles where rolname = wanted.name)
"""
WITHOUT_LOGIN = "select rolname from pg_roles where rolname = any(%(users)s) and not rolcanlogin"
WITHOUT_IAM = """
select role.rolname from pg_roles as role join pg_roles as iam on iam.rolname = %(iam)s
where role.rolname = any(%(users)s) and not exists (
    select from pg_auth_members where roleid = iam.oid and member = role.oid
)
"""
MAY_CREATE = "select has_database_privilege(%(migrator)s, current_database(), 'create')"

CREATE_USER = sql.SQL("create role {user} login")
LET_LOG_IN = sql.SQL("alter role {user} login")
BY_TOKEN = sql.SQL("grant {iam} to {user}")
LET_CREATE = sql.SQL("grant create on database {database} to {migrator}")

# What another user has migrated: of an identity column's sequence the owner is that of its table.
STRANGERS = """
select format('schema %%I', nspname), pg_get_userbyid(nspowner)::text from pg_namespace
where nspname = 'shiftlock' and pg_get_userbyid(nspowner) <> %(migrator)s
union all
select format('%%s shiftlock.%%I', case relkind when 'S' then 'sequence' else 'table' end, relname),
       pg_get_userbyid(relowner)::text
from pg_class where relnamespace = to_regnamespace('shiftlock') and relkind in ('r', 'p', 'S')
  and pg_get_userbyid(relowner) <> %(migrator)s
  and not exists (select from pg_depend where objid = pg_class.oid and relkind = 'S' and deptype in ('a', 'i'))
union all
select format('function %%s', oid::regprocedure), pg_get_userbyid(proowner)::text
from pg_proc where pronamespace = to_regnamespace('shiftlock') and pg_get_userbyid(proowner) <> %(migrator)s
"""
JOIN = sql.SQL("grant {role} to current_user")
LEAVE = sql.SQL("revoke {role} from current_user")
HAND_OVER = sql.SQL("alter {thing} owner to {migrator}")
ME = "select current_user"


def make_users(connection: psycopg.Connection) -> list[str]:
    """Make what is missing, all in one transaction, and say what was done. Raises psycopg.Error.

    A ledger that another user has migrated becomes the migrator's. Twice does no harm.
    """
    facts = {"users": list(USERS), "iam": IAM}
    done = []
    migrator = sql.Identifier(MIGRATOR)
    with connection.transaction():
        connection.execute(LOCK, (MIGRATION_LOCK,))
        for statement, query, note in (
            (CREATE_USER, MISSING, "created {}"),
            (LET_LOG_IN, WITHOUT_LOGIN, "{} may log in"),
            (BY_TOKEN, WITHOUT_IAM, "{} logs in by IAM"),
        ):
            found = {user for (user,) in connection.execute(query, facts)}
            for user in (user for user in USERS if user in found):
                connection.execute(statement.format(user=sql.Identifier(user), iam=sql.Identifier(IAM)))
                done.append(note.format(user))
        if connection.execute(MAY_CREATE, {"migrator": MIGRATOR}).fetchone() != (True,):
            database = sql.Identifier(connection.info.dbname)
            connection.execute(LET_CREATE.format(database=database, migrator=migrator))
            done.append(f"{MIGRATOR} may create schemas")
        done += _hand_over(connection)
    return done


def _hand_over(connection: psycopg.Connection) -> list[str]:
    strangers = connection.execute(STRANGERS, {"migrator": MIGRATOR}).fetchall()
    if not strangers:
        return []
    (me,) = connection.execute(ME).fetchone() or ("",)
    # An owner is changed by whoever is a member of both; no longer than this transaction, lest the master user be in
    # rds_iam by way of these.
    roles = sorted({MIGRATOR, *(owner for _, owner in strangers)} - {me})
    for role in roles:
        connection.execute(JOIN.format(role=sql.Identifier(role)))
    for thing, _ in strangers:
        connection.execute(HAND_OVER.format(thing=sql.SQL(thing), migrator=sql.Identifier(MIGRATOR)))
    for role in roles:
        connection.execute(LEAVE.format(role=sql.Identifier(role)))
    return [f"the ledger is {MIGRATOR}'s now"]
