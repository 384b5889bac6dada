"""A study that is ready to run: its design, and the items it names, read and checked."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from dialens.base import DialensError, did_you_mean
from dialens.studies import _factors as factors
from dialens.studies._files import read_design, study_file
from dialens.studies._items import Item, inline_item, load_items, pairs
from dialens.studies._operation import as_text, checked, split
from dialens.studies._types import JSON, Cell
from dialens.studies.design import Design
from dialens.studies.instruments import instrument
from dialens.studies.plan import dealt, shuffled

_TEXTUAL = ("textual", "both")
_NUMERICAL = ("numerical", "both")
_FEWEST = {"best_worst": 3, "ranking": 2, "pairwise": 2}


@dataclass(frozen=True)
class Study:
    """A design with its items; everything that follows is a function of it.

    Attributes:
        design: The study file.
        items: What is judged.
        practice: Items that do not count.
        gold: Items whose answer is known.
    """

    design: Design
    items: tuple[Item, ...]
    practice: tuple[Item, ...] = ()
    gold: tuple[Item, ...] = ()

    @property
    def name(self) -> str:
        """The study's name."""
        return self.design.study

    @cached_property
    def definition(self) -> str:
        """What participants see as JSON; with `operation` it makes the same study again.

        The order of keys is that of the study file: qualities and factors have an order.
        """
        data = {
            "design": self._parts[0],
            "items": [asdict(item) for item in self.items],
            "practice": [asdict(item) for item in self.practice],
            "gold": [asdict(item) for item in self.gold],
        }
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def operation(self) -> str:
        """How it is run as JSON (`dialens.studies.OPERATION`), and what is said to colleagues."""
        return as_text(self._parts[1])

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the definition: two studies with one hash show the same screens."""
        return hashlib.sha256(self.definition.encode()).hexdigest()

    @cached_property
    def _parts(self) -> tuple[dict[str, JSON], dict[str, JSON]]:
        definition, operation = split(self.design.model_dump(mode="json", exclude_unset=True))
        # Whether a file names what is the default anyway makes no other study.
        definition["recruiter"] = {"kind": self.design.recruiter.kind}
        return definition, operation

    @cached_property
    def lists(self) -> tuple[tuple[Item, ...], ...]:
        """The lists that items are dealt into; none if they are not."""
        wanted = self.design.items.lists
        if wanted is None:
            return ()
        return tuple(tuple(part) for part in dealt(self.items, wanted.length, self.name))

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The conditions between participants."""
        return factors.cells(self.design, len(self.lists))

    @cached_property
    def targets(self) -> dict[str, int]:
        """Participants wanted in each cell."""
        return factors.targets(self.design, self.cells)

    def cell(self, name: str) -> Cell:
        """The cell of that name."""
        for cell in self.cells:
            if cell.name == name:
                return cell
        known = [cell.name for cell in self.cells]
        raise DialensError(
            f"There is no cell {name!r}. {did_you_mean(name, known)}Cells: {'; '.join(known)}."
        )

    def with_operation(self, operation: str) -> "Study":
        """The same study, run in another way."""
        design = checked(self._parts[0], json.loads(operation))
        return replace(self, design=design)

    @classmethod
    def from_definition(cls, text: str, operation: str = "{}") -> "Study":
        """The study whose `definition` and `operation` were kept, e.g. in a database.

        Examples:
            >>> from dialens.studies._examples import TEA
            >>> made = study_of(TEA | {"targets": 3})
            >>> kept = Study.from_definition(made.definition, made.operation)
            >>> kept.hash == made.hash, set(kept.targets.values())
            (True, {3})
        """
        data = json.loads(text)
        parts = ("items", "practice", "gold")
        return cls(
            checked(data["design"], json.loads(operation)),
            *(tuple(Item.from_json(item) for item in data[part]) for part in parts),
        )


def load_study(path: str | Path) -> Study:
    """A study from its file, or from the folder that holds `study.yaml`, with its items."""
    file = study_file(path)
    return _complete(read_design(file), file.parent, str(file))


def study_of(data: Mapping[str, JSON], folder: Path | None = None) -> Study:
    """A study from plain data, as a study file would hold it.

    Args:
        data: The content of a study file.
        folder: Where paths in it start; the working folder if not given.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> len(study_of(TEA).items), len(study_of(TEA).cells)
        (6, 4)
    """
    return _complete(Design.model_validate(dict(data)), folder or Path(), "the study")


