"""Settings of a kind of agent: declared once, read from a spec, shown by `dialens agents kinds`."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dialens.agents._agent import AgentSpec, Parameters
from dialens.base import DialensError, did_you_mean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
Value = str | float | int | bool

_LONGEST_IN_NAME = 24
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")


def setting(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    connection: bool = False,
    file: bool = False,
) -> Any:
    """A field of a dataclass of settings.

    Args:
        default: Its value if it is not given; its type is the setting's type, and None stands for
            a number that may be missing.
        meaning: One line.
        low: The least it may be.
        high: The most it may be.
        choices: The words it may be.
        connection: Whether it is about reaching the agent, and says nothing of how it talks; such
            settings do not make another agent.
        file: Whether it may be the path of a file; what is in it makes the agent then, not where
            it lies.
    """
    about = {
        "meaning": meaning,
        "low": low,
        "high": high,
        "choices": choices,
        "connection": connection,
        "file": file,
    }
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class Declared:
    """A setting as it is shown to people."""

    name: str
    default: Value | None
    meaning: str
    connection: bool
    file: bool = False


def declared(settings: type[Any]) -> list[Declared]:
    """The settings of a kind.

    Examples:
        >>> from dialens.agents.kinds import ScriptSettings
        >>> [one.name for one in declared(ScriptSettings)]
        ['repeat', 'delay']
    """
    return [
        Declared(
            one.name,
            None if one.default is MISSING else one.default,
            one.metadata["meaning"],
            one.metadata["connection"],
            one.metadata["file"],
        )
        for one in fields(settings)
    ]


def read_settings(settings: type[T], spec: AgentSpec) -> T:
    """The parameters of a spec as a dataclass of settings; what is wrong is an error that says so.

    Values of settings that do not exist are not repeated in the error: it may have been a key.

    Examples:
        >>> from dialens.agents.kinds import ScriptSettings
        >>> read_settings(ScriptSettings, AgentSpec("script", "x", parameters={"repeat": "no"}))
        ScriptSettings(repeat=False, delay=0.0)
        >>> read_settings(ScriptSettings, AgentSpec("script", "x", parameters={"repaet": "no"}))
        Traceback (most recent call last):
        ...
        dialens.DialensError: script:x: there is no setting 'repaet'. Did you mean ...
    """
    known = {one.name: one for one in fields(settings)}
    values: dict[str, Value] = {}
    for name, value in spec.parameters.items():
        if name not in known:
            raise DialensError(
                f"{spec}: there is no setting {name!r}. {did_you_mean(name, known)}"
                f"Settings: {', '.join(known) or 'none'}."
            )
        values[name] = _checked(spec, name, value, known[name])
    return settings(**values)


def read_open_settings(settings: type[T], spec: AgentSpec) -> tuple[T, dict[str, Value]]:
    """As `read_settings`, but parameters that are no settings are the agent's own, and given back.

    One that looks like a slip in a setting's name is still refused.

    Examples:
        >>> from dialens.agents.kinds import ScriptSettings
        >>> spec = AgentSpec("script", "x", parameters={"delay": 1, "mood": "calm"})
        >>> read_open_settings(ScriptSettings, spec)
        (ScriptSettings(repeat=True, delay=1.0), {'mood': 'calm'})
    """
    known = [one.name for one in fields(settings)]
    own = {
        name: value
        for name, value in spec.parameters.items()
        if name not in known and not did_you_mean(name, known)
    }
    rest = {name: value for name, value in spec.parameters.items() if name not in own}
    return read_settings(settings, replace(spec, parameters=rest)), own


def _checked(spec: AgentSpec, name: str, value: Value, one: Any) -> Value:
    about: Mapping[str, Any] = one.metadata
    read = _typed(value, one.default)
    if read is None:
        wanted = {bool: "yes or no", int: "a whole number", str: "text"}
        what = wanted.get(type(one.default), "a number")
        raise DialensError(f"{spec}: {name} takes {what}; seen: {value!r}.")
    low, high, choices = about["low"], about["high"], about["choices"]
    if choices and read not in choices:
        hint = did_you_mean(str(read), choices)
        raise DialensError(
            f"{spec}: {name} cannot be {read!r}. {hint}It is one of: {', '.join(choices)}."
        )
    if isinstance(read, int | float):
        below, above = low is not None and read < low, high is not None and read > high
        if below or above:
            bounds = f"at least {low:g}" if high is None else f"from {low:g} to {high:g}"
            raise DialensError(f"{spec}: {name} is {bounds}; seen: {value!r}.")
    return read


def _typed(value: Value, default: Value | None) -> Value | None:
    """The value in the type of the default; None where it cannot be."""
    if isinstance(default, bool):
        word = str(value).lower()
        return True if word in _YES else False if word in _NO else None
    if isinstance(default, str):
        return str(value)
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    if number != number or number in (float("inf"), float("-inf")):
        return None
    if isinstance(default, int):
        return int(number) if number == int(number) else None
    return number


def read_value(text: str) -> Value:
    """A value as it is written on the command line.

    Examples:
        >>> read_value("0.7"), read_value("8"), read_value("yes"), read_value("calm, kind")
        (0.7, 8, True, 'calm, kind')
    """
    if text.lower() in (*_YES, *_NO):
        return text.lower() in _YES
    if re.fullmatch(r"[+-]?\d{1,15}", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d{1,3})?", text):
        return float(text)
    return text


def in_file(value: object) -> bool:
    """Whether the value of a setting that may be a file is one, not what would stand in it.

    Examples:
        >>> in_file("tools.yaml"), in_file('{"a": 1}'), in_file("")
        (True, False, False)
    """
    return isinstance(value, str) and bool(value.strip()) and not value.lstrip().startswith("{")


def agent_name(parameters: Parameters, *, without: Collection[str] = ()) -> str:
    """A name made of what was set; long texts are cut short and told apart by a hash.

    Empty if nothing was set; such an agent has the name of its system.

    Examples:
        >>> agent_name({"temperature": 0.7, "top_p": 0.9}), agent_name({})
        ('temperature=0.7,top_p=0.9', '')
        >>> agent_name({"persona": "You are a patient gardener who likes rain."})
        'persona=you-are-a-patient-garden~e024fd'
    """
    parts = [f"{key}={_short(value)}" for key, value in parameters.items() if key not in without]
    return ",".join(parts)


def _short(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        return f"{value:g}"
    plain = re.sub(r"[^\w.-]+", "-", value.lower()).strip("-")
    if len(plain) <= _LONGEST_IN_NAME and plain == value:
        return plain
    mark = hashlib.sha256(value.encode()).hexdigest()[:6]
    return f"{plain[:_LONGEST_IN_NAME]}~{mark}"


@dataclass(frozen=True)
class Named:
    """System, name and parameters of an agent, as its spec and its kind's settings give them."""

    system: str
    name: str
    parameters: Parameters

    @classmethod
    def of(cls, spec: AgentSpec, settings: type[Any] | None = None, *, system: str = "") -> "Named":
        """What an agent is called.

        Args:
            spec: How it was asked for.
            settings: The settings of its kind; those of the connection make no other agent.
            system: What its kind would call the system; the target's last part by default.

        Examples:
            >>> from dialens.agents.kinds import ScriptSettings
            >>> spec = AgentSpec("script", "bots/warm.txt", parameters={"delay": 1.0})
            >>> Named.of(spec, ScriptSettings)
            Named(system='warm', name='warm', parameters={'delay': 1.0})
        """
        known = declared(settings) if settings else []
        hidden = {one.name for one in known if one.connection}
        files = {one.name for one in known if one.file}
        whose = spec.system or system or Path(spec.target).stem or spec.kind
        shown = {
            key: Path(str(value)).stem if key in files and in_file(value) else value
            for key, value in spec.parameters.items()
        }
        name = spec.name or agent_name(shown, without=hidden | spec.common) or whose
        return cls(whose, name, dict(spec.parameters))


def label_of(system: str, name: str) -> str:
    """What an agent is called where there is one word for it.

    Examples:
        >>> label_of("hred", "hred"), label_of("hred", "temperature=1")
        ('hred', 'hred(temperature=1)')
    """
    return system if name == system else f"{system}({name})"
