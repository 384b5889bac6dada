"""Attributes of spans: OTLP's typed values as plain ones, dotted names as trees and back."""

from collections.abc import Mapping
from typing import Any

from dialens.corpus.readers._payloads import decoded

_COLUMN = "attributes."


def attributes_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span, an event or a resource, by their dotted names.

    They may stand in a list as OTLP has them, in an object, or each in a column of a table.

    Examples:
        >>> attributes_of({"attributes": [{"key": "a.b", "value": {"intValue": "3"}}]})
        {'a.b': 3}
        >>> attributes_of({"attributes.a": {"b": 3}, "name": "x"})
        {'a': {'b': 3}}
    """
    inside = decoded(record.get("attributes"))
    if isinstance(inside, list):
        pairs = (item for item in inside if isinstance(item, dict) and "key" in item)
        return {str(item["key"]): _value(item.get("value")) for item in pairs}
    found = dict(inside) if isinstance(inside, dict) else {}
    for key, value in record.items():
        if key.startswith(_COLUMN) and value is not None and value != "":
            found[key.removeprefix(_COLUMN)] = value
    return found


def _value(value: object) -> Any:
    """A typed value of OTLP, as what it holds."""
    if not isinstance(value, dict):
        return value
    for kind, content in value.items():
        if kind == "intValue":
            return _whole(content)
        if kind in ("arrayValue", "kvlistValue"):
            inside = content.get("values") if isinstance(content, dict) else None
            values = inside if isinstance(inside, list) else []
            if kind == "arrayValue":
                return [_value(item) for item in values]
            pairs = [item for item in values if isinstance(item, dict) and "key" in item]
            return {str(item["key"]): _value(item.get("value")) for item in pairs}
        if kind.endswith("Value"):
            return content
    return value


def _whole(content: object) -> object:
    """A whole number, which JSON has as text; what is none stays as it is."""
    try:
        return int(content) if isinstance(content, str | int | float) else content
    except (ValueError, OverflowError):
        return content


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as a tree, with lists where names are numbers.

    Examples:
        >>> nested({"a.0.role": "user", "a.0.content": "Hi", "b": {"c.d": 1}})
        {'a': [{'role': 'user', 'content': 'Hi'}], 'b': {'c': {'d': 1}}}
    """
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        steps = name.split(".")
        place = tree
        for step in steps[:-1]:
            inner = place.get(step)
            if not isinstance(inner, dict):
                inner = {} if inner is None else {"": inner}
                place[step] = inner
            place = inner
        known = place.get(steps[-1])
        opened = _opened(value)
        if isinstance(known, dict) and isinstance(opened, dict):
            known.update(opened)
        elif isinstance(known, dict):
            known[""] = opened
        else:
            place[steps[-1]] = opened
    return {key: _with_lists(value) for key, value in tree.items()}


def _opened(value: Any) -> Any:
    if isinstance(value, dict):
        return nested({key: item for key, item in value.items() if item is not None})
    if isinstance(value, list):
        return [_opened(item) for item in value]
    return value


def _with_lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isdigit() for key in tree):
        return [_with_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _with_lists(value) for key, value in tree.items()}


def flattened(tree: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """A tree by dotted names again; lists stay as they are.

    Examples:
        >>> flattened({"a": {"b": 1, "c": {"d": [2]}}})
        {'a.b': 1, 'a.c.d': [2]}
    """
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{before}.{key}" if before and key else before or key
        if isinstance(value, dict):
            flat |= flattened(value, name)
        else:
            flat[name] = value
    return flat


def unnested(tree: Mapping[str, Any], path: str) -> Any:
    """What stands at a dotted path of a tree, or None.

    Examples:
        >>> unnested({"a": {"b": "text"}}, "a.b"), unnested({"a": "text"}, "a.b")
        ('text', None)
    """
    value: Any = tree
    for step in path.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value.get("", value) if isinstance(value, Mapping) and "" in value else value
