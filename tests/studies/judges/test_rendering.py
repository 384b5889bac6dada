"""What a judge reads is what stands on a person's page: the same words, in the same order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser

import jsonschema
import numpy as np
import pytest

from dialens.studies import Field, Screen, Study, seen
from dialens.studies.design import texts_of
from dialens.studies.instruments import Instrument, instruments, simulate, validate
from dialens.studies.judges import READ, THOUGHT, allowed_answers, render, screen_schema, unreadable
from dialens.studies.plan import plan
from dialens.studies.templates import TEMPLATES
from dialens.studies.texts import LANGUAGES, Texts
from dialens.testing._instruments import instrument_field
from dialens.web._pages import Pages, arrange
from tests.studies.samples import load_template

CHATS = [name for name in TEMPLATES if load_template(name).design.conversations is not None]
READABLE = [name for name in TEMPLATES if name not in CHATS]
_LEFT_OUT = ("unseen", "actions", "progress-line", "summary", "error", "ranks-points")
_VOID = {"input", "link", "meta", "img", "br", "hr", "progress"}


class _PageWords(HTMLParser):
    """The text that a person reads on a page, without what belongs to the browser.

    That is the line of progress, the button, hints for the keyboard, and the figures to click in
    rankings and matrices, which stand there once a line.
    """

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._grids: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        about = {name: value or "" for name, value in attrs}
        classes = about.get("class", "").split()
        if {"matrix", "ranks"} & set(classes):
            self._grids.append(len(self._open))
        hidden = (
            tag
            in ("head", "script", "style", "select", "button", "nav", "footer", "svg", "progress")
            or bool(set(_LEFT_OUT) & set(classes))
            or "data-keys" in about
            or (bool(self._grids) and "points" in classes)
        )
        self._open.append((tag, hidden))

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        while self._open and self._open.pop()[0] != tag:
            pass
        while self._grids and self._grids[-1] >= len(self._open):
            self._grids.pop()

    def handle_data(self, data: str) -> None:
        inside = any(tag == "main" for tag, _ in self._open)
        if inside and not any(hidden for _, hidden in self._open):
            self.text.append(data)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def page_words(pages: Pages, screen: Screen) -> list[str]:
    """The words of a screen's page as `dialens.web` makes it."""
    page = pages.page(
        "screen",
        screen=screen,
        chat=None,
        settings=None,
        shown=arrange(screen, texts=pages.texts),
        index=0,
        total=9,
        left=screen.deadline_s,
        ticket="",
        key="k",
        given="",
        error="",
        preview="",
    )
    parser = _PageWords()
    parser.feed(bytes(page.body).decode())
    # The title of a study stands above its rating screens, and is a hidden heading on them.
    return words(" ".join(parser.text))


def surplus(read: Sequence[str], page: Sequence[str]) -> list[str]:
    """What is in `read` beside `page`, whose words must be there in their order."""
    left = iter(read)
    more: list[str] = []
    for word in page:
        for other in left:
            if other == word:
                break
            more.append(other)
        else:
            raise AssertionError(
                f"{word!r} of the page is not (there) in what a judge reads: {read}"
            )
    return [*more, *left]


def allowed_surplus(screen: Screen, texts: Texts) -> set[str]:
    """What only judges need: names of questions, values to answer with; and the hidden title."""
    more = [screen.title]
    for field in screen.fields:
        form = instruments()[field.instrument].form(field, texts)
        more += [field.name, *(choice.value for choice in form.choices), "other"]
        more += list(form.attributes.get("statements", {}))
        more += [str(form.attributes.get(end, "")) for end in ("low", "high")]
    for block in screen.body:  # a lone speaker of one letter is left out on the page
        more += [turn["speaker"] for turn in block.get("turns", ())]
    return set(words(" ".join(more)))


def read_screens(study: Study) -> Iterator[Screen]:
    for cell in study.cells:
        yield from (s for s in plan(study, cell, seed=1) if s.kind in READ)


