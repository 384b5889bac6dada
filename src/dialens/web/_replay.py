"""What somebody saw, screen by screen, with their answers filled in; nothing can be changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dialens.studies import JSON, Exchange, Screen, filled
from dialens.studies.instruments import OTHER, Form, instrument, own_words
from dialens.studies.store import History, ScreenVisit
from dialens.web._forms import input_name
from dialens.web._markup import without_marks
from dialens.web._pages import Asked, Pages, Shown, arrange
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
        late: Seconds after the screen's deadline, 0 if in time; none without one.
    """

    index: int
    screen: str
    kind: str
    answered_at: datetime
    seconds: float | None
    given: tuple[Given, ...]
    late: float | None = None


@dataclass(frozen=True)
class Replayed:
    """A screen as somebody saw it.

    Attributes:
        index: Its place, from 0.
        total: Screens in all.
        screen: What was on it.
        arranged: The same in the order in which it is read, with the answers.
        visit: What was submitted; none if the screen was not reached or not submitted.
        skipped: Whether the person went on past the screen without seeing it.
        pages: In the language of the person.
    """

    index: int
    total: int
    screen: Screen
    arranged: Shown
    visit: ScreenVisit | None
    skipped: bool
    pages: Pages


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
    answers = {} if visit is None else visit.answers
    arranged = _arranged(own, history, screen, answers, screens[:index])
    skipped = visit is None and any(one.index > index for one in history.visits)
    pages = own.pages_in(history.session.language)
    return Replayed(index, len(screens), screen, arranged, visit, skipped, pages)


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
                    without_marks(asked.form.prompt),
                    _about(asked),
                    _in_words(asked, visit.answers.get(asked.name)),
                )
                for asked in arranged.asked
            )
        result.append(
            Visited(
                visit.index,
                visit.screen,
                visit.kind,
                visit.answered_at,
                visit.seconds,
                given,
                visit.late,
            )
        )
    return tuple(result)


def said(history: History) -> Mapping[str, tuple[Exchange, ...]]:
    """The conversations of an attempt, by the screen on which they were had."""
    talks = dict.fromkeys(exchange.talk for exchange in history.exchanges)
    return {talk: tuple(one for one in history.exchanges if one.talk == talk) for talk in talks}


def entered(name: str, form: Form, value: JSON) -> dict[str, str]:
    """An answer as the inputs of a page hold it: the reverse of reading a form.

    Args:
        name: Of the field.
        form: What was shown.
        value: The answer as it is stored.

    Examples:
        >>> entered("sweet", Form("number", "How sweet?"), 40.0)
        {'a:sweet': '40'}
        >>> entered("taste", Form("order", "Which is best?"), ["green", "black"])
        {'a:taste:green': '1', 'a:taste:black': '2'}
        >>> entered("wrong", Form("check_boxes", "What is wrong?"), ["rude", "other: late"])
        {'a:wrong:rude': '1', 'a:wrong:other': 'late'}
        >>> own = Form("choices", "Your language?", attributes={"other": "Another, namely"})
        >>> entered("language", own, "other: Klingon")
        {'a:language:choice': 'other', 'a:language:other': 'Klingon'}
    """
    if value is None:
        return {}
    if isinstance(value, dict):
        return {input_name(name, str(part)): _plain(one) for part, one in value.items()}
    if isinstance(value, list):
        if form.control == "check_boxes":
            return dict(_ticked(name, one) for one in value)
        ranks = enumerate(value, start=1)
        return {input_name(name, str(thing)): str(rank) for rank, thing in ranks}
    if form.attributes.get("other"):
        words = own_words(value)
        if words is None:
            return {input_name(name, "choice"): _plain(value)}
        return {input_name(name, "choice"): OTHER, input_name(name, OTHER): words}
    return {input_name(name): _plain(value)}


def _ticked(name: str, value: JSON) -> tuple[str, str]:
    words = own_words(value)
    return (
        (input_name(name, str(value)), "1") if words is None else (input_name(name, OTHER), words)
    )


def _arranged(
    site: Site,
    history: History,
    screen: Screen,
    answers: Mapping[str, JSON],
    earlier: Sequence[Screen] = (),
) -> Shown:
    texts = site.pages_in(history.session.language).texts
    given: dict[str, str] = {}
    for field in screen.fields:
        form = instrument(field.instrument).form(field, texts)
        given |= entered(field.name, form, answers.get(field.name))
    return arrange(screen, given, texts=texts, earlier=earlier)


def _about(asked: Asked) -> str:
    label = None if asked.label == asked.form.prompt else asked.label
    return " · ".join(filter(None, (label, asked.slot)))


def _in_words(asked: Asked, value: JSON) -> str | None:
    if value is None:
        return None
    if isinstance(value, dict):
        statements = asked.form.attributes.get("statements", {})
        named = {without_marks(statements.get(part, part)): one for part, one in value.items()}
        return "; ".join(f"{part.rstrip('.')}: {_chosen(asked, v)}" for part, v in named.items())
    if isinstance(value, list):
        return ", ".join(_chosen(asked, one) for one in value)
    return _chosen(asked, value)


def _chosen(asked: Asked, value: JSON) -> str:
    """An answer as the page had it: the words beside it, or what somebody wrote there."""
    words, other = own_words(value), asked.form.attributes.get("other")
    if words is not None and other:
        return f"{other.rstrip(' :…')}: {words}"
    labels = {choice.value: choice.label for choice in asked.form.choices}
    return labels.get(_plain(value)) or _plain(value)


def _plain(value: JSON) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)
