"""A screen as a judge reads it: the words that stand on a participant's page, in their order.

Nothing is added that a person does not see, and nothing they see is left out: text, conversation,
standard with its numbers, responses, definitions, questions with the words of their scales. Only
pictures and sounds cannot be put in words; a screen with one is not for judges that read
(`unreadable`).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from dialens.studies._types import JSON, Field, Screen
from dialens.studies.instruments import OTHER, Form, instrument
from dialens.studies.texts import Texts

JUDGED = ("rating", "check")
"""Kinds of screens that judges answer; consent, practice and questionnaires are for people."""

READ = ("instructions", *JUDGED)
"""Kinds of screens that judges read."""


def unreadable(screen: Screen) -> str | None:
    """Why a judge that reads cannot answer a screen; none if it can.

    Examples:
        >>> unreadable(Screen("r", "rating", "Tea", ({"kind": "media", "type": "image"},)))
        'shows an image'
    """
    shown = [block for block in screen.body if block["kind"] == "media"]
    shown += [one for block in screen.body for one in block.get("media", ())]
    if shown:
        kind = str(shown[0].get("type", "recording"))
        return f"shows an {kind}" if kind[0] in "aeiou" else f"shows a {kind}"
    return None


def render(screen: Screen, texts: Texts) -> str:
    """What stands on a screen, as text; the same screen always gives the same text.

    Args:
        screen: As a participant sees it (`seen`).
        texts: The words of its language.

    Examples:
        >>> asked = Field(
        ...     "sweet",
        ...     "likert",
        ...     options={
        ...         "prompt": "How sweet?",
        ...         "points": 3,
        ...         "first": 1,
        ...         "labels": {"1": "not at all"},
        ...     },
        ... )
        >>> screen = Screen("r1", "rating", "Tea", ({"kind": "text", "text": "Taste."},), (asked,))
        >>> print(render(screen, Texts.of("en")))
        # Tea
        <BLANKLINE>
        Taste.
        <BLANKLINE>
        [sweet] How sweet?
        1 – not at all
        2
        3
    """
    parts = [f"# {screen.title}"]
    if screen.deadline_s is not None:
        parts.append(f"{texts.say('seconds_left')} {screen.deadline_s:.0f}")
    responses = [block for block in screen.body if block["kind"] == "response"]
    # Definitions have their place among instructions, and one of their own on other screens.
    apart = () if screen.kind == "instructions" else ("definition",)
    first = [block for block in screen.body if block["kind"] not in ("response", *apart)]
    parts += [said for block in first if (said := _block(block, texts))]
    terms = [_block(block, texts) for block in screen.body if block["kind"] in apart]
    if terms:
        parts.append("\n".join([f"{texts.say('definitions')}:", *terms]))
    left = list(screen.fields)
    for block in responses:
        parts.append(_block(block, texts))
        alone = len(responses) == 1
        own = [one for one in left if alone or one.options.get("slot") == block["slot"]]
        parts += [_question(field, texts) for field in own]
        left = [field for field in left if field not in own]
    parts += [_question(field, texts) for field in left]
    return "\n\n".join(parts)


def render_hash(text: str) -> str:
    """By which what a judge read is known again.

    Examples:
        >>> render_hash("# Tea")[:8]
        '19497229'
    """
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _block(block: Mapping[str, JSON], texts: Texts) -> str:
    kind = block["kind"]
    if kind == "text":
        return str(block["text"])
    if kind == "warning":
        return f"{texts.say('please_note')} {block['text']}"
    if kind == "definition":
        return f"{block['term']}: {block['text']}"
    if kind == "dialogue":
        return _talk(block["turns"])
    if kind == "response":
        tag = f"{block['tag']}\n" if block.get("tag") else ""
        return f"{block['label']}:\n{tag}{block['text']}"
    if kind == "anchor":
        return "\n".join(_standard(block, texts))
    if kind == "example":
        verdict = " ".join(str(block[name]) for name in ("verdict", "why") if block.get(name))
        return f"{block['label']}:\n{_talk(block['turns'])}\n{block['response']}\n{verdict}"
    return ""  # lines of practice and codes are on no screen that judges read


def _talk(turns: Sequence[Mapping[str, str]]) -> str:
    return "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in turns)


def _standard(block: Mapping[str, JSON], texts: Texts) -> Iterator[str]:
    yield f"{block['label']}:"
    if block.get("text") is not None:
        yield str(block["text"])
    for value in block.get("values") or ():
        yield f"{value['quality']} {texts.number(value['value'])}"


def _question(field: Field, texts: Texts) -> str:
    form = instrument(field.instrument).form(field, texts)
    optional = "" if field.required else f" {texts.say('optional')}"
    told = [str(one) for one in (form.help, field.options.get("anchor_note")) if one]
    control = list(_control(form, texts))
    below = form.control in _HELP_BELOW
    lines = [*control, *told] if below else [*told, *control]
    return "\n".join([f"[{field.name}] {form.prompt}{optional}", *lines])


_HELP_BELOW = ("number", "slider", "text")
"""Controls under which the page puts the line of help; it stands above the others."""


def _control(form: Form, texts: Texts) -> Iterator[str]:
    data = form.attributes
    if form.control == "slider":
        low, high = (texts.number(data[end]) for end in ("low", "high"))
        yield f"{low} = {data['low_label']}, {high} = {data['high_label']}"
    elif form.control == "best_worst":
        yield f"{data['best_label']} / {data['worst_label']}:"
    elif form.control == "number" and data.get("unit"):
        yield str(data["unit"])
    for choice in form.choices:
        known = choice.label == choice.value or choice.label.startswith(f"{choice.value} ")
        yield choice.label if known else f"{choice.value}: {choice.label}".rstrip(": ")
    for name, statement in data.get("statements", {}).items():
        yield f"{name}: {statement}" if name != statement else str(statement)
    if data.get("other"):
        yield f"{OTHER}: {data['other']}"
