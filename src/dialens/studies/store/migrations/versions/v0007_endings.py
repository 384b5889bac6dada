"""How conversations ended, and from when on replies were shown."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision: str | None = "0006"
branch_labels: str | None = None
depends_on: str | None = None

_EXCHANGES = sa.table(
    "exchanges",
    sa.column("state", sa.String),
    sa.column("replied_at", sa.BigInteger),
    sa.column("shown_at", sa.BigInteger),
    sa.column("ended", sa.String),
)


def upgrade() -> None:
    """Add the columns; replies were shown when they came, and who was given up ended the talk."""
    op.add_column("exchanges", sa.Column("shown_at", sa.BigInteger))
    op.add_column("exchanges", sa.Column("ended", sa.String(16)))
    told = _EXCHANGES.c
    connection = op.get_bind()
    connection.execute(
        sa.update(_EXCHANGES).where(told.state == "answered").values(shown_at=told.replied_at)
    )
    connection.execute(sa.update(_EXCHANGES).where(told.state == "given_up").values(ended="agent"))


def downgrade() -> None:
    """Drop what was added."""
    for name in ("ended", "shown_at"):
        op.drop_column("exchanges", name)
