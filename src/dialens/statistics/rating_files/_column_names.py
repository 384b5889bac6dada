"""What the name of a column says: a rater, an item, a quality, or a rater and a quality."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

RATER_NAMES = (
    "rater", "annotator", "participant", "worker", "judge", "coder", "evaluator", "reviewer",
    "respondent", "subject", "user", "rater_id", "annotator_id", "participant_id", "worker_id",
    "user_id", "workerid", "prolific_pid", "prolific_id", "responseid", "response_id", "pid",
)  # fmt: skip
ITEM_NAMES = (
    "item", "dialog", "dialogue", "conversation", "unit", "stimulus", "response", "reply",
    "example", "sample", "instance", "item_id", "dialog_id", "dialogue_id", "conversation_id",
    "unit_id", "stimulus_id", "sample_id", "instance_id", "text_id",
)  # fmt: skip
FACTS = (
    "system", "agent", "model", "bot", "turn", "condition", "level", "study", "scale", "factors",
    "anchor", "layout", "deadline", "group", "arm", "order", "position", "age", "sex", "gender",
    "country", "language", "nationality", "ethnicity", "education", "status", "date", "time",
    "duration", "started_at", "completed_at", "created_at", "text", "context", "comment",
    "comments", "notes", "session", "batch", "rater_kind", "shown_at", "answered_at", "active_ms",
    "late",
)  # fmt: skip
"""Columns that say something about an item or a rater and are no ratings, even if they are numbers.
"""

_WORDS_FOR_RATERS = (
    r"rater|annotator|judge|coder|participant|worker|evaluator|reviewer|respondent|subject"
)
_WORDS_FOR_ITEMS = (
    r"item|dialog|dialogue|conversation|conv|stimulus|stim|unit|response|utterance|text|example|"
    r"sample|instance|video|chat|turn"
)
_RATER = rf"(?:(?:{_WORDS_FOR_RATERS})[ _.\-]?(?:\d+|[a-z])|[rapjc]\d+)"
_ITEM = rf"(?:(?:{_WORDS_FOR_ITEMS})[ _.\-]?\d+|[iqdsu]\d+)"
_BETWEEN = r"[ _.:/|\-]+"
_QUALITIES = re.compile(
    r"(?:.*(?:ness|ity|ency|ance|ence|ency|cy|ing|ment|tion|able|ible|ful)"
    r"|overall|quality|tone|style|empathy|humou?r|trust|warmth|safety|interest|human|likab.*|"
    r"fluent|coherent|relevant|natural|polite|helpful|correct|clear|score|rating|good|truth)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class NamedColumn:
    """What one column holds.

    Attributes:
        column: Its name in the file.
        who: The rater or item.
        quality: The quality; None where the table has only one.
    """

    column: str
    who: str
    quality: str | None


def plain(name: str) -> str:
    """A name as it is compared: small letters, underscores.

    Examples:
        >>> plain(" Participant id "), plain("PROLIFIC_PID")
        ('participant_id', 'prolific_pid')
    """
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


def is_quality(name: str) -> bool:
    """Whether a name sounds like something that is rated rather than like somebody.

    Examples:
        >>> [is_quality(name) for name in ("fluency", "Engaging", "anna", "r1")]
        [True, True, False, False]
    """
    return _QUALITIES.fullmatch(name.strip()) is not None


def raters_in(columns: Sequence[str]) -> list[NamedColumn]:
    """Columns that name raters, with the quality where each has several.

    Examples:
        >>> [(c.who, c.quality) for c in raters_in(["rater1_fluency", "tone (judge B)", "x"])]
        [('rater1', 'fluency'), ('judge B', 'tone')]
    """
    return _named(columns, _RATER)


def items_in(columns: Sequence[str]) -> list[NamedColumn]:
    """Columns that name items, with the quality where each has several.

    Examples:
        >>> [(c.who, c.quality) for c in items_in(["item 1", "dialog2_fluency", "age"])]
        [('item 1', None), ('dialog2', 'fluency')]
    """
    return _named(columns, _ITEM)


def crossed(columns: Sequence[str]) -> list[NamedColumn] | None:
    """People and qualities from names such as `anna_fluency`, if all combinations are there.

    Examples:
        >>> names = [f"{who}_{what}" for who in ("anna", "ben") for what in ("fluency", "tone")]
        >>> [(c.who, c.quality) for c in crossed(names)][:2]
        [('anna', 'fluency'), ('anna', 'tone')]
        >>> crossed(["a_b", "c"]) is None
        True
    """
    parts = [re.split(_BETWEEN, name.strip(), maxsplit=1) for name in columns]
    if any(len(part) != 2 for part in parts):
        return None
    left, right = ({part[side] for part in parts} for side in (0, 1))
    if len(left) < 2 or len(right) < 2 or len(left) * len(right) != len(set(columns)):
        return None
    if all(map(is_quality, right)):
        return [NamedColumn(c, a, b) for c, (a, b) in zip(columns, parts, strict=True)]
    if all(map(is_quality, left)):
        return [NamedColumn(c, b, a) for c, (a, b) in zip(columns, parts, strict=True)]
    return None


def _named(columns: Sequence[str], pattern: str) -> list[NamedColumn]:
    first = re.compile(rf"({pattern}){_BETWEEN}(.+)", re.IGNORECASE)
    last = re.compile(rf"(.+?){_BETWEEN}[(\[]?({pattern})[)\]]?", re.IGNORECASE)
    found = []
    for column in columns:
        name = column.strip()
        if re.fullmatch(pattern, name, re.IGNORECASE):
            found.append(NamedColumn(column, name, None))
        elif match := first.fullmatch(name):
            found.append(NamedColumn(column, match[1], match[2].strip("() ")))
        elif match := last.fullmatch(name):
            found.append(NamedColumn(column, match[2], match[1].strip("() ")))
    return found
