"""The first tables: studies, cells, participants, sessions, submissions, answers, events."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "settings",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_settings"),
    )
    _people()
    _sessions()
    _collected()


def downgrade() -> None:
    """Drop the tables."""
    for name in (
        "events",
        "answers",
        "submissions",
        "tokens",
        "sessions",
        "participants",
        "cells",
        "studies",
        "settings",
    ):
        op.drop_table(name)


def _people() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(128), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("resume", sa.String(16), nullable=False),
        sa.Column("stale_after_s", sa.Float, nullable=False),
        sa.Column("longest_s", sa.Float),
        sa.Column("registered_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("hash", name="uq_studies_hash"),
        sa.UniqueConstraint("name", "version", name="uq_studies_name_version"),
        sa.CheckConstraint("resume IN ('resume', 'restart', 'block')", name="ck_studies_resume"),
    )
    op.create_table(
        "cells",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(400), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("target", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cells"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_cells_study_id"),
        sa.UniqueConstraint("study_id", "name", name="uq_cells_study_id_name"),
        sa.CheckConstraint("state IN ('open', 'paused', 'closed')", name="ck_cells_state"),
    )
    op.create_table(
        "participants",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("pseudonym", sa.String(32), nullable=False),
        sa.Column("recruiter", sa.String(64), nullable=False),
        sa.Column("rater_kind", sa.String(16), nullable=False),
        sa.Column("worker_sealed", sa.LargeBinary),
        sa.Column("worker_mark", sa.String(64)),
        sa.Column("arrived_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_participants"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_participants_study_id"),
        sa.UniqueConstraint("pseudonym", name="uq_participants_pseudonym"),
        sa.UniqueConstraint(
            "study_id",
            "recruiter",
            "worker_mark",
            name="uq_participants_study_id_recruiter_worker_mark",
        ),
    )


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("participant_id", sa.Integer, nullable=False),
        sa.Column("cell_id", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("reached_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("code", sa.String(64)),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participants.id"], name="fk_sessions_participant_id"
        ),
        sa.ForeignKeyConstraint(["cell_id"], ["cells.id"], name="fk_sessions_cell_id"),
        sa.UniqueConstraint("participant_id", "attempt", name="uq_sessions_participant_id_attempt"),
        sa.CheckConstraint(
            "state IN ('live', 'completed', 'expired', 'restarted')", name="ck_sessions_state"
        ),
    )
    op.create_index("ix_sessions_participant_id", "sessions", ["participant_id"])
    op.create_index("ix_sessions_cell_id_state", "sessions", ["cell_id", "state"])
    op.create_table(
        "tokens",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("session_id", sa.Integer, nullable=False),
        sa.Column("issued_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_tokens"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_tokens_session_id"),
    )
    op.create_index("ix_tokens_session_id", "tokens", ["session_id"])


def _collected() -> None:
    op.create_table(
        "submissions",
        sa.Column("session_id", sa.Integer, nullable=False),
        sa.Column("screen", sa.String(200), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("presented", sa.Text, nullable=False),
        sa.Column("shown_at", sa.BigInteger),
        sa.Column("submitted_at", sa.BigInteger),
        sa.Column("displayed_at", sa.BigInteger),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.Column("active_ms", sa.BigInteger),
        sa.PrimaryKeyConstraint("session_id", "screen", name="pk_submissions"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_submissions_session_id"),
        sa.UniqueConstraint("session_id", "position", name="uq_submissions_session_id_position"),
    )
    op.create_table(
        "answers",
        sa.Column("session_id", sa.Integer, nullable=False),
        sa.Column("screen", sa.String(200), nullable=False),
        sa.Column("field", sa.String(200), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("instrument", sa.String(64), nullable=False),
        sa.Column("quality", sa.Text),
        sa.Column("item", sa.Text),
        sa.Column("response", sa.Text),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "screen", "field", name="pk_answers"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_answers_session_id"),
    )
    op.create_table(
        "events",
        sa.Column("session_id", sa.Integer, nullable=False),
        sa.Column("page", sa.String(64), nullable=False),
        sa.Column("serial", sa.Integer, nullable=False),
        sa.Column("screen", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("field", sa.String(200)),
        sa.Column("client_at", sa.BigInteger, nullable=False),
        sa.Column("server_at", sa.BigInteger, nullable=False),
        sa.Column("detail", sa.Text),
        sa.PrimaryKeyConstraint("session_id", "page", "serial", name="pk_events"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_events_session_id"),
    )