def _complete(design: Design, folder: Path, place: str) -> Study:
    items: tuple[Item, ...] = ()
    if design.conversations is None:
        items = load_items(design.items, folder, design.study)
    practice = _inline(design, "practice")
    gold = _inline(design, "gold")
    kinds = {name: _kinds(design, name) for name in design.qualities}
    everything = set().union(*kinds.values())
    if "pairwise" in everything:
        if everything != {"pairwise"} and any(len(item.candidates) > 2 for item in items):
            raise DialensError(
                f"{place}: pairwise comparisons of more than two responses cannot share a screen "
                "with other instruments. Judge all qualities pairwise, or give two responses."
            )
        items, practice, gold = pairs(items), pairs(practice), pairs(gold)
    sample = design.items.sample
    if sample is not None and sample.count > len(items):
        raise DialensError(
            f"{place}: items.sample.count is {sample.count}, but there are {len(items)} items."
        )
    if sample is not None and sample.by == "study":
        chosen = {item.id for item in shuffled(items, design.study, "sample")[: sample.count]}
        items = tuple(item for item in items if item.id in chosen)
    study = Study(design, items, practice, gold)
    _check(study, kinds, place)
    return study


def _inline(design: Design, part: str) -> tuple[Item, ...]:
    entries = design.practice.items if part == "practice" else design.checks.gold
    return tuple(inline_item(entry, design.items.unit, design.study) for entry in entries)


def _kinds(design: Design, quality: str) -> set[str]:
    """The instruments a quality is judged with, over all conditions."""
    scale = design.factors.get("scale")
    if scale is None:
        return {design.qualities[quality].instrument.kind}
    return {level.instrument.kind for level in scale.levels if level.instrument is not None}


def _check(study: Study, kinds: Mapping[str, set[str]], place: str) -> None:
    """What only shows when design and items are seen together."""
    design = study.design
    anchor = design.factors.get("anchor")
    shown = {level.name for level in anchor.levels} if anchor else {design.presentation.anchor}
    everything = (*study.items, *study.practice, *study.gold)
    for item in everything:
        if shown & set(_TEXTUAL) and item.standard is None:
            raise DialensError(
                f"{place}: the item {item.id!r} has no standard response, which the anchor "
                f"{' or '.join(sorted(shown & set(_TEXTUAL)))} shows. Give it one (`standard`), or "
                "leave that level out."
            )
        for quality, used in kinds.items():
            for kind in used:
                if instrument(kind).judges == "several" and len(item.candidates) < _FEWEST[kind]:
                    raise DialensError(
                        f"{place}: {quality} is judged by {kind}, which needs {_FEWEST[kind]} "
                        f"responses; the item {item.id!r} has {len(item.candidates)}."
                    )
    if shown & set(_NUMERICAL) and design.presentation.anchor_value is None:
        for quality, used in kinds.items():
            settings = design.qualities[quality].instrument
            if used != {"magnitude"} or getattr(settings, "modulus", None) is None:
                raise DialensError(
                    f"{place}: the anchor {' or '.join(sorted(shown & set(_NUMERICAL)))} shows a "
                    f"number, and none is known for {quality}. Set presentation.anchor_value."
                )
    combinations = len(factors.within(design))
    fewest = min((len(part) for part in study.lists), default=len(study.items))
    if design.items.sample is not None:
        fewest = min(fewest, design.items.sample.count)
    if combinations > fewest and design.conversations is None:
        raise DialensError(
            f"{place}: factors within participants have {combinations} combinations of levels, but "
            f"a participant sees {fewest} items. Give more items, or vary between participants."
        )
    repeated = [name for name, count in Counter(i.id for i in everything).items() if count > 1]
    if repeated:
        raise DialensError(f"{place}: two items are called {repeated[0]!r} (with practice, gold).")
    _ = study.targets  # says what is wrong with them


def quality_label(design: Design, name: str) -> str:
    """What participants read for a quality.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> quality_label(Design.model_validate(TEA), "coherence")
        'Coherence'
    """
    return design.qualities[name].label or name.replace("_", " ").capitalize()
