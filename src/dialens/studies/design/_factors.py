"""The part of a study file that says what is varied, and how."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator
from pydantic import Field as Setting

from dialens.base import did_you_mean
from dialens.corpus import RATINGS
from dialens.studies._kinds import OneOf
from dialens.studies._words import WORDS
from dialens.studies.design._items import Section, as_word
from dialens.studies.instruments import Settings, instruments

ANCHORS = ("none", "numerical", "textual", "both")
LAYOUTS = ("together", "separate", "single")
ORDERS = ("random", "latin_square", "fixed")
RENDERINGS = ("plain", "markdown")
ANCHOR_VALUE, TAG, VARIANT, OWN_ANSWER = "anchor_value", "tag", "variant", "own_answer_first"
PER_RESPONSE = (TAG, VARIANT)
"""Factors whose levels differ between the responses of one screen, counterbalanced over them."""

KNOWN = (
    "anchor", ANCHOR_VALUE, "layout", "scale", "order", "deadline", "render",
    TAG, VARIANT, OWN_ANSWER,
)  # fmt: skip
"""Factors that dialens knows how to present; others say by `note` what is different."""

NOTHING = "none"
"""The level at which no number, or no tag, is shown."""

LANGUAGE = "language"
"""The column that says in which language somebody took part."""

LIST = "list"
"""The factor that `items.lists` makes."""


def _by_kind(value: Any) -> Any:
    return {"kind": as_word(value)} if isinstance(value, str) else value


_AnySettings = Annotated[
    Settings, OneOf(lambda: [known.settings for known in instruments().values()])
]
InstrumentSettings = Annotated[
    _AnySettings, BeforeValidator(_by_kind, json_schema_input_type=str | _AnySettings)
]
"""An instrument by its name, or as a mapping of `kind` and its inputs."""


class Level(Section):
    """One level of a factor."""

    name: str = Setting(pattern=r"^[^,=\s][^,=]*$", max_length=60)
    """What it is called in the data."""
    instrument: InstrumentSettings | None = None
    """Of the factor `scale`: the instrument all qualities are judged with."""
    seconds: float | None = Setting(default=None, gt=0)
    """Of the factor `deadline`: seconds for a screen."""
    value: float | dict[str, float | None] | None = None
    """Of the factor `anchor_value`: the number that is shown, or one for each quality."""
    note: Annotated[str | None, WORDS] = None
    """Of a factor of your own: what participants at this level read on every rating screen. Of
    `tag`: what stands above a response (`{agent}` is its agent's name). Of `anchor_value`: how the
    number is told below each question, in place of the standard's (`Another rater gave
    {value}.`)."""


def _level(value: Any) -> Any:
    if isinstance(value, bool):
        return {"name": "yes" if value else "no"}
    if isinstance(value, int | float):
        return {"name": f"{value:g}s", "seconds": value}
    return {"name": as_word(value)} if isinstance(value, str) or value is None else value


_Level = Annotated[
    Level, BeforeValidator(_level, json_schema_input_type=str | float | None | Level)
]


class Factor(Section):
    """Something that is varied on purpose."""

    levels: list[_Level] = Setting(min_length=2)
    """The levels: names, or mappings with `name` and what belongs to it."""
    assign: Literal["between", "within"] = "between"
    """`between`: a participant sees one level; `within`: all of them, on different items."""
    mix: Literal["blocked", "mixed"] = "blocked"
    """Of a factor within participants: one level after the other, or item by item."""

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [level.name for level in self.levels]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two levels are called {name}")
        return self

    def level(self, name: str) -> Level:
        """The level of that name."""
        return next(level for level in self.levels if level.name == name)


def _factor(value: Any) -> Any:
    return {"levels": value} if isinstance(value, list) else value


_Factors = dict[
    Annotated[str, Setting(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)],
    Annotated[Factor, BeforeValidator(_factor, json_schema_input_type=list[_Level] | Factor)],
]


def _by_name(value: Any) -> Any:
    """Bare numbers of `anchor_value` are numbers, not seconds; tags vary within participants."""
    if not isinstance(value, dict):
        return value
    made = dict(value)
    for name in (ANCHOR_VALUE, *PER_RESPONSE):
        given = _factor(made.get(name))
        if not isinstance(given, dict):
            continue
        if name in PER_RESPONSE:
            given = {"assign": "within", **given}
        elif isinstance(given.get("levels"), list):
            given = {**given, "levels": [_number(level) for level in given["levels"]]}
        made[name] = given
    return made


def _number(level: Any) -> Any:
    if isinstance(level, int | float) and not isinstance(level, bool):
        return {"name": f"{level:g}", "value": level}
    return level


Factors = Annotated[_Factors, BeforeValidator(_by_name, json_schema_input_type=_Factors)]


def factor_problem(name: str, factor: Factor) -> tuple[str, str] | None:
    """What is wrong with the levels of a factor: where within it, and what; None if nothing.

    Examples:
        >>> factor_problem("anchor", Factor(levels=["none", "numeric"]))
        ('levels.1', "'numeric' is no level of anchor. Did you mean numerical? Levels: none, ...
    """
    words = {
        "anchor": ANCHORS, "layout": LAYOUTS, "order": ORDERS, "render": RENDERINGS,
        OWN_ANSWER: ("no", "yes"),
    }  # fmt: skip
    if name == LIST:
        return "", "the name `list` is taken by items.lists"
    if name not in KNOWN and (name in RATINGS or name == LANGUAGE):
        return "", f"`{name}` is a column of the ratings table: give the factor another name"
    if name == "order" and factor.assign == "within":
        return "assign", "order can only vary between participants: they see items in one order"
    if name in PER_RESPONSE and factor.assign == "between":
        return "assign", f"{name} varies between the responses of a screen: leave assign out"
    for place, level in enumerate(factor.levels):
        at = f"levels.{place}"
        if name in words and level.name not in words[name]:
            hint = did_you_mean(level.name, words[name])
            return (
                at,
                f"{level.name!r} is no level of {name}. {hint}Levels: {', '.join(words[name])}.",
            )
        if name == "scale" and level.instrument is None:
            return at, f"{level.name!r} needs an instrument: the scale that is used at this level."
        if level.instrument is not None and instruments()[level.instrument.kind].judges == "none":
            return at, f"{level.instrument.kind} is for questionnaires."
        if name == "deadline" and level.seconds is None and level.name != "none":
            return at, f"{level.name!r} needs seconds, or is `none` or a number of seconds."
        if name == ANCHOR_VALUE and (level.value is None) != (level.name == NOTHING):
            return at, f"{level.name!r} needs a value: the number that is shown (`none` shows none)"
        if name != ANCHOR_VALUE and level.value is not None:
            return f"{at}.value", "is for the factor anchor_value"
        if name == TAG and level.note is None and level.name != NOTHING:
            return (
                at,
                f"{level.name!r} needs a note: what stands above the response (or use `none`)",
            )
        if name not in KNOWN and level.note is None:
            hint = did_you_mean(name, KNOWN)
            return at, (
                f"{level.name!r} of the factor {name} does not say what is different. {hint}"
                f"Give it a note, or use a factor that has a meaning: {', '.join(KNOWN)}."
            )
    return None
