"""Who may go on in another browser, when a screen was first shown, wrong passwords."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision: str | None = "0011"
branch_labels: str | None = None
depends_on: str | None = None

_ADDED = (
    ("sessions", "secret_mark", sa.String(64)),
    ("sessions", "shown_position", sa.Integer),
    ("sessions", "first_shown_at", sa.BigInteger),
    ("tokens", "browser", sa.String(64)),
    ("submissions", "late", sa.Float),
)


def upgrade() -> None:
    """Of sessions of before nothing is known: they go on in their browser."""
    for table, name, kind in _ADDED:
        op.add_column(table, sa.Column(name, kind))
    op.create_table(
        "mistakes",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("network", sa.String(64), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_mistakes"),
    )
    op.create_index("ix_mistakes_network", "mistakes", ["network"])
    op.create_index("ix_mistakes_at", "mistakes", ["at"])


def downgrade() -> None:
    """Drop what was added."""
    op.drop_table("mistakes")
    for table, name, _ in reversed(_ADDED):
        op.drop_column(table, name)
