"""Operation apart from definition, exclusions, payments, and a log of changes."""

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision: str | None = "0005"
branch_labels: str | None = None
depends_on: str | None = None

_OPERATION = ("targets", "limits", "resume", "completion", "description", "hypotheses")
_PLAN = "analysis_plan"
_STUDIES = sa.table(
    "studies",
    sa.column("id", sa.Integer),
    sa.column("hash", sa.String),
    sa.column("definition", sa.Text),
    sa.column("operation", sa.Text),
    sa.column("file_operation", sa.Text),
)
_SETTINGS = sa.table("settings", sa.column("name", sa.String))


def upgrade() -> None:
    """Add columns and the table, and take definitions apart that were hashed as a whole."""
    with op.batch_alter_table("studies") as table:
        table.add_column(sa.Column("operation", sa.Text, nullable=False, server_default="{}"))
        table.add_column(sa.Column("file_operation", sa.Text, nullable=False, server_default="{}"))
    op.add_column("participants", sa.Column("excluded_at", sa.BigInteger))
    op.add_column("participants", sa.Column("excluded_why", sa.Text))
    op.add_column("participants", sa.Column("paid_at", sa.BigInteger))
    op.create_index("ix_participants_excluded_at", "participants", ["excluded_at"])
    op.create_index("ix_sessions_code", "sessions", ["code"])
    op.create_table(
        "changes",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("made_by", sa.String(16), nullable=False),
        sa.Column("what", sa.String(500), nullable=False),
        sa.Column("participant", sa.String(32)),
        sa.Column("before", sa.Text),
        sa.Column("after", sa.Text),
        sa.Column("why", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_changes"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_changes_study_id"),
        sa.CheckConstraint(
            "made_by IN ('dashboard', 'api', 'file', 'command')", name="ck_changes_made_by"
        ),
    )
    op.create_index("ix_changes_study_id", "changes", ["study_id"])
    op.create_index("ix_changes_participant", "changes", ["participant"])
    connection = op.get_bind()
    rows = connection.execute(sa.select(_STUDIES.c.id, _STUDIES.c.hash, _STUDIES.c.definition))
    for row in rows.all():
        _take_apart(connection, row.id, row.hash, row.definition)


def _take_apart(connection: sa.Connection, study: int, old_hash: str, text: str) -> None:
    data: dict[str, Any] = json.loads(text)
    if not isinstance(data.get("design"), dict):
        return
    data["design"], operation = _parts(data["design"])
    for language, other in data.get("translations", {}).items():
        other["design"], own = _parts(other["design"])
        words = {name: own.get("completion", {}).get(name) for name in ("title", "message")}
        said = {name: word for name, word in words.items() if word is not None}
        if said:
            operation.setdefault("translations", {})[language] = {"completion": said}
    definition = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    new_hash = hashlib.sha256(definition.encode()).hexdigest()
    kept = json.dumps(operation, ensure_ascii=False, separators=(",", ":"))
    connection.execute(
        sa.update(_STUDIES)
        .where(_STUDIES.c.id == study)
        .values(hash=new_hash, definition=definition, operation=kept, file_operation=kept)
    )
    connection.execute(
        sa.update(_SETTINGS)
        .where(_SETTINGS.c.name == f"simulations {old_hash[:40]}")
        .values(name=f"simulations {new_hash[:40]}")
    )


def _parts(design: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The definition and the operation of a design, each in the order of the study file."""
    definition: dict[str, Any] = {}
    operation: dict[str, Any] = {}
    for name, value in design.items():
        if name == "recruiter":
            definition[name] = {"kind": value.pop("kind", "link")}
            if value:
                operation[name] = value
        elif name in (*_OPERATION, _PLAN):
            operation[name] = value
        else:
            definition[name] = value
    definition.setdefault("recruiter", {"kind": "link"})
    lists = (definition.get("items") or {}).get("lists") or {}
    if "annotators" in lists:
        operation["items"] = {"lists": {"annotators": lists.pop("annotators")}}
    done = operation.get("completion", {})
    if "code" in done:  # one code, before there were several
        done["codes"] = {"completed": done.pop("code")}
    return definition, operation


def downgrade() -> None:
    """Drop what was added; definitions stay taken apart."""
    op.drop_table("changes")
    op.drop_index("ix_sessions_code", "sessions")
    op.drop_index("ix_participants_excluded_at", "participants")
    for name in ("paid_at", "excluded_why", "excluded_at"):
        op.drop_column("participants", name)
    for name in ("file_operation", "operation"):
        op.drop_column("studies", name)
