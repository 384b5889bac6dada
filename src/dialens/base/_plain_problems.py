"""What pydantic finds wrong with a value, in plain words."""

import re
from collections.abc import Mapping
from typing import Any

_WORDS: dict[str, str] = {
    "greater_than_equal": "has to be {ge} or more",
    "greater_than": "has to be more than {gt}",
    "less_than_equal": "has to be {le} or less",
    "less_than": "has to be less than {lt}",
    "string_type": "has to be text; put it in quotes if it is",
    "string_too_short": "needs {min_length} or more characters",
    "string_too_long": "may have {max_length} characters at most",
    "too_short": "needs {min_length} or more entries",
    "too_long": "may have {max_length} entries at most",
    "list_type": "has to be a list, like `[one, two]`",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "has to be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "has to be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "has to be true or false"),
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type"),
        "keys and values are expected here, like `{{key: value}}`",
    ),
}
_PATTERNS: dict[str, str] = {
    r"^[a-z][a-z0-9_]*$": "small letters, digits and underscores, beginning with a letter",
    r"^[A-Za-z0-9_]+$": "letters, digits and underscores",
    r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$": "the code of a language, like en or pt-BR",
    r"^[A-Z]{3}$": "three capital letters, like EUR",
    r"^[A-Z]{2}$": "two capital letters, like DE",
    r"^[^,=\s][^,=]*$": "any name without commas and equals signs",
}
_DECIMAL_COMMA = re.compile(r"\s*-?\d+,\d+\s*")


def in_plain_words(problem: Mapping[str, Any], meaning: str = "") -> str:
    """A problem as a message, without its place and what was seen.

    Args:
        problem: One of pydantic's errors.
        meaning: What the key is for, for a text that may not be what it is.

    Examples:
        >>> in_plain_words({"type": "greater_than_equal", "ctx": {"ge": 1}, "input": 0})
        'has to be 1 or more'
        >>> in_plain_words({"type": "float_parsing", "input": "1,50"})
        'has to be a number; write a point for the comma, like 1.50'
    """
    kind, context, seen = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind == "string_pattern_mismatch":
        allowed = _PATTERNS.get(context["pattern"], meaning)
        return f"this cannot be used here ({allowed})" if allowed else str(problem["msg"])
    if kind == "invalid_key":
        return (
            "a key has to be text. If this is the end of a number, write it with a point, like "
            "1.50: after a comma another key begins"
        )
    bounds = {key: f"{one:g}" if isinstance(one, float) else one for key, one in context.items()}
    said = _WORDS.get(kind, "").format(**bounds)
    if kind.startswith("float") and isinstance(seen, str) and _DECIMAL_COMMA.fullmatch(seen):
        return f"{said}; write a point for the comma, like 1.50"
    return said or str(problem["msg"])
