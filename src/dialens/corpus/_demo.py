"""The corpus that comes with the package: invented conversations, to show what dialens shows."""

from importlib.resources import files
from pathlib import Path


def demo_path() -> Path:
    """Where the bundled corpus lies (OpenAI messages; its card lies beside it).

    Examples:
        >>> demo_path().name
        'demo.jsonl'
    """
    return Path(str(files("dialens.corpus") / "demo.jsonl"))
