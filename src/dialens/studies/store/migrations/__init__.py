"""Steps that bring a database up to `tables`, run by `Database.open`.

One module a step under `versions`. There is no `env.py`: steps run inside the one transaction that
`upgrade` is given, so that two servers that start together cannot both take them, and a database is
either brought up to date or left as it was.
"""

from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from dialens.base import DialensError
from dialens.studies.store._tables import metadata

_FOLDER = Path(__file__).parent


def newest() -> str:
    """The name of the last step there is.

    Examples:
        >>> newest().isdigit()
        True
    """
    return _scripts()[1].get_current_head() or ""


def current(connection: Connection) -> str | None:
    """The name of the last step a database has taken; none if it is empty."""
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(connection: Connection) -> None:
    """Take the steps that a database has not yet taken, within its transaction.

    Examples:
        >>> from sqlalchemy import create_engine, inspect
        >>> with create_engine("sqlite://").begin() as connection:
        ...     upgrade(connection)
        ...     "answers" in inspect(connection).get_table_names(), current(connection) == newest()
        (True, True)
    """
    config, scripts = _scripts()
    here = current(connection)
    known = {script.revision for script in scripts.walk_revisions()}
    if here is not None and here not in known:
        raise DialensError(
            f"The database was written by a newer dialens (its schema is {here}, this version "
            f"knows {newest()}). Upgrade dialens."
        )

    def steps(revision: object, context: MigrationContext) -> object:
        return scripts._upgrade_revs("head", revision)  # type: ignore[arg-type]

    with EnvironmentContext(config, scripts, fn=steps, destination_rev="head") as environment:
        environment.configure(
            connection=connection, target_metadata=metadata, transactional_ddl=True
        )
        with environment.begin_transaction():
            environment.run_migrations()


def _scripts() -> tuple[Config, ScriptDirectory]:
    config = Config()
    # Alembic's options are those of an INI file, where a percent sign begins an interpolation.
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config, ScriptDirectory.from_config(config)
