"""A study that is ready to run: its design, and the items it names, read and checked."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from dialens.base import DialensError, did_you_mean, read_yaml
from dialens.studies import _factors as factors
from dialens.studies._files import design_with_lines, study_file
from dialens.studies._items import PLAIN, Item, inline_item, load_items, pairs
from dialens.studies._missing import Kinds, fewest, judgeable, missing_replies
from dialens.studies._operation import (
    TRANSLATIONS,
    as_text,
    checked,
    closing_words,
    operation_in,
    split,
)
from dialens.studies._translation import translated, translation_file
from dialens.studies._types import JSON, Cell
from dialens.studies.design import VARIANT, Design, texts_of
from dialens.studies.plan import dealt, shuffled
from dialens.studies.texts import LANGUAGES, Texts, shipped_language, text_problem, untranslated

_TEXTUAL = ("textual", "both")


@dataclass(frozen=True)
class Study:
    """A design with its items; everything that follows is a function of it.

    Attributes:
        design: The study file.
        items: What is judged.
        practice: Items that do not count.
        gold: Items whose answer is known.
        translations: The same study in its further languages.
        notes: What a careful colleague should know of the items: what is not asked, and why.
    """

    design: Design
    items: tuple[Item, ...]
    practice: tuple[Item, ...] = ()
    gold: tuple[Item, ...] = ()
    translations: "Mapping[str, Study]" = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        """The study's name."""
        return self.design.study

    @property
    def languages(self) -> tuple[str, ...]:
        """Those that participants can choose, in the order of the study file."""
        return tuple(self.design.languages) or (self.design.language,)

    @cached_property
    def texts(self) -> Texts:
        """What participants read beside the study's own words."""
        return texts_of(self.design)

    def said_in(self, language: str | None) -> "Study":
        """The study in one of its languages; as it is for any other, or none."""
        return self.translations.get(language or "", self)

    @cached_property
    def definition(self) -> str:
        """What participants see as JSON; with `operation` it makes the same study again.

        The order of keys is that of the study file: qualities and factors have an order.
        """
        data = _plain(self)
        if self.translations:
            others = {name: _plain(study) for name, study in self.translations.items()}
            for other in others.values():
                for part in _PARTS:
                    if other[part] == data[part]:
                        del other[part]
            data[TRANSLATIONS] = others
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def operation(self) -> str:
        """How it is run as JSON (`dialens.studies.OPERATION`), and what is said to colleagues."""
        own = self._parts[1]
        words = {name: closing_words(study._parts[1]) for name, study in self.translations.items()}
        said = {name: closing for name, closing in words.items() if closing}
        return as_text({**own, TRANSLATIONS: said} if said else own)

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
        run = json.loads(operation)
        others = {
            name: replace(study, design=checked(study._parts[0], operation_in(run, name)))
            for name, study in self.translations.items()
        }
        design = checked(self._parts[0], operation_in(run))
        return replace(self, design=design, translations=others)

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
        others, run = data.pop(TRANSLATIONS, {}), json.loads(operation)
        translations = {
            name: _from_plain(data | other, operation_in(run, name))
            for name, other in others.items()
        }
        return replace(_from_plain(data, operation_in(run)), translations=translations)


_PARTS = ("items", "practice", "gold")


def _plain(study: Study) -> dict[str, JSON]:
    data: dict[str, JSON] = {"design": study._parts[0]}
    return data | {part: [item.as_json() for item in getattr(study, part)] for part in _PARTS}


def _from_plain(data: Mapping[str, JSON], operation: Mapping[str, JSON]) -> Study:
    items, practice, gold = (tuple(Item.from_json(item) for item in data[part]) for part in _PARTS)
    return Study(checked(data["design"], operation), items, practice, gold)


def study_mark(name: str) -> str:
    """What strangers may read of a study's name: the same for the same, and not what it is.

    A name may tell what is expected of them.

    Examples:
        >>> study_mark("anchoring")
        '199feb7e5887'
    """
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def load_study(path: str | Path) -> Study:
    """A study from its file, or from the folder that holds `study.yaml`, with its items."""
    file = study_file(path)
    design, lines = design_with_lines(file)
    entries = range(len(design.items.inline or ()))
    places = [f"{file}:{lines['items', 'inline', number]}" for number in entries]
    return _with_translations(design, file.parent, file.stem, str(file), places)


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
    design = Design.model_validate(dict(data))
    return _with_translations(design, folder or Path(), "study", "the study")


def _with_translations(
    design: Design, folder: Path, stem: str, place: str, places: Sequence[str] = ()
) -> Study:
    """A study with its further languages, each of which asks the same of the same items."""
    study = _complete(design, folder, place, places)
    translations = {}
    for language in design.languages:
        if language == design.language:
            continue
        file = translation_file(folder, stem, language)
        other = _complete(translated(design, language, file), folder, str(file))
        for part in _PARTS:
            if _asked_about(getattr(other, part)) != _asked_about(getattr(study, part)):
                raise DialensError(
                    f"{file}: {part} are not those of the study file. Give the same items, in the "
                    "same order, with the same responses by name; only their words may differ."
                )
        translations[language] = other
    return replace(study, translations=translations)


def _asked_about(items: tuple[Item, ...]) -> list[tuple[str, list[str]]]:
    return [(item.id, [candidate.key for candidate in item.candidates]) for item in items]


