"""The run record of a labelling, by which a finished folder is known."""

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dialens.base import atomic_file, sha256_file
from dialens.engagement.curation._data_card import DataCard
from dialens.engagement.curation._label_run import Done

RUN: Final = "run.json"
_PACKAGES: Final = ("dialens", "polars", "numpy")


def write_record(
    red: Path,
    *,
    identity: str,
    arguments: Mapping[str, Any],
    models: Mapping[str, str | None],
    versions: Mapping[str, str],
    steps: Mapping[str, Done],
    card: DataCard,
    started: datetime,
    seconds: float,
) -> None:
    """Write what was done, with what, how long it took, and the hashes of what came out."""
    files = [path for path in sorted(red.rglob("*")) if path.is_file() and path.name != RUN]
    hashed = {name: about["sha256"] for name, about in card.content["files"].items()}
    names = [path.relative_to(red) for path in files]
    outputs = {
        str(name): hashed.get(str(name)) or sha256_file(red / name)
        for name in names
        if not any(part.startswith(".") for part in name.parts)
    }
    record = {
        "command": "engagement label",
        "identity": identity,
        "arguments": dict(arguments),
        "seed": arguments["seed"],
        "models": dict(models),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES} | dict(versions),
        "platform": f"{platform.system()} {platform.machine()}",
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "steps": {
            name: {"rows": done.rows, "seconds": round(done.seconds, 3), "reused": done.reused}
            for name, done in steps.items()
        },
        "counts": card.content["counts"],
        "outputs": outputs,
    }
    with atomic_file(red / RUN) as scratch:
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        scratch.write_text(text + "\n", encoding="utf-8")


def earlier_run(red: Path, identity: str) -> dict[str, Any] | None:
    """The card of a finished labelling of the same data with the same options, if it is whole."""
    try:
        record = json.loads((red / RUN).read_bytes())
        whole = all((red / name).is_file() for name in record["outputs"])
        if not whole or record["identity"] != identity:
            return None
        content: dict[str, Any] = json.loads((red / "card.json").read_bytes())
    except (OSError, ValueError, KeyError):
        return None
    return content
