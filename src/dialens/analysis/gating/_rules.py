"""The language of rules: what a run may not do, in one line each."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NoReturn, cast

from dialens.base import DialensError, did_you_mean, listed
from dialens.metrics import MetricCard, metrics

Kind = Literal["drop", "rise", "change", "below", "above"]

_CHANGES: Final = ("drop", "rise", "change")
_FORMS: Final = (
    "METRIC drop > X",
    "METRIC rise > X",
    "METRIC change > X",
    "METRIC < X",
    "METRIC > X",
)
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<name>[^\W\d][\w.-]*)
    |(?P<agent>\[\s*(?:"[^"]*"|[^\]"]*)\s*\])
    |(?P<sign>[<>]=?)
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<percent>%)
    |(?P<other>\S+)
    )""",
    re.VERBOSE,
)
_KEYS = ("rules", "decide")


@dataclass(frozen=True)
class Rule:
    """One rule; a run that does what it says fails the gate.

    Attributes:
        text: As it was written.
        metric: The metric's name.
        agent: The agent it is about; None for every agent.
        kind: `drop`, `rise` or `change` against the baseline; `below` or `above` for the value.
        limit: How much may be; a share where `relative`, else in the metric's own unit.
        relative: Whether the limit is a share of the baseline's value.
    """

    text: str
    metric: str
    agent: str | None
    kind: Kind
    limit: float
    relative: bool = False

    @property
    def needs_baseline(self) -> bool:
        """Whether it speaks of a change."""
        return self.kind in _CHANGES

    @property
    def limit_text(self) -> str:
        """The limit as one would type it."""
        return f"{100 * self.limit:g} %" if self.relative else f"{self.limit:g}"


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parse_rule(text: str) -> Rule:
    """Read a rule.

    Raises:
        DialensError: It cannot be read; the message points at the word that is wrong.

    Examples:
        >>> rule = parse_rule("engagement[v2] drop > 5%")
        >>> rule.metric, rule.agent, rule.kind, rule.limit, rule.relative
        ('engagement', 'v2', 'drop', 0.05, True)
        >>> parse_rule("toxicity > 0.1").kind
        'above'
        >>> parse_rule("engagement dorp > 0.02")
        Traceback (most recent call last):
        dialens.DialensError: The rule cannot be read:
          engagement dorp > 0.02
                     ^^^^ expected drop, rise, change, < or >. Did you mean drop?
    """
    tokens = _Tokens(text)
    metric = tokens.take("name", "the name of a metric").text
    agent = None
    if (bracket := tokens.maybe("agent")) is not None:
        agent = bracket.text[1:-1].strip().strip('"')
        if not agent:
            tokens.refuse(bracket, "name an agent between the brackets, or leave them out")
    kind, change = _kind(tokens)
    number = tokens.take("number", "a number")
    percent = tokens.maybe("percent") is not None
    if (extra := tokens.maybe()) is not None:
        tokens.refuse(extra, "the rule ends before this; write one rule at a time")
    limit = float(number.text) / (100 if percent else 1)
    if change and limit < 0:
        tokens.refuse(number, "a drop, rise or change is counted from 0 upwards")
    return Rule(" ".join(text.split()), metric, agent, kind, limit, percent and change)


def metrics_of(rules: Sequence[Rule]) -> list[str | MetricCard]:
    """The metrics that rules speak of, each by itself also where its family has the same name.

    Examples:
        >>> [card.name for card in metrics_of([parse_rule("engagement drop > 0.02")])]
        ['engagement']
    """
    cards = metrics()
    names = dict.fromkeys(rule.metric for rule in rules)
    return [cards.get(name, name) for name in names]


