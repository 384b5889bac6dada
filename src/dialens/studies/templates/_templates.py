"""Studies to start from: complete, valid, and made to be changed."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ruamel.yaml import YAML

from dialens.base import DialensError, did_you_mean, make_folder
from dialens.studies._files import SCHEMA, STUDY, write_schema
from dialens.studies._study import Study, load_study
from dialens.studies.design import NAME

TEMPLATES: dict[str, str] = {
    "anchoring2020": "Anchor × layout, magnitude estimation: the anchoring-bias study of 2020",
    "engagement-labels": "Is this reply engaging? Pairs of context and reply, three annotators",
    "likert": "Replies of several agents on five-point scales",
    "pairwise": "Which of two replies is better?",
    "best-worst": "The best and the worst of four replies",
    "dialogue-level": "Whole conversations, judged at the end",
    "turn-by-turn": "Conversations judged reply by reply, as they unfold",
    "judge-bias": "A number shown, the place, tags, length and form: what moves people and judges",
    "three-bots": "People talk with one of three chatbots, then judge each reply and the whole",
    "arena": "Two chatbots answer side by side; people choose the better answer as it comes",
}
"""Templates by name, with one line of meaning."""


def _folder(name: str) -> Traversable:
    if name not in TEMPLATES:
        raise DialensError(
            f"There is no template {name!r}. {did_you_mean(name, TEMPLATES)}"
            f"Templates: {', '.join(TEMPLATES)}."
        )
    return files("dialens.studies.templates") / name.replace("-", "_")


def write_template(name: str, folder: Path, *, called: str = "") -> Study:
    """Write a template's files and the schema for editors into a folder, and load the result.

    Args:
        name: One of `TEMPLATES`.
        folder: Where to; made if it is not there.
        called: The study's name; the template's where this is empty or no study can be called so.

    Examples:
        >>> import tempfile
        >>> study = write_template("pairwise", Path(tempfile.mkdtemp()) / "mine")
        >>> study.name, len(study.cells)
        ('pairwise', 1)
    """
    source = _folder(name)
    make_folder(folder)
    for entry in source.iterdir():
        if entry.is_file() and entry.name.endswith((".yaml", ".jsonl", ".txt")):
            (folder / entry.name).write_bytes(entry.read_bytes())
    if re.fullmatch(NAME, called):
        # `2024` and `true` would be no texts in YAML.
        name = called if isinstance(YAML(typ="safe").load(called), str) else f'"{called}"'
        written = (folder / STUDY).read_text("utf-8")
        named = re.sub(r"(?m)^study: .*$", f"study: {name}", written, count=1)
        (folder / STUDY).write_text(named, "utf-8")
    write_schema(folder / SCHEMA)
    return load_study(folder / STUDY)
