"""The language in which somebody takes part."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision: str | None = "0002"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column; who began before took part in the study's own language, which is null."""
    op.add_column("sessions", sa.Column("language", sa.String(35)))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("sessions", "language")