@pytest.mark.parametrize("name", READABLE)
def test_a_judge_reads_the_words_of_the_page(name: str) -> None:
    study = load_template(name)
    pages = Pages(study.design)
    count = 0
    for screen in read_screens(study):
        text = render(seen(screen), pages.texts)
        more = surplus(words(text), page_words(pages, screen))
        assert set(more) <= allowed_surplus(screen, pages.texts), (screen.id, more)
        count += 1
    assert count > 3


@pytest.mark.parametrize("used", instruments().values(), ids=lambda used: used.name)
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_judge_reads_every_instrument(used: Instrument, language: str) -> None:
    texts = Texts.of(language)
    field = instrument_field(used)
    field = replace(field, options={**field.options, "prompt": "How **good** is it?"})
    body = tuple(
        {"kind": "response", "slot": slot, "label": f"Reply {slot}", "text": f"Words of {slot}."}
        for slot in field.targets
    )
    screen = Screen("s", "rating", "Tea", body, (field, replace(field, name="b", required=False)))
    pages = Pages(load_template("likert").design, texts)
    more = surplus(words(render(seen(screen), texts)), page_words(pages, screen))
    assert set(more) <= allowed_surplus(screen, texts), more


def test_numbers_and_the_time_are_said_as_on_the_page() -> None:
    design = load_template("likert").design
    body = ({"kind": "anchor", "label": "Standard", "text": None, "values": [
        {"quality": "Coherence", "value": 12.5}]},)  # fmt: skip
    screen = Screen("s", "rating", "Tee", body, deadline_s=30.0)
    text = render(screen, Texts.of("de"))
    assert "Coherence 12,5" in text
    assert "30" in words(text)
    assert surplus(words(text), page_words(Pages(design, Texts.of("de")), screen)) in ([], ["Tee"])


def test_nothing_of_who_wrote_what_is_read() -> None:
    study = load_template("anchoring2020")
    agents = {one.agent for item in study.items for one in item.candidates}
    assert agents
    for screen in read_screens(study):
        text = render(seen(screen), study.texts)
        assert text == render(screen, study.texts)  # it looks at nothing that `seen` takes away
        assert not any(f" {agent} " in text for agent in agents if len(agent) > 3)


@pytest.mark.parametrize("used", instruments().values(), ids=lambda used: used.name)
def test_the_schema_takes_what_the_instrument_takes(used: Instrument) -> None:
    """Answers of simulated raters, as stored, keep to the schema; listed answers are all taken."""
    texts = Texts.of("en")
    field = replace(instrument_field(used), required=True)
    screen = Screen("s", "rating", "Tea", fields=(field,))
    schema = screen_schema(screen, texts)
    jsonschema.Draft202012Validator.check_schema(schema)
    generator = np.random.default_rng(3)
    for _ in range(20):
        jsonschema.validate({field.name: validate(field, simulate(generator, field))}, schema)
    for answer in allowed_answers(field, texts) or ():
        assert validate(field, answer) is not None
    with_thought = screen_schema(screen, texts, thought=True)
    assert list(with_thought["properties"]) == [THOUGHT, field.name]


def test_pictures_cannot_be_read() -> None:
    shown = {
        "kind": "response",
        "slot": "1",
        "label": "A",
        "text": "",
        "media": [{"type": "audio"}],
    }
    assert unreadable(Screen("s", "rating", "Tea", (shown,))) == "shows an audio"
    assert unreadable(Screen("s", "rating", "Tea", fields=(Field("q", "likert"),))) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_languages_are_read(language: str) -> None:
    study = load_template("best-worst")
    texts = Texts.of(language)
    screen = next(s for s in read_screens(study) if s.kind == "rating")
    page = page_words(Pages(study.design, texts), screen)
    more = surplus(words(render(screen, texts)), page)
    assert set(more) <= allowed_surplus(screen, texts)
    assert texts_of(study.design).language == "en"
