"""A page of a study as a program sees it: what stands on it, and the form to be sent.

Everything is read from the HTML that a browser would get. What the study file says is used for
what a page cannot tell: which instrument stands behind a box for a number.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

from dialens.base import DialensError
from dialens.studies._types import JSON, SCREEN_KINDS, Answer, Field, Screen
from dialens.studies.design import Design, Question, question_field
from dialens.studies.instruments import instrument

_VOID = (
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "wbr",
)

_NEXT = {"ready": "say", "failed": "again", "waiting": "follow"}
"""What to do next in a conversation, by its state."""


@dataclass
class Node:
    """An element of a page."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Node | str"] = field(default_factory=list)

    def all(self, wanted: Callable[["Node"], bool]) -> Iterator["Node"]:
        """Elements below this one, in the order of the page."""
        for child in self.children:
            if isinstance(child, Node):
                if wanted(child):
                    yield child
                yield from child.all(wanted)

    def tagged(self, tag: str, kind: str = "") -> Iterator["Node"]:
        """Elements of a tag, and of a class if one is named."""
        return self.all(
            lambda node: node.tag == tag and (not kind or kind in node.get("class").split())
        )

    def get(self, name: str) -> str:
        """An attribute; empty if it is not there."""
        return self.attributes.get(name, "")

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(c if isinstance(c, str) else c.text for c in self.children)


class _Reader(HTMLParser):
    """Builds the tree."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("page")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in _VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)

    def handle_endtag(self, tag: str) -> None:
        tags = [node.tag for node in self._open]
        if tag in tags[1:]:
            del self._open[len(tags) - 1 - tags[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def read_page(html: str) -> Node:
    """The elements of a page.

    Examples:
        >>> page = read_page("<p>Tea &amp; <b>milk</b><br>?</p>")
        >>> next(page.tagged("p")).text
        'Tea & milk?'
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.root


@dataclass(frozen=True)
class PageForm:
    """The form of a page.

    Attributes:
        action: Where it is sent.
        hidden: What the page itself puts in, by name.
        inputs: Names of inputs by the field they belong to.
        screen: What stands on the page; none if it is no screen of a study.
    """

    action: str
    hidden: Mapping[str, str]
    inputs: Mapping[str, tuple[str, ...]]
    screen: Screen | None

    def filled(self, answers: Answer) -> dict[str, str]:
        """The form with answers, as a browser would send it."""
        sent = dict(self.hidden)
        for name, value in answers.items():
            if value is None:
                continue
            for key, part in _parts(value):
                for found in self.inputs.get(name, ()):
                    if key is None or found.endswith(f":{key}"):
                        sent[found] = part
        return sent


def form_of(page: Node, design: Design) -> PageForm | None:
    """The form of a page; none if it has none.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> design = Design.model_validate(TEA)
        >>> form = form_of(
        ...     read_page(
        ...         '<main class="page consent"><form action="/study" data-screen="consent">'
        ...         '<input type=hidden name=screen value=consent><fieldset data-field="consent">'
        ...         '<input type=radio name="a:consent" value=yes></fieldset></form></main>'
        ...     ),
        ...     design,
        ... )
        >>> form.screen.id, form.filled({"consent": "yes"})
        ('consent', {'screen': 'consent', 'a:consent': 'yes'})
    """
    form = next(page.tagged("form"), None)
    if form is None:
        return None
    hidden = {
        node.get("name"): node.get("value")
        for node in form.tagged("input")
        if node.get("type") == "hidden"
    }
    if "data-chat" in form.attributes:
        hidden["do"] = _NEXT[form.get("data-state")]
        return PageForm(form.get("action"), hidden, {}, Screen(form.get("data-chat"), "chat", ""))
    boxes = list(form.all(lambda node: "data-field" in node.attributes))
    inputs = {box.get("data-field"): _names(box) for box in boxes}
    screen = _screen(page, form, boxes, design) if "data-screen" in form.attributes else None
    return PageForm(form.get("action"), hidden, inputs, screen)


def _parts(value: JSON) -> list[tuple[str | None, str]]:
    """An answer as the inputs of a form: one, one a part, or a rank for each thing."""
    if isinstance(value, Mapping):
        return [(part, str(one)) for part, one in value.items()]
    if isinstance(value, list):
        return [(str(thing), str(rank)) for rank, thing in enumerate(value, start=1)]
    return [(None, str(value))]


def _names(box: Node) -> tuple[str, ...]:
    found = box.all(lambda node: node.tag in ("input", "select", "textarea"))
    return tuple(dict.fromkeys(node.get("name") for node in found if node.get("name")))


