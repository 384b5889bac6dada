"""Waves: which part of a study a session belongs to."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision: str | None = "0008"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Everybody who has taken part so far was in the first wave."""
    op.add_column("sessions", sa.Column("wave", sa.Integer, nullable=False, server_default="1"))


def downgrade() -> None:
    """Forget which wave a session was of."""
    op.drop_column("sessions", "wave")
