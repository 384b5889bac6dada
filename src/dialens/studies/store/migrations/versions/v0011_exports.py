"""Which exports were made, so that whoever is forgotten can be taken out of them."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision: str | None = "0010"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Exports of before are not known."""
    op.create_table(
        "exports",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("made_by", sa.String(16), nullable=False),
        sa.Column("who", sa.String(80)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("place", sa.Text),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("people", sa.Integer, nullable=False),
        sa.Column("recalled", sa.Text, nullable=False, server_default="[]"),
        sa.PrimaryKeyConstraint("id", name="pk_exports"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_exports_study_id"),
    )
    op.create_index("ix_exports_study_id", "exports", ["study_id"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("exports")