def _screen(page: Node, form: Node, boxes: list[Node], design: Design) -> Screen:
    main = next(page.tagged("main"), page)
    kind = next((k for k in main.get("class").split() if k in SCREEN_KINDS), "questions")
    values = _moduli(form)
    responses = list(form.tagged("section", "response"))
    slots = [_slot(section, place) for place, section in enumerate(responses, start=1)]
    fields = tuple(_field(box, design, kind, values, slots) for box in boxes)
    left = form.get("data-left")
    return Screen(
        form.get("data-screen"),
        kind,
        "",
        tuple(_blocks(form, responses, slots)),
        fields,
        float(left) if left else None,
    )


def _blocks(form: Node, responses: list[Node], slots: list[str]) -> Iterator[Mapping[str, JSON]]:
    for text in form.tagged("p", "prose"):
        yield {"kind": "text", "text": text.text}
    for talk in form.tagged("ol", "talk"):
        turns = [{"speaker": "", "text": _bubble(turn)} for turn in talk.tagged("li")]
        yield {"kind": "dialogue", "turns": turns}
    for standard in form.tagged("section", "standard"):
        yield {"kind": "anchor", "text": _bubble(standard) or None}
    for line in form.tagged("figure", "line"):
        yield {"kind": "line", "length": float(next(line.tagged("rect")).get("width"))}
    for slot, section in zip(slots, responses, strict=True):
        yield {"kind": "response", "slot": slot, "text": _bubble(section)}


def _bubble(node: Node) -> str:
    return next((found.text for found in node.tagged("div", "bubble")), "")


def _slot(section: Node, place: int) -> str:
    """A response's number: that of the questions below it, or its place on the page."""
    for box in section.all(lambda node: "data-field" in node.attributes):
        _, dash, slot = box.get("data-field").rpartition("-")
        if dash and slot.isdigit():
            return slot
    return str(place)


def _moduli(form: Node) -> dict[str, float]:
    """The numbers that stand for the standard, by the words for the quality."""
    found = {}
    for standard in form.tagged("section", "standard"):
        for line in standard.tagged("li"):
            label, value = next(line.tagged("span"), None), next(line.tagged("b"), None)
            if label is not None and value is not None:
                found[label.text] = float(value.text)
    return found


def _field(
    box: Node, design: Design, kind: str, values: Mapping[str, float], slots: list[str]
) -> Field:
    name = box.get("data-field")
    if kind == "consent":
        return Field(name, "yes_no")
    question = _questions(design).get(name)
    if question is not None and kind in ("questions", "check"):
        return question_field(name, question)
    if name == "length" and kind == "practice":
        # Of the lines, as long as it is compared with a hundred or with one's own first number.
        return Field(name, "magnitude", options={"modulus": 100.0}, targets={"1": {}})
    quality, dash, slot = name.rpartition("-")
    if not dash or quality not in design.qualities:
        quality, slot = name, ""
    if quality not in design.qualities:
        raise DialensError(
            f"The page asks for {name!r}, which the study file does not know. Does the server run "
            "the same study?"
        )
    declared = design.qualities[quality]
    options: dict[str, JSON] = {"prompt": ""}
    label = declared.label or quality.replace("_", " ").capitalize()
    if label in values:
        options["anchor_value"] = values[label]
    if not slot:
        options["choices"] = [{"value": one, "label": one} for one in slots]
    targets: dict[str, Mapping[str, JSON]] = {one: {} for one in ([slot] if slot else slots)}
    used = [declared.instrument]
    if "scale" in design.factors:
        levels = design.factors["scale"].levels
        used = [level.instrument for level in levels if level.instrument is not None]
    for settings in used:
        tool = instrument(settings.kind)
        made = Field(
            name, tool.name, quality, None, None, {**options, **tool.options(settings)},
            declared.required, targets,
        )  # fmt: skip
        if _fits(box, made):
            return made
    raise DialensError(f"The page asks for {name!r} in a way the study file does not know.")


def _fits(box: Node, made: Field) -> bool:
    """Whether a box on the page is what an instrument would put there."""
    form = instrument(made.instrument).form(made)
    if form.control != box.get("data-control"):
        return False
    if form.control != "choices":
        return True
    there = {node.get("value") for node in box.tagged("input")}
    return there == {choice.value for choice in form.choices}


def _questions(design: Design) -> dict[str, Question]:
    asked = design.questionnaires
    found = {
        name: question
        for part in (*asked.before, *asked.after)
        for name, question in part.questions.items()
    }
    return found | {name: check.question for name, check in design.checks.attention.items()}
