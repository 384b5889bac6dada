from ._rendering import JUDGED, READ, render, render_hash, unreadable
from ._schema import THOUGHT, allowed_answers, field_schema, screen_schema

__all__ = [
    "JUDGED",
    "READ",
    "THOUGHT",
    "allowed_answers",
    "field_schema",
    "render",
    "render_hash",
    "screen_schema",
    "unreadable",
]
