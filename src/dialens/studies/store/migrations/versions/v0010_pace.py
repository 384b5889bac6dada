"""When the pace of a study shows a reply, so that agents slower than it can be told."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision: str | None = "0009"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Replies of before say nothing of a pace."""
    op.add_column("exchanges", sa.Column("due_at", sa.BigInteger))


def downgrade() -> None:
    """Forget when replies were due."""
    op.drop_column("exchanges", "due_at")