def read_rules(path: Path) -> tuple[list[Rule], str | None]:
    """The rules of a TOML file, and how it wants undecided ones to be taken, if it says so.

    The file has ``rules = ["engagement drop > 0.02", ...]`` and may have ``decide = "excluded"``.

    Raises:
        DialensError: It is not there, is no TOML, or holds anything else.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DialensError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DialensError(
            f'{path} is no TOML: {error}. It holds rules = ["engagement drop > 0.02"].'
        ) from error
    for key in content:
        if key not in _KEYS:
            raise DialensError(
                f"{path} has a key {key!r} that means nothing here. "
                f"{did_you_mean(key, _KEYS)}Keys: {listed(_KEYS)}."
            )
    rules = content.get("rules")
    if not isinstance(rules, list) or not rules or not all(isinstance(r, str) for r in rules):
        raise DialensError(
            f'{path} needs a list of texts: rules = ["engagement drop > 0.02", "toxicity > 0.1"].'
        )
    decide = content.get("decide")
    if decide is not None and not isinstance(decide, str):
        raise DialensError(f'{path}: decide is a text, such as decide = "shown".')
    return [_from_file(text, path) for text in rules], decide


def as_rules(rules: str | Rule | Sequence[str | Rule]) -> list[Rule]:
    """Rules, one or several, those given as text read."""
    if isinstance(rules, str | Rule):
        rules = [rules] if rules else []
    if not rules:
        raise DialensError("The gate needs a rule, such as 'engagement drop > 0.02'.")
    return [rule if isinstance(rule, Rule) else parse_rule(rule) for rule in rules]


def _from_file(text: str, path: Path) -> Rule:
    try:
        return parse_rule(text)
    except DialensError as error:
        lines = path.read_text("utf-8").splitlines()
        line = next((n for n, line in enumerate(lines, 1) if text in line), None)
        place = f"{path}, line {line}" if line else f"{path}"
        raise DialensError(f"{place}: {error}") from error


def _kind(tokens: "_Tokens") -> tuple[Kind, bool]:
    """What the rule forbids, and whether that is a change."""
    word = tokens.take(None, "drop, rise, change, < or >")
    if word.kind == "sign":
        tokens.check_sign(word, "<", ">")
        return ("below" if word.text == "<" else "above"), False
    if word.text not in _CHANGES:
        hint = did_you_mean(word.text, _CHANGES).strip()
        tokens.refuse(word, f"expected drop, rise, change, < or >. {hint}".strip())
    sign = tokens.take("sign", "> and a number")
    tokens.check_sign(sign, ">")
    return cast(Kind, word.text), True


class _Tokens:
    """The words of a rule one after the other, and errors that point at one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = _tokens(text)
        self._next: _Token | None = next(self._left, None)

    def maybe(self, kind: str | None = None) -> _Token | None:
        token = self._next
        if token is None or kind not in (None, token.kind):
            return None
        self._next = next(self._left, None)
        return token

    def take(self, kind: str | None, expected: str) -> _Token:
        token = self.maybe(kind)
        if token is None:
            end = len(self._text.rstrip())
            self.refuse(self._next or _Token("end", "", end + 1, end + 2), f"expected {expected}")
        return token

    def check_sign(self, sign: _Token, *allowed: str) -> None:
        if sign.text not in allowed:
            self.refuse(sign, f"expected {' or '.join(allowed)}")

    def refuse(self, token: _Token, why: str) -> NoReturn:
        under = " " * token.start + "^" * (token.end - token.start)
        forms = "" if self._text.strip() else f" Rules: {'; '.join(_FORMS)}."
        raise DialensError(f"The rule cannot be read:\n  {self._text}\n  {under} {why}{forms}")


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        yield _Token(kind, match.group(kind), match.start(kind), match.end(kind))


def about_metric(rule: Rule, known: Mapping[str, Sequence[str]]) -> None:
    """Refuse a rule whose metric is not among those known, or is a family of several.

    Args:
        rule: The rule.
        known: The names of metrics, each with the families that it belongs to.
    """
    if rule.metric in known:
        return
    start = rule.text.index(rule.metric)
    under = " " * start + "^" * len(rule.metric)
    members = [name for name, families in known.items() if rule.metric in families]
    if members:
        why = f"is a family of metrics; name one of {', '.join(members)}"
    else:
        hint = did_you_mean(rule.metric, known)
        why = f"is no metric of this run. {hint}The run has: {', '.join(known)}"
    raise DialensError(f"The rule cannot be used:\n  {rule.text}\n  {under} {why}.")
