"""From screens to HTML: what a template shows of a screen, and the assets of all pages."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from dialens.studies import JSON, Field, Screen
from dialens.studies.design import Design, texts_of
from dialens.studies.instruments import Choice, Form, instrument
from dialens.studies.texts import Texts, language_name
from dialens.web._forms import input_name
from dialens.web._markup import inline_markdown, markdown, reply_markdown, without_marks
from dialens.web._root_path import RootedAddresses
from dialens.web._scales import is_long, is_sparse, row_from

ASSETS = {
    "study.css": "text/css; charset=utf-8",
    "dark.css": "text/css; charset=utf-8",
    "scales.css": "text/css; charset=utf-8",
    "paradata.js": "text/javascript; charset=utf-8",
    "draft.js": "text/javascript; charset=utf-8",
    "leave.js": "text/javascript; charset=utf-8",
    "participant.js": "text/javascript; charset=utf-8",
    "chat.js": "text/javascript; charset=utf-8",
    "chat.css": "text/css; charset=utf-8",
    "controls.js": "text/javascript; charset=utf-8",
    "preview.css": "text/css; charset=utf-8",
    "preview.js": "text/javascript; charset=utf-8",
    "schema_form.js": "text/javascript; charset=utf-8",
    "editor.js": "text/javascript; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "dashboard.css": "text/css; charset=utf-8",
    "mark.svg": "image/svg+xml",
}
"""Everything that can be asked for by name, and what it is."""

LOST = "advice_lost"
"""What to do for who followed an address that leads nowhere: a key of the catalogue."""

_FEW_RANKS = 7


@dataclass(frozen=True)
class Asked:
    """A field as a template needs it. What attentive people answer is not in it.

    Attributes:
        name: Of the field.
        input: Name of its inputs.
        form: What to show.
        points: Number and words of the points of a scale; none for other instruments.
        slot: The response it is about, where there are several.
        label: Of the quality, where there is one.
        required: Whether it may be left out.
        given: What was entered before, by input.
        error: What is wrong with that.
    """

    name: str
    input: str
    form: Form
    points: tuple[tuple[str, str, str], ...]
    slot: str | None
    label: str | None
    required: bool
    given: Mapping[str, str]
    error: str | None

    @property
    def id(self) -> str:
        """For the element's id: whatever the name holds, only letters and digits."""
        return "q" + hashlib.sha256(self.name.encode()).hexdigest()[:10]

    @property
    def few_ranks(self) -> bool:
        """Whether ranks fit side by side."""
        return len(self.form.choices) <= _FEW_RANKS

    @property
    def sparse(self) -> bool:
        """Whether only ends and middle of a scale have words."""
        return is_sparse(self._words)

    @property
    def long(self) -> bool:
        """Whether a scale wants the whole width of the page."""
        return bool(self.points) and is_long(self._words)

    @property
    def row_from(self) -> int | None:
        """From which width on, in rem, the points of a scale stand in a row."""
        return row_from(self._words)

    @property
    def _words(self) -> list[str]:
        return [words for _, _, words in self.points]

    def part(self, name: str) -> str:
        """Name of one input of several."""
        return input_name(self.name, name)


@dataclass(frozen=True)
class Shown:
    """A screen, arranged: context first, then each response with its questions, then the rest.

    Attributes:
        before: The context.
        definitions: Of what is asked.
        folded: Whether they stood on an earlier screen, and are shown when asked for.
        responses: Each with its questions.
        questions: The others.
        as_it_comes: Whether a reply of the participant's own conversation is judged as it comes.
    """

    before: list[Mapping[str, JSON]] = field(default_factory=list)
    definitions: list[Mapping[str, JSON]] = field(default_factory=list)
    folded: bool = False
    responses: list[tuple[Mapping[str, JSON], list[Asked]]] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)
    as_it_comes: bool = False

    @property
    def asked(self) -> list[Asked]:
        """All questions in the order of the page."""
        return [question for _, own in self.responses for question in own] + self.questions

    @property
    def compared(self) -> bool:
        """Whether responses are judged against each other."""
        return len(self.responses) > 1 and not any(own for _, own in self.responses)


