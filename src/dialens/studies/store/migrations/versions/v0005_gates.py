"""Places are taken at consent; sessions end for reasons other than time."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision: str | None = "0004"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the columns and the table; whoever began before had a place from the beginning."""
    op.add_column("sessions", sa.Column("placed_at", sa.BigInteger))
    op.add_column("sessions", sa.Column("outcome", sa.String(32)))
    op.add_column("sessions", sa.Column("reason", sa.String(200)))
    op.execute("UPDATE sessions SET placed_at = started_at")
    op.create_table(
        "departures",
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("outcome", sa.String(32), nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "outcome", name="pk_departures"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_departures_study_id"),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("departures")
    for column in ("reason", "outcome", "placed_at"):
        op.drop_column("sessions", column)
