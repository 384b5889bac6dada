"""Paradata: how a screen was answered, beside its answers."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision: str | None = "0003"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("submissions", sa.Column("paradata", sa.Text))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("submissions", "paradata")
