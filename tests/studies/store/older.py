"""Databases as earlier versions of the tables left them."""

from __future__ import annotations

from typing import Any

from alembic.runtime.environment import EnvironmentContext

from dialens.studies.store import migrations
from dialens.studies.store._database import Database


def take_back(database: Database, revision: str) -> None:
    """Undo the migrations after a revision."""
    config, scripts = migrations._scripts()

    def steps(current: Any, _: Any) -> Any:
        return scripts._downgrade_revs(revision, current)

    with (
        database.writing() as connection,
        EnvironmentContext(config, scripts, fn=steps) as environment,
    ):
        environment.configure(connection=connection, transactional_ddl=True)
        environment.run_migrations()