def arrange(
    screen: Screen,
    given: Mapping[str, str] | None = None,
    wrong: Mapping[str, str] | None = None,
    *,
    texts: Texts,
    earlier: Sequence[Screen] = (),
) -> Shown:
    """Put a screen in the order in which it is read.

    Args:
        screen: The screen.
        given: What was entered before, by input.
        wrong: What was wrong with it, by field.
        texts: In the language of the page.
        earlier: The screens before it.

    Examples:
        >>> from dialens.studies import TEA
        >>> from dialens.studies.plan import plan
        >>> from dialens.studies import study_of
        >>> screen = plan(study_of(TEA), "anchor=both,layout=together", seed=1)[2]
        >>> shown = arrange(screen, texts=Texts.of("en"))
        >>> [len(own) for _, own in shown.responses], len(shown.questions)
        ([2, 2, 2], 0)
    """
    read = {
        block["term"]
        for one in earlier
        if one.kind != "instructions"
        for block in one.body
        if block["kind"] == "definition"
    }
    arranged = Shown(
        folded=all(block["term"] in read for block in screen.body if block["kind"] == "definition"),
        as_it_comes=bool(screen.state.get("as_it_comes")),
    )
    asked = [
        _asked(question, given or {}, (wrong or {}).get(question.name), texts)
        for question in screen.fields
    ]
    on_screen = [block for block in screen.body if block["kind"] == "response"]
    alone = len(on_screen) == 1
    for block in screen.body:
        if block["kind"] == "definition" and screen.kind != "instructions":
            arranged.definitions.append(block)
        elif block["kind"] == "response":
            own = [question for question in asked if alone or question.slot == block["slot"]]
            arranged.responses.append((block, own))
        else:
            arranged.before.append(block)
    taken = {question.name for _, own in arranged.responses for question in own}
    arranged.questions.extend(question for question in asked if question.name not in taken)
    return arranged


def _asked(field: Field, given: Mapping[str, str], error: str | None, texts: Texts) -> Asked:
    form = instrument(field.instrument).form(field, texts)
    if "anchor_note" in field.options:
        form = replace(form, help=f"{form.help} {field.options['anchor_note']}".strip())
    slot, label = field.options.get("slot"), field.options.get("quality_label")
    return Asked(
        field.name,
        input_name(field.name),
        form,
        _points(field, form.choices),
        None if slot is None else str(slot),
        None if label is None else str(label),
        field.required,
        given,
        error,
    )


def _points(field: Field, choices: Sequence[Choice]) -> tuple[tuple[str, str, str], ...]:
    if field.instrument != "likert":
        return ()
    labels = field.options.get("labels", {})
    return tuple((choice.value, choice.value, labels.get(choice.value, "")) for choice in choices)


class Templates:
    """Renders templates, with texts around them."""

    def __init__(
        self, texts: Texts, *, root: str = "", kiosk: bool = False, title: str = ""
    ) -> None:
        """Say what is not a study's own by these texts.

        Args:
            texts: In the language of the pages.
            root: The path that all addresses begin with.
            kiosk: Whether the next person takes part on the same computer.
            title: Of what the pages are about.
        """
        self.texts = texts
        self._environment = Environment(
            loader=PackageLoader("dialens.web", "assets"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[RootedAddresses],
        )
        self._environment.globals |= {
            "asset": lambda name: root + asset_url(name),
            "media_url": lambda name: root + media_url(name),
            "root": root,
            "kiosk": kiosk,
            "lang": texts.language,
            "direction": texts.direction,
            "say": texts.say,
            "language_name": language_name,
            "menu": None,
            "study_title": title,
            "theme": None,
            "contact": None,
        }
        self._environment.filters |= {
            "number": texts.number,
            "markdown": markdown,
            "inline_markdown": inline_markdown,
            "reply_markdown": reply_markdown,
            "without_marks": without_marks,
        }

    def page(self, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        """A page from its template."""
        return HTMLResponse(self.part(template, **context), status)

    def part(self, template: str, **context: Any) -> Markup:
        """What a template makes, to be sent or to stand in a page with other texts around it."""
        return Markup(self._environment.get_template(f"{template}.html.j2").render(**context))

    def sorry(
        self, title: str, message: str, status: int = 200, *, advice: str = ""
    ) -> HTMLResponse:
        """A page that says why it is not the one expected, what to do, and whom to write to.

        Args:
            title: The heading.
            message: What happened.
            status: Of HTTP.
            advice: What to do: a key of the catalogue.
        """
        told = self.texts.say(advice) if advice else ""
        return self.page(
            "sorry", status, title=title, message=message, advice=told, lost=advice == LOST
        )


class Pages(Templates):
    """Renders the pages of a study in one language."""

    def __init__(
        self, design: Design, texts: Texts | None = None, *, root: str = "", kiosk: bool = False
    ) -> None:
        """Pages of a study, in its language or with other texts around its own words.

        Args:
            design: The study.
            texts: Other texts than those in its language.
            root: The path that all addresses begin with.
            kiosk: Whether the next person takes part on the same computer.
        """
        own = texts_of(design) if texts is None else texts
        super().__init__(own, root=root, kiosk=kiosk, title=design.title)
        self._environment.globals |= {
            "theme": design.presentation.theme,
            "sticky": design.presentation.sticky,
            "contact": design.contact,
        }


def media_url(name: str) -> str:
    """Where a picture, sound or film of an item is found."""
    return f"/media/{name}"


@cache
def asset(name: str) -> bytes:
    """The content of an asset."""
    assert name in ASSETS
    return (files("dialens.web") / "assets" / name).read_bytes()


@cache
def asset_url(name: str) -> str:
    """Where an asset is found; changes with its content, so that browsers may keep it.

    Examples:
        >>> asset_url("study.css").startswith("/assets/study.css?v=")
        True
    """
    return f"/assets/{name}?v={hashlib.sha256(asset(name)).hexdigest()[:12]}"
