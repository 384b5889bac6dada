"""Scenarios: who a simulated user is, what they want, and when they stop; packs of them."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic import Field as Setting

from dialens.base import DialensError, did_you_mean, read_yaml, validated

SHIPPED = Path(__file__).parent / "packs"
"""The folder of the packs that ship."""


@dataclass(frozen=True)
class Scenario:
    """One person with one reason to talk.

    Attributes:
        name: Of the scenario, within its pack.
        user: What the person is called.
        persona: Who they are, in a sentence or two.
        goal: What they want; goes on after "wants".
        mood: How they feel.
        knowledge: What they know and the agent does not.
        style: How they write.
        opening: Their first words; found by the model if there are none.
        turns: The most turns of theirs.
        patience: Replies they listen to; then they say so and leave.
        satisfied_by: Words of the agent by which the goal is reached.
        leaves_on: Words of their own after which they are gone.
    """

    name: str
    user: str
    persona: str
    goal: str
    mood: str = ""
    knowledge: tuple[str, ...] = ()
    style: str = ""
    opening: str = ""
    turns: int | None = None
    patience: int | None = None
    satisfied_by: tuple[str, ...] = ()
    leaves_on: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Everything about it that can change a conversation."""
        return msgspec.json.encode(self).decode()


@dataclass(frozen=True)
class Pack:
    """Scenarios that belong together.

    Attributes:
        name: Of the pack.
        about: One line.
        scenarios: In the order in which dialogues take them.
    """

    name: str
    about: str
    scenarios: tuple[Scenario, ...]


class _Section(BaseModel):
    """A part of the file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Text = Annotated[str, Setting(min_length=1, max_length=2_000)]
_Texts = Annotated[list[_Text], BeforeValidator(_as_list)]


class _Entry(_Section):
    """A scenario as it is written."""

    name: str = Setting(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)
    user: str = Setting(pattern=r"^[^:\[\]\n]+$", max_length=60)
    persona: _Text
    goal: _Text
    mood: str = Setting(default="", max_length=500)
    knowledge: _Texts = Setting(default_factory=list)
    style: str = Setting(default="", max_length=500)
    opening: str = Setting(default="", max_length=2_000)
    turns: int | None = Setting(default=None, ge=1, le=1_000)
    patience: int | None = Setting(default=None, ge=1, le=1_000)
    satisfied_by: _Texts = Setting(default_factory=list)
    leaves_on: _Texts = Setting(default_factory=list)


class _PackFile(_Section):
    """A file of scenarios."""

    pack: str = Setting(default="", max_length=60)
    about: str = Setting(default="", max_length=500)
    scenarios: list[_Entry] = Setting(min_length=1)

    @model_validator(mode="after")
    def _are_told_apart(self) -> "_PackFile":
        name, times = Counter(one.name for one in self.scenarios).most_common(1)[0]
        if times > 1:
            raise ValueError(f"{times} scenarios are called {name!r}: give each a name of its own")
        return self


def read_pack(place: str | Path) -> Pack:
    r"""Scenarios that ship, by the pack's name, or those of a file; errors name the line.

    Examples:
        >>> read_pack("complaint").scenarios[0].user
        'Amina'
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "mine.yaml"
        >>> _ = path.write_text("scenarios:\n- name: rain\n  user: Ann\n  persona: A sailor.\n")
        >>> read_pack(path)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        ...
        dialens.base._yaml_models.InvalidFile: ...mine.yaml:2: scenarios.1.goal: is missing. ...
    """
    path = Path(place)
    if str(place) in shipped_packs():
        path = SHIPPED / f"{place}.yaml"
    elif not path.exists():
        raise DialensError(
            f"There are no scenarios {str(place)!r}: neither a file nor a pack that ships. "
            f"{did_you_mean(str(place), shipped_packs())}Packs: {', '.join(shipped_packs())}."
        )
    return _read(path.absolute())


@cache
def _read(path: Path) -> Pack:
    data, lines = read_yaml(path)
    read = validated(_PackFile, data, lines, path)
    scenarios = tuple(msgspec.convert(_tidied(entry), Scenario) for entry in read.scenarios)
    return Pack(read.pack or path.stem, _in_one_line(read.about), scenarios)


def _tidied(entry: _Entry) -> dict[str, Any]:
    return {
        name: _in_one_line(value) if isinstance(value, str) else value
        for name, value in entry.model_dump().items()
    }


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def shipped_packs() -> tuple[str, ...]:
    """The names of the packs that ship.

    Examples:
        >>> shipped_packs()
        ('adversarial', 'complaint', 'emotional_support', 'everyday', 'small_talk')
    """
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))
