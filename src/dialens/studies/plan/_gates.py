"""The screens that decide who goes on, and what follows from the answers to them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dialens.studies._types import (
    FAILED_COMPREHENSION,
    JSON,
    SCREENED_OUT,
    Answer,
    Field,
    Screen,
)
from dialens.studies.design import Design, question_field, texts_of
from dialens.studies.texts import Texts

_YES, _NO = "yes", "no"
_STATEMENT = "consent_"


@dataclass(frozen=True)
class Verdict:
    """What follows from the answers to a screen.

    Attributes:
        skip: How many of the next screens are for others only.
        outcome: How the participation ends; none if it goes on.
        reason: Which rule ended it, where there are several.
    """

    skip: int = 0
    outcome: str | None = None
    reason: str | None = None


def consent_screen(design: Design, texts: Texts) -> Screen:
    """What participants agree to, with a box for each statement."""
    consent = design.consent
    choices = [
        {"value": _YES, "label": consent_agree(design)},
        {"value": _NO, "label": texts.say("consent_decline")},
    ]
    statements = [
        Field(
            f"{_STATEMENT}{name}",
            "yes_no",
            options={
                "prompt": one.text,
                "tick": True,
                "choices": [
                    {"value": _YES, "label": texts.say("statement_agreed")},
                    {"value": _NO, "label": texts.say("statement_not_agreed")},
                ],
            },
            required=one.required,
        )
        for name, one in consent.statements.items()
    ]
    options = {"prompt": texts.say("consent_question"), "choices": choices}
    return Screen(
        "consent",
        "consent",
        consent_title(design),
        tuple(consent_body(design)),
        (*statements, Field("consent", "yes_no", options=options)),
        state={"consent": consent_version(design)},
    )


def consent_title(design: Design) -> str:
    """What stands above the consent."""
    return design.consent.title or texts_of(design).say("consent_title")


def consent_agree(design: Design) -> str:
    """The sentence that participants agree to."""
    return design.consent.agree or texts_of(design).say("consent_agree")


def consent_body(design: Design) -> list[dict[str, JSON]]:
    """What stands above the boxes of the consent."""
    body: list[dict[str, JSON]] = [{"kind": "text", "text": design.consent.text}]
    if design.consent.warning:
        body.append({"kind": "warning", "text": design.consent.warning})
    if design.contact:
        said = texts_of(design).say("contact_line", contact=design.contact)
        body.append({"kind": "text", "text": said})
    return body


def consent_version(design: Design) -> str:
    """A hash of everything that is agreed to, the same as long as no word changes.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> len(consent_version(Design.model_validate(TEA)))
        16
    """
    words = {"title": consent_title(design), "agree": consent_agree(design)}
    agreed = [design.contact, design.consent.model_dump(mode="json") | words]
    text = json.dumps(agreed, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def consent_answers(screen: Screen, answers: Answer, texts: Texts) -> tuple[Answer, dict[str, str]]:
    """The boxes of a consent, those not ticked as `no`, and what is wrong with them, by field."""
    boxes = [field for field in screen.fields if field.options.get("tick")]
    ticked = {field.name: answers.get(field.name) or _NO for field in boxes}
    wrong = {
        field.name: texts.say("statement_needed")
        for field in boxes
        if field.required and ticked[field.name] != _YES
    }
    return {**answers, **ticked}, wrong


def screening_screens(design: Design, when: str, texts: Texts) -> list[Screen]:
    """The questions that decide who may take part, if they are asked then."""
    asked = design.screening
    if asked is None or asked.when != when:
        return []
    title = asked.title or texts.say("screening_title")
    body = ({"kind": "text", "text": asked.text},) if asked.text else ()
    fields = tuple(question_field(name, question) for name, question in asked.questions.items())
    return [Screen("screening", "screening", title, body, fields)]


def with_comprehension(design: Design, instructions: Screen, texts: Texts) -> list[Screen]:
    """The instructions and the questions about them, as often as they may be answered."""
    asked = design.instructions.comprehension
    if asked is None:
        return [instructions]
    title = asked.title or texts.say("comprehension_title")
    body = ({"kind": "text", "text": asked.text},) if asked.text else ()
    wrong = {"kind": "warning", "text": asked.wrong or texts.say("comprehension_wrong")}
    fields = tuple(
        question_field(name, one.question, {"correct": one.answers})
        for name, one in asked.questions.items()
    )
    screens = []
    for attempt in range(1, asked.tries + 1):
        state = {"try": attempt, "tries": asked.tries}
        again = replace(
            instructions,
            id=f"{instructions.id}-{attempt}",
            body=(wrong, *instructions.body),
            state={"try": attempt},
        )
        name = f"comprehension-{attempt}"
        screens += [
            instructions if attempt == 1 else again,
            Screen(name, "comprehension", title, body, fields, state=state),
        ]
    return screens


def is_repeated(screen: Screen) -> bool:
    """Whether a screen is only for those who answered a comprehension question wrongly.

    Examples:
        >>> is_repeated(Screen("instructions-2", "instructions", "", state={"try": 2}))
        True
    """
    return int(screen.state.get("try") or 1) > 1


def verdict(design: Design, screens: Sequence[Screen], index: int, answers: Answer) -> Verdict:
    """What follows from the answers to a screen, in their stored form."""
    screen = screens[index]
    if screen.kind == "screening":
        return _screened(design, answers)
    if screen.kind != "comprehension":
        return Verdict()
    if understood(screen, answers):
        rest = screens[index + 1 :]
        return Verdict(skip=next((n for n, one in enumerate(rest) if not is_repeated(one)), 0))
    asked = design.instructions.comprehension
    assert asked is not None
    last = screen.state["try"] == screen.state["tries"]
    if last and asked.failing == "screen_out":
        return Verdict(outcome=FAILED_COMPREHENSION)
    return Verdict()


def understood(screen: Screen, answers: Mapping[str, JSON]) -> bool:
    """Whether all comprehension questions of a screen were answered rightly."""
    return all(
        answers.get(field.name) in field.expected["correct"]
        for field in screen.fields
        if field.expected is not None
    )


def _screened(design: Design, answers: Answer) -> Verdict:
    asked = design.screening
    assert asked is not None
    for rule in asked.rules:
        if not rule.holds(asked.questions[rule.question], answers.get(rule.question)):
            return Verdict(outcome=SCREENED_OUT, reason=rule.reason or rule.question)
    return Verdict()
