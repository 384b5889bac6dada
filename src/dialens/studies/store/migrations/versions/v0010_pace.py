"""When the pace of a study shows a reply, and why a reply ended in the middle."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision: str | None = "0009"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Replies of before say nothing of either."""
    op.add_column("exchanges", sa.Column("due_at", sa.BigInteger))
    op.add_column("exchanges", sa.Column("finish", sa.String(32)))


def downgrade() -> None:
    """Drop what was added."""
    for name in ("finish", "due_at"):
        op.drop_column("exchanges", name)
