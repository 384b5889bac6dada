"""From screens to HTML: what a template shows of a screen, and the assets of all pages."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from dialens.studies import JSON, Field, Screen
from dialens.studies.instruments import Choice, Form, instrument
from dialens.studies.texts import Texts
from dialens.web._forms import input_name
from dialens.web._root_path import RootedAddresses

ASSETS = {
    "study.css": "text/css; charset=utf-8",
    "participant.js": "text/javascript; charset=utf-8",
    "chat.js": "text/javascript; charset=utf-8",
    "chat.css": "text/css; charset=utf-8",
    "controls.js": "text/javascript; charset=utf-8",
    "researcher.js": "text/javascript; charset=utf-8",
    "mark.svg": "image/svg+xml",
}
"""Everything that can be asked for by name, and what it is."""

_FEW_RANKS = 7
_MARKED = re.compile(r"(?:[-*•–]|\d+[.)])\s")


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
        """Whether only ends and middle of a scale have words, which then need no list."""
        labelled = [place for place, point in enumerate(self.points) if point[2]]
        last = len(self.points) - 1
        return set(labelled) <= {0, last / 2, last}

    def part(self, name: str) -> str:
        """Name of one input of several."""
        return input_name(self.name, name)


@dataclass(frozen=True)
class Shown:
    """A screen, arranged: context first, then each response with its questions, then the rest."""

    before: list[Mapping[str, JSON]] = field(default_factory=list)
    definitions: list[Mapping[str, JSON]] = field(default_factory=list)
    responses: list[tuple[Mapping[str, JSON], list[Asked]]] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)

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
) -> Shown:
    """Put a screen in the order in which it is read.

    Args:
        screen: The screen.
        given: What was entered before, by input.
        wrong: What was wrong with it, by field.

    Examples:
        >>> from dialens.studies import TEA
        >>> from dialens.studies.plan import plan
        >>> from dialens.studies import study_of
        >>> shown = arrange(plan(study_of(TEA), "anchor=both,layout=together", seed=1)[2])
        >>> [len(own) for _, own in shown.responses], len(shown.questions)
        ([2, 2, 2], 0)
    """
    arranged = Shown()
    asked = [
        _asked(question, given or {}, (wrong or {}).get(question.name))
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


def _asked(field: Field, given: Mapping[str, str], error: str | None) -> Asked:
    form = instrument(field.instrument).form(field)
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


class Pages:
    """Renders the pages of a study."""

    def __init__(self, title: str, language: str, *, root: str = "", kiosk: bool = False) -> None:
        """Pages of the study with this title, in this language.

        Args:
            title: Of the study.
            language: As in HTML.
            root: The path that all addresses begin with.
            kiosk: Whether the next person takes part on the same computer.
        """
        self._environment = Environment(
            loader=PackageLoader("dialens.web", "assets"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[RootedAddresses],
        )
        self._environment.globals |= {"asset": lambda name: root + asset_url(name)}
        self._environment.globals |= {"study_title": title, "lang": language}
        self._environment.globals |= {"root": root, "kiosk": kiosk}
        self._environment.globals["next_person"] = Texts.of(language).say("next_person")
        self._environment.filters |= {"paragraphs": paragraphs, "number": number}

    def page(self, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        """A page from its template."""
        content = self._environment.get_template(f"{template}.html.j2").render(**context)
        return HTMLResponse(content, status)


def paragraphs(text: str) -> list[str]:
    r"""Text as it was written in a study file, paragraph by paragraph.

    Lines that were broken to fit an editor are joined; those of a list stay apart.

    Examples:
        >>> paragraphs("One.\n\nTwo,\nstill two.\n- a\n- b\n")
        ['One.', 'Two, still two.\n- a\n- b']
    """
    result = []
    for part in text.split("\n\n"):
        lines = [line.strip() for line in part.splitlines() if line.strip()]
        if lines:
            rest = ["\n" + line if _MARKED.match(line) else " " + line for line in lines[1:]]
            result.append(lines[0] + "".join(rest))
    return result


def number(value: float) -> str:
    """A number as people write it.

    Examples:
        >>> number(100.0), number(0.5), number(1e6)
        ('100', '0.5', '1000000')
    """
    return f"{value:.0f}" if value == int(value) else f"{value:g}"


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
