"""Conversations with agents: exchanges, and failures of agents."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision: str | None = "0001"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "exchanges",
        sa.Column("session_id", sa.Integer, nullable=False),
        sa.Column("talk", sa.String(200), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("system", sa.String(200), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("said", sa.Text, nullable=False),
        sa.Column("said_at", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("server", sa.String(64)),
        sa.Column("held_until", sa.BigInteger),
        sa.Column("reply", sa.Text),
        sa.Column("replied_at", sa.BigInteger),
        sa.Column("reason", sa.String(32)),
        sa.Column("seconds", sa.Float),
        sa.Column("requests", sa.Integer),
        sa.Column("tokens_in", sa.Integer),
        sa.Column("tokens_out", sa.Integer),
        sa.Column("cost", sa.Float),
        sa.PrimaryKeyConstraint("session_id", "talk", "number", name="pk_exchanges"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_exchanges_session_id"),
        sa.CheckConstraint(
            "state IN ('waiting', 'answered', 'failed', 'given_up')", name="ck_exchanges_state"
        ),
    )
    op.create_index("ix_exchanges_server_state", "exchanges", ["server", "state"])
    op.create_table(
        "failures",
        sa.Column("session_id", sa.Integer, nullable=False),
        sa.Column("talk", sa.String(200), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        sa.Column("told", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("failed_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "talk", "number", "attempt", name="pk_failures"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_failures_session_id"),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("failures")
    op.drop_table("exchanges")
