"""A study in a further language: the same study, with the words of a file beside the study file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dialens.base import DialensError, did_you_mean, read_yaml, validated
from dialens.studies._types import JSON
from dialens.studies._words import words_mark
from dialens.studies.design import Design

_MOST = 8
_Place = tuple[str | int, ...]


def translation_file(folder: Path, stem: str, language: str) -> Path:
    """Where the words of a language stand.

    Examples:
        >>> translation_file(Path("tea"), "study", "de").name
        'study.de.yaml'
    """
    return folder / f"{stem}.{language}.yaml"


def translated(design: Design, language: str, file: Path) -> Design:
    """The design in another language.

    The file has the words at the same places as the study file; whatever else stands there has to
    be the same. Words that the study file gives and the translation lacks are an error: nobody
    should meet a page in two languages.

    Args:
        design: The design in the study's own language.
        language: Of the translation.
        file: Where it stands.
    """
    if not file.is_file():
        raise DialensError(
            f"{file} does not exist: the words of {language!r}, one of the study's `languages`, "
            "stand there, at the same places as in the study file."
        )
    data, lines = read_yaml(file)
    if not isinstance(data, dict):
        raise DialensError(f"{file}:1: keys and values are expected here, like `title: …`.")
    merging = _Merging(file, lines)
    own = design.model_dump(mode="json", exclude_unset=True)
    texts = data.pop("texts", {})
    merged = merging.merged(design, own, data, ())
    merging.stop()
    result = validated(Design, {**merged, "language": language, "texts": texts}, lines, file)
    merging.compare(design, result, data, ())
    merging.stop()
    return result


@dataclass
class _Merging:
    """Lays a translation over a design, and notes what does not fit."""

    file: Path
    lines: Mapping[_Place, int]
    problems: list[tuple[int, str]] = field(default_factory=list)

    def stop(self) -> None:
        """Say what is wrong, if anything is."""
        if not self.problems:
            return
        told = [f"{self.file}:{line}: {said}" for line, said in sorted(self.problems)]
        if len(told) > _MOST:
            told = [*told[:_MOST], f"… and {len(told) - _MOST} more."]
        raise DialensError("\n".join(told))

    def _wrong(self, at: _Place, said: str) -> None:
        known = at
        while known and tuple(known) not in self.lines:
            known = known[:-1]
        line = self.lines.get(tuple(known), 1)
        self.problems.append((line, f"{'.'.join(map(str, at))}: {said}"))

    def merged(self, model: BaseModel, own: dict[str, JSON], given: Any, at: _Place) -> Any:
        """The settings of a section, with the words that are given in place of its own."""
        given = _written_out(model, given)
        if not isinstance(given, dict):
            self._wrong(at, "keys and values are expected here, as in the study file")
            return own
        result = dict(own)
        for key, value in given.items():
            name, place = str(key), (*at, str(key))
            fields = type(model).model_fields
            if name not in fields:
                self._wrong(place, f"there is no such key. {did_you_mean(name, fields)}".rstrip())
            elif words_mark(type(model), name) is not None:
                result[name] = value
            else:
                merged = self._below(getattr(model, name), own.get(name), value, place)
                if merged is not None:
                    result[name] = merged
        return result

    def _below(self, value: Any, own: JSON, given: Any, at: _Place) -> JSON:
        if isinstance(value, BaseModel):
            return self.merged(value, own or {}, given, at)
        if _holds_models(value) and isinstance(value, Mapping):
            return self._by_key(value, own, given, at)
        if _holds_models(value):
            if not isinstance(given, list) or len(given) != len(value):
                self._wrong(at, f"the study file has {len(value)} of them, in this order")
                return own
            return [
                self.merged(one, own[place], given[place], (*at, place))
                for place, one in enumerate(value)
            ]
        if given not in (value, own):
            self._wrong(at, "is the same in all languages; only what participants read differs")
        return own

    def _by_key(self, value: Mapping[str, Any], own: Any, given: Any, at: _Place) -> JSON:
        if not isinstance(given, dict):
            self._wrong(at, "keys and values are expected here, as in the study file")
            return own
        result = dict(own or {})
        for key, below in given.items():
            if key not in value:
                hint = did_you_mean(str(key), [str(name) for name in value])
                self._wrong((*at, str(key)), f"the study file has no such key. {hint}".rstrip())
            else:
                result[key] = self.merged(value[key], own[key], below, (*at, str(key)))
        return result

    def compare(self, before: Any, after: Any, given: Any, at: _Place) -> None:
        """Note words that are missing, and lists and choices that are not the same ones."""
        if isinstance(before, BaseModel):
            given = _written_out(before, given)
            own = given if isinstance(given, dict) else {}
            for name in type(before).model_fields:
                if not at and name == "texts":
                    continue
                pair = getattr(before, name), getattr(after, name)
                mark = words_mark(type(before), name)
                if mark is None:
                    self.compare(*pair, own.get(name), (*at, name))
                elif name in own:
                    self._same_shape(*pair, (*at, name))
                elif not mark.optional and (mark.always or pair[0]):
                    self._wrong((*at, name), "is not translated")
        elif _holds_models(before) and isinstance(before, Mapping):
            for key, value in before.items():
                raw = given.get(key) if isinstance(given, dict) else None
                self.compare(value, after[key], raw, (*at, key))
        elif _holds_models(before):
            for place, value in enumerate(before):
                raw = given[place] if isinstance(given, list) else None
                self.compare(value, after[place], raw, (*at, place))

    def _same_shape(self, before: Any, after: Any, at: _Place) -> None:
        if isinstance(before, Mapping) and before:
            for key in before.keys() - after.keys():
                self._wrong((*at, str(key)), "is not translated")
            for key in after.keys() - before.keys():
                self._wrong((*at, str(key)), "the study file has no such key")
        elif isinstance(before, list) and len(before) != len(after):
            self._wrong(at, f"the study file has {len(before)} of them, here are {len(after)}")


def _written_out(model: BaseModel, given: Any) -> Any:
    """A section in full where only its text is given, as for a statement of the consent."""
    written = isinstance(given, str) and "text" in type(model).model_fields
    return {"text": given} if written else given


def _holds_models(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(isinstance(one, BaseModel) for one in value.values())
    return isinstance(value, Sequence) and any(isinstance(one, BaseModel) for one in value)
