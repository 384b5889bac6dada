"""Every model that ships, of whatever kind, in one list: encoders, trait models, the topic table.

Their cards differ in shape, because an encoder has several tasks and a topic table has none. Here
all of them answer the same questions: what it is called, what it reads, how good it is, on whose
data, under which terms, and whether its files are what the card says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dialens.base import DialensError, Estimate
from dialens.models._card import check_file, check_trait_card, hashes
from dialens.models._classifiers import CLASSIFICATION, read_config
from dialens.models._places import is_shipped
from dialens.models._store import places_of, stand_ins

_ENCODER, _TRAIT, _TOPICS, _CLASSIFIER = "encoder", "trait", "topics", "classifier"
_TRAIT_FILE = "model.npz"
_NEEDED = (
    *("task", "labels", "data", "command", "seed"),
    *("figures", "files", "intended_use", "limits", "licence"),
)


@dataclass(frozen=True)
class CatalogueEntry:
    """One model and task, as ``dialens models`` lists it.

    Attributes:
        name: What :func:`dialens.models.load` (or ``traits.load``, ``topics.load``) takes.
        kind: ``encoder``, ``trait``, ``topics``, or ``classifier`` (a user's, without a card).
        task: What it tells.
        folder: Where it lies.
        default: Whether it is what the bare name of its task gives.
        reads: Its inputs, in words.
        labels: Names of what it gives.
        size: Bytes of the folder's files, shared by all its tasks.
        figures: Every figure of the card that has a value, by name, the headline first.
        licence: Of the model.
        data: What it learned from, with licences.
        research_grade: Whether its data's terms or its quality allow research only.
        command: That trained it.
        seed: Of the training.
        intended_use: As the card says.
        limits: As the card says.
        files: The sha256 of each file.
        card: The whole card.
        part_of: The task that it is only an ingredient of (``part_of`` in the card), if any; that
            task's figures are the ones that count.
    """

    name: str
    kind: str
    task: str
    folder: Path
    default: bool
    reads: str
    labels: tuple[str, ...]
    size: int
    figures: Mapping[str, Estimate]
    licence: str
    data: tuple[Mapping[str, Any], ...] = field(repr=False)
    research_grade: bool
    command: str = field(repr=False)
    seed: int | None = field(repr=False)
    intended_use: str = field(repr=False)
    limits: str = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    card: Mapping[str, Any] = field(repr=False)
    part_of: str = ""

    @property
    def headline(self) -> str | None:
        """The name of the figure to judge it by."""
        return next(iter(self.figures), None)

    @property
    def missing(self) -> tuple[str, ...]:
        """What a card should say and this one does not."""
        told_elsewhere = ("figures", "intended_use", "limits") if self.part_of else ()
        needed = [name for name in _NEEDED if name not in told_elsewhere]
        absent = [name for name in needed if getattr(self, name) in (None, "", (), {})]
        if not self.part_of and not any(one.has_interval for one in self.figures.values()):
            absent.append("intervals")
        if not all(one.get("name") and one.get("licence") for one in self.data):
            absent.append("licences of the data")
        return tuple(absent)


@dataclass(frozen=True)
class FileCheck:
    """Whether one file is what the card says; ``problem`` is None if it is."""

    folder: Path
    file: str
    problem: str | None


@dataclass(frozen=True)
class Catalogue:
    """What a folder of models holds, and the folders in it whose cards cannot be read."""

    entries: tuple[CatalogueEntry, ...]
    unreadable: Mapping[Path, str]

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every folder once, the unreadable ones last."""
        return tuple(dict.fromkeys([*(one.folder for one in self.entries), *self.unreadable]))


def catalogue(folder: Path | None = None) -> Catalogue:
    """Read the cards of all models that ship, or in a folder, or of the one that the folder is.

    A card that cannot be read does not hide the other models.

    Raises:
        DialensError: There is no such folder, or no model in it.

    Examples:
        >>> sorted({entry.kind for entry in catalogue().entries} & {"topics", "trait"})
        ['topics', 'trait']
    """
    entries: list[CatalogueEntry] = []
    unreadable: dict[Path, str] = {}
    for place in (place for holder in places_of(folder) for place in _model_folders(holder)):
        try:
            entries.extend(_entries(place))
        except DialensError as error:
            unreadable[place] = str(error)
    if not entries and not unreadable:
        raise DialensError(f"{folder} holds no model: neither card.json nor folders with one.")
    entries = _with_stand_ins(folder, entries)
    order = (_ENCODER, _TRAIT, _TOPICS, _CLASSIFIER)
    # Ingredients stand below what they are part of.
    entries.sort(
        key=lambda one: (
            order.index(one.kind),
            one.part_of or one.task,
            bool(one.part_of),
            one.task,
            not one.default,
            one.name,
        )
    )
    return Catalogue(tuple(entries), unreadable)


def _model_folders(holder: Path) -> list[Path]:
    """The folders of models in a folder, or the folder itself if it is one."""
    if not holder.is_dir():
        raise DialensError(f"There is no folder {holder}.")
    if (holder / "card.json").exists() or (holder / "config.json").exists():
        return [holder]
    folders = (one for one in holder.iterdir() if one.is_dir())
    return sorted(one for one in folders if not one.name.startswith((".", "_")))


def _with_stand_ins(folder: Path | None, entries: list[CatalogueEntry]) -> list[CatalogueEntry]:
    """The small models as defaults of their tasks, where the larger ones are not installed."""
    encoders = [entry for entry in entries if entry.kind == _ENCODER]
    declared = {entry.task for entry in encoders if entry.default}
    tasks = stand_ins(folder, (entry.task for entry in encoders), declared)
    return [
        replace(entry, name=entry.task, default=True)
        if entry.kind == _ENCODER and entry.task in tasks
        else entry
        for entry in entries
    ]


def verify(folder: Path | None = None) -> list[FileCheck]:
    """Check every file of every model of any kind by its hash.

    Examples:
        >>> {check.problem for check in verify()}
        {None}
    """
    known = catalogue(folder)
    checks = [FileCheck(place, "card.json", problem) for place, problem in known.unreadable.items()]
    seen = set(known.unreadable)
    for entry in known.entries:
        if entry.folder in seen:
            continue
        seen.add(entry.folder)
        if not entry.files and entry.kind != _CLASSIFIER:
            checks.append(FileCheck(entry.folder, "card.json", "the card names no file"))
        for name, sha256 in entry.files.items():
            problem = None
            try:
                check_file(entry.folder / name, sha256)
            except DialensError as error:
                problem = str(error)
            checks.append(FileCheck(entry.folder, name, problem))
    return checks


def _entries(folder: Path) -> Iterator[CatalogueEntry]:
    file = folder / "card.json"
    if not file.is_file() and (folder / "config.json").is_file():
        yield _classifier(folder)
        return
    if not file.is_file():
        raise DialensError(f"{file} is missing: install the package or fetch the model again")
    try:
        card = json.loads(file.read_text("utf-8"))
        if "tasks" in card:
            entries = [_encoder(folder, card, task) for task in card["tasks"]]
        elif "target" in card or _TRAIT_FILE in card.get("files", ()):
            check_trait_card(card, file)
            entries = [_trait(folder, card)]
        else:
            entries = [_topics(folder, card)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DialensError(f"{file} cannot be read ({error!r}): fetch the model again") from error
    yield from entries


def _encoder(folder: Path, card: Mapping[str, Any], task: str) -> CatalogueEntry:
    own: Mapping[str, Any] = card["tasks"][task]
    default = task in card.get("default_for", ())
    training = card.get("training", {})
    shared = _shared(folder, {**card, "command": card.get("command") or training.get("command")})
    return CatalogueEntry(
        name=task if default else f"{task}-{card['name']}",
        kind=_ENCODER,
        task=task,
        default=default,
        reads="context and reply" if own.get("pair") else "a text",
        labels=tuple(own["labels"]),
        figures=_figures(own.get("metrics", {}), own.get("headline")),
        **{
            **shared,
            "research_grade": bool(own.get("research_grade", shared["research_grade"])),
            "intended_use": own.get("intended_use", ""),
            "limits": own.get("limits", ""),
            "part_of": str(own.get("part_of", "")),
        },
    )


def _trait(folder: Path, card: Mapping[str, Any]) -> CatalogueEntry:
    headline = card.get("headline", "r_person")
    return CatalogueEntry(
        name=str(card["target"]),
        kind=_TRAIT,
        task=str(card["target"]),
        default=is_shipped(folder),
        reads="a text" if headline == "r_text" else "a person's texts",
        labels=tuple(card.get("labels", [card["target"]])),
        figures=_figures(card.get("metrics", {}), headline),
        **_shared(folder, card),
    )


def _topics(folder: Path, card: Mapping[str, Any]) -> CatalogueEntry:
    return CatalogueEntry(
        name=str(card["name"]),
        kind=_TOPICS,
        task=str(card.get("task", _TOPICS)),
        default=is_shipped(folder),
        reads="a text",
        labels=tuple(card.get("labels", ())),
        figures=_figures(card.get("metrics", {}), card.get("headline")),
        **_shared(folder, card),
    )


def _classifier(folder: Path) -> CatalogueEntry:
    shared = _shared(folder, {})
    files = (one for one in folder.iterdir() if one.is_file())
    return CatalogueEntry(
        name=folder.resolve().name,
        kind=_CLASSIFIER,
        task=CLASSIFICATION,
        default=False,
        reads="a text, or a pair",
        labels=read_config(folder).labels,
        figures={},
        **{**shared, "size": sum(file.stat().st_size for file in files)},
    )


def _shared(folder: Path, card: Mapping[str, Any]) -> dict[str, Any]:
    files = hashes(card.get("files", {}))
    present = (folder / name for name in files)
    return {
        "folder": folder,
        "size": sum(file.stat().st_size for file in present if file.is_file()),
        "licence": str(card.get("licence") or ""),
        "data": tuple(card.get("data", ())),
        "research_grade": bool(card.get("research_grade", False)),
        "command": str(card.get("command") or ""),
        "seed": card.get("seed"),
        "intended_use": str(card.get("intended_use") or ""),
        "limits": str(card.get("limits") or ""),
        "files": files,
        "card": card,
    }


def _figures(metrics: Mapping[str, Any], headline: str | None) -> dict[str, Estimate]:
    """Return all figures however deep they lie, the headline or the first with interval first."""
    figures = dict(_walk(metrics, ""))
    if headline not in figures:
        headline = next((name for name, one in figures.items() if one.low is not None), None)
    first = {} if headline is None else {headline: figures[headline]}
    return {**first, **figures}


def _walk(metrics: Mapping[str, Any], within: str) -> Iterator[tuple[str, Estimate]]:
    for name, one in metrics.items():
        path = f"{within}, {name}" if within else name
        if isinstance(one, bool | str) or one is None:
            continue
        if isinstance(one, int | float):
            yield path, Estimate(float(one))
        elif isinstance(one, Mapping) and "value" in one:
            if one["value"] is not None:
                yield path, Estimate(one["value"], one.get("low"), one.get("high"), n=one.get("n"))
        elif isinstance(one, Mapping):
            yield from _walk(one, path)
