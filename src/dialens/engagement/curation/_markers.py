"""Markers: small files that say that something is finished. They are written last."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialens.base import atomic_file


def read_marker(path: Path) -> dict[str, Any]:
    """A marker; empty if somebody has damaged it, so that what it stood for is made again.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "part-0-00000.json"
        >>> _ = path.write_text("{")
        >>> read_marker(path)
        {}
    """
    try:
        marker = json.loads(path.read_bytes())
    except ValueError:
        return {}
    return marker if isinstance(marker, dict) else {}


def write_marker(path: Path, content: Mapping[str, Any]) -> None:
    """Write a marker, whole or not at all.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "part-0-00000.json"
        >>> write_marker(path, {"rows": 3})
        >>> read_marker(path)
        {'rows': 3}
    """
    with atomic_file(path) as scratch:
        text = json.dumps(content, indent=2, ensure_ascii=False)
        scratch.write_text(text + "\n", encoding="utf-8")