def _with_texts(design: Design, folder: Path, place: str) -> Design:
    """The design with the texts of its file, if it names one; they have to suffice."""
    own = design.texts
    if isinstance(own, str):
        file = folder / own
        data, lines = read_yaml(file)
        if not isinstance(data, dict):
            raise DialensError(f"{file}:1: keys and texts are expected here, like `begin: Start`.")
        own = {str(key): str(text) for key, text in data.items()}
        for key, text in own.items():
            problem = text_problem(key, text)
            if problem:
                raise DialensError(f"{file}:{lines[(key,)]}: {problem}")
        design = design.model_copy(update={"texts": own})
    missing = untranslated(design.language, own)
    if missing and shipped_language(design.language) is None:
        raise DialensError(
            f"{place}: language: there are no texts in {design.language!r}, and the study does not "
            f"give {len(missing)} of them ({', '.join(missing[:3])}, …). Languages that come with "
            f"the program: {', '.join(LANGUAGES)}. For another, `dialens study texts -o "
            f"{design.language}.yaml` writes a file to translate; then say `texts: "
            f"{design.language}.yaml`."
        )
    return design


def _complete(design: Design, folder: Path, place: str, places: Sequence[str] = ()) -> Study:
    design = _with_texts(design, folder, place)
    items: tuple[Item, ...] = ()
    written: dict[str, str] = {}
    if design.conversations is None:
        items, written = load_items(design.items, folder, design.study, places)
    practice = _inline(design, "practice", folder)
    gold = _inline(design, "gold", folder)
    kinds = {name: _kinds(design, name) for name in design.qualities}
    notes = missing_replies(items, kinds, written)
    items = tuple(item for item in items if judgeable(item, kinds))
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
    new = sum(wave.items == "new" for wave in design.waves.values())
    if sample is not None and sample.count * (new + 1) > len(items):
        raise DialensError(
            f"{place}: waves: each of {new + 1} waves shows {sample.count} items that a "
            f"participant has not seen, but there are {len(items)}. Give more items, sample fewer, "
            "or let a wave show the same ones (`items: same`)."
        )
    if sample is not None and sample.by == "study":
        chosen = {item.id for item in shuffled(items, design.study, "sample")[: sample.count]}
        items = tuple(item for item in items if item.id in chosen)
    study = Study(design, items, practice, gold, notes=tuple(notes))
    _check(study, kinds, place, written)
    return study


def _inline(design: Design, part: str, folder: Path) -> tuple[Item, ...]:
    entries = design.practice.items if part == "practice" else design.checks.gold
    unit = design.items.unit
    return tuple(inline_item(entry, unit, design.study, folder) for entry in entries)


def _kinds(design: Design, quality: str) -> set[str]:
    """The instruments a quality is judged with, over all conditions."""
    scale = design.factors.get("scale")
    if scale is None:
        return {design.qualities[quality].instrument.kind}
    return {level.instrument.kind for level in scale.levels if level.instrument is not None}


def _check(study: Study, kinds: Kinds, place: str, written: Mapping[str, str]) -> None:
    """What only shows when design and items are seen together."""
    design = study.design
    anchor = design.factors.get("anchor")
    shown = {level.name for level in anchor.levels} if anchor else {design.presentation.anchor}
    everything = (*study.items, *study.practice, *study.gold)
    for item in everything:
        if shown & set(_TEXTUAL) and item.standard is None:
            raise DialensError(
                f"{written.get(item.id, place)}: the item {item.id!r} has no standard response, "
                f"which the anchor {' or '.join(sorted(shown & set(_TEXTUAL)))} shows. Give it "
                "one (`standard`), or leave that level out."
            )
    for item in (*study.practice, *study.gold):
        for quality, used in kinds.items():
            if len(item.candidates) < fewest(used):
                raise DialensError(
                    f"{place}: {quality} compares {fewest(used)} responses or more; the item "
                    f"{item.id!r} of practice or gold has {len(item.candidates)}."
                )
    _check_responses(study, place, written)
    combinations = len(factors.within(design))
    seen = min((len(part) for part in study.lists), default=len(study.items))
    if design.items.sample is not None:
        seen = min(seen, design.items.sample.count)
    if combinations > seen and design.conversations is None:
        raise DialensError(
            f"{place}: factors within participants have {combinations} combinations of levels, but "
            f"a participant sees {seen} items. Give more items, or vary between participants."
        )
    repeated = [name for name, count in Counter(i.id for i in everything).items() if count > 1]
    if repeated:
        raise DialensError(f"{place}: two items are called {repeated[0]!r} (with practice, gold).")
    _ = study.targets  # says what is wrong with them


def _check_responses(study: Study, place: str, written: Mapping[str, str]) -> None:
    """Whether every response has the variants that are shown, and items have what is swapped."""
    design = study.design
    varied = design.factors.get(VARIANT)
    for item in study.items:
        where = written.get(item.id, place)
        for level in varied.levels if varied else ():
            lacking = [c.key for c in item.candidates if level.name not in (PLAIN, *c.variants)]
            if lacking:
                raise DialensError(
                    f"{where}: the response {lacking[0]!r} of the item {item.id!r} has no variant "
                    f"{level.name!r}. Give it one (`variants: {{{lacking[0]}: {{{level.name}: …}}"
                    "}`), or leave that level out."
                )
        if design.presentation.responses == "swap" and len(item.candidates) < 2:
            raise DialensError(
                f"{where}: the item {item.id!r} has one response, and presentation.responses is "
                "swap, which shows two or more in both orders. Give it another, or use "
                "latin_square."
            )


def quality_label(design: Design, name: str) -> str:
    """What participants read for a quality.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> quality_label(Design.model_validate(TEA), "coherence")
        'Coherence'
    """
    return design.qualities[name].label or name.replace("_", " ").capitalize()
