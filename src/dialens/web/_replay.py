"""What somebody saw, screen by screen, with their answers filled in; nothing can be changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dialens.studies import JSON, Exchange, Field, Screen, filled
from dialens.studies.store import History, ScreenVisit
from dialens.web._forms import input_name
from dialens.web._pages import Asked, Shown, arrange
from dialens.web._site import Site


@dataclass(frozen=True)
class Given:
    """An answer in words.

    Attributes:
        question: What was asked.
        about: The reply or quality that it is about; empty if the question says it all.
        answer: What was answered; none if nothing.
    """

    question: str
    about: str
    answer: str | None


@dataclass(frozen=True)
class Visited:
    """A screen that somebody submitted, to be read.

    Attributes:
        index: Its place, from 0.
        screen: Its id.
        kind: Of the screen.
        answered_at: When.
        seconds: The time it was visible.
        given: What was asked and answered.
    """

    index: int
    screen: str
    kind: str
    answered_at: datetime
    seconds: float | None
    given: tuple[Given, ...]


@dataclass(frozen=True)
class Replayed:
    """A screen as somebody saw it.

    Attributes:
        index: Its place, from 0.
        total: Screens in all.
        screen: What was on it.
        arranged: The same in the order in which it is read, with the answers.
        visit: What was submitted; none if the screen was not reached or not submitted.
    """

    index: int
    total: int
    screen: Screen
    arranged: Shown
    visit: ScreenVisit | None


def site_of(site: Site, history: History) -> Site | None:
    """The site of the version that somebody met; none if this dialens cannot read it."""
    study = history.session.study
    return site if study == site.study.hash else site.versions.get(study)


def replayed(site: Site, history: History, index: int) -> Replayed | None:
    """A screen as somebody saw it; none if their version cannot be read any more."""
    own = site_of(site, history)
    if own is None:
        return None
    screens = own.screens(history.session)[:-1]
    index = min(index, len(screens) - 1)
    screen = filled(screens[index], history.exchanges)
    visit = history.visit(index)
    arranged = _arranged(own, history, screen, {} if visit is None else visit.answers)
    return Replayed(index, len(screens), screen, arranged, visit)


def visited(site: Site, history: History) -> tuple[Visited, ...]:
    """Every screen that was submitted, with questions and answers in words."""
    own = site_of(site, history)
    screens = () if own is None else own.screens(history.session)
    result = []
    for visit in history.visits:
        given = tuple(Given(name, "", _plain(value)) for name, value in visit.answers.items())
        if own is not None and visit.index < len(screens):
            screen = filled(screens[visit.index], history.exchanges)
            arranged = _arranged(own, history, screen, visit.answers)
            given = tuple(
                Given(
                    asked.form.prompt,
                    _about(asked),
                    _in_words(asked, visit.answers.get(asked.name)),
                )
                for asked in arranged.asked
            )
        result.append(
            Visited(visit.index, visit.screen, visit.kind, visit.answered_at, visit.seconds, given)
        )
    return tuple(result)


def said(history: History) -> Mapping[str, tuple[Exchange, ...]]:
    """The conversations of an attempt, by the screen on which they were had."""
    talks = dict.fromkeys(exchange.talk for exchange in history.exchanges)
    return {talk: tuple(one for one in history.exchanges if one.talk == talk) for talk in talks}


def entered(field: Field, value: JSON) -> dict[str, str]:
    """An answer as the inputs of a page hold it: the reverse of reading a form.

    Examples:
        >>> entered(Field("sweet", "magnitude"), 40.0)
        {'a:sweet': '40'}
        >>> entered(Field("taste", "ranking"), ["green", "black"])
        {'a:taste:green': '1', 'a:taste:black': '2'}
    """
    if value is None:
        return {}
    if isinstance(value, dict):
        return {input_name(field.name, str(part)): _plain(one) for part, one in value.items()}
    if isinstance(value, list):
        ranks = enumerate(value, start=1)
        return {input_name(field.name, str(thing)): str(rank) for rank, thing in ranks}
    return {input_name(field.name): _plain(value)}


def _arranged(site: Site, history: History, screen: Screen, answers: Mapping[str, JSON]) -> Shown:
    given: dict[str, str] = {}
    for field in screen.fields:
        given |= entered(field, answers.get(field.name))
    return arrange(screen, given)


def _about(asked: Asked) -> str:
    label = None if asked.label == asked.form.prompt else asked.label
    return " · ".join(filter(None, (label, asked.slot)))


def _in_words(asked: Asked, value: JSON) -> str | None:
    labels = {choice.value: choice.label for choice in asked.form.choices}
    if value is None:
        return None
    if isinstance(value, dict):
        return "; ".join(f"{part}: {labels.get(str(v), _plain(v))}" for part, v in value.items())
    if isinstance(value, list):
        return ", ".join(labels.get(str(one), _plain(one)) for one in value)
    return labels.get(_plain(value), _plain(value))


def _plain(value: JSON) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)
