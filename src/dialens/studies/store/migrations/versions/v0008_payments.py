"""Who made a change, and bonuses that are written down before they are paid."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision: str | None = "0007"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column and the table; who made earlier changes is not known."""
    op.add_column("changes", sa.Column("who", sa.String(80)))
    op.create_table(
        "payments",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("recruiter", sa.String(64), nullable=False),
        sa.Column("work", sa.String(200), nullable=False),
        sa.Column("cents", sa.Integer, nullable=False),
        sa.Column("participant", sa.String(32)),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("begun_at", sa.BigInteger, nullable=False),
        sa.Column("who", sa.String(80)),
        sa.PrimaryKeyConstraint("id", name="pk_payments"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_payments_study_id"),
        sa.UniqueConstraint("recruiter", "work", "cents", name="uq_payments_recruiter_work_cents"),
        sa.CheckConstraint("state IN ('paying', 'paid', 'lost')", name="ck_payments_state"),
    )
    op.create_index("ix_payments_study_id", "payments", ["study_id"])
    op.create_index("ix_payments_participant", "payments", ["participant"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("payments")
    op.drop_column("changes", "who")
