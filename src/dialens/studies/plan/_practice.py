"""Rounds that do not count: lines to be judged by length, and items like the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialens.studies._factors import Condition
from dialens.studies._study import Study
from dialens.studies._types import JSON, Field, Screen
from dialens.studies.design import Design, texts_of
from dialens.studies.plan._ordering import shuffled
from dialens.studies.plan._screens import ScreenMaker, item_screens
from dialens.studies.texts import Texts

STANDARD_LINE = "standard_length"
"""The field that asks for the first line's length, where it has no number yet."""

_WIDEST = 100.0  # what a line's picture is wide


def practice_screens(
    study: Study, maker: ScreenMaker, shown: Condition, qualities: Sequence[str], seed: int
) -> list[Screen]:
    """Lines first, then items; what stands above says that they do not count."""
    design = study.design
    texts = texts_of(design)
    title = texts.say("practice_title")
    screens = _lines(design, shown, texts, title)
    for number, item in enumerate(study.practice, start=1):
        candidates = list(item.candidates)
        if design.items.unit != "turn":
            candidates = shuffled(candidates, study.name, "practice", item.id, seed)
        made = item_screens(
            maker,
            item,
            shown,
            qualities,
            candidates,
            kind="practice",
            prefix=f"practice-{number:02d}",
            order=None,
        )
        screens += [replace(one, title=title) for one in made]
    told = design.practice.text or texts.say("practice_text")
    note: Mapping[str, JSON] = {"kind": "text", "text": told}
    return [
        Screen(s.id, s.kind, s.title, (note, *s.body), s.fields, s.deadline_s, s.state)
        for s in screens
    ]


def _lines(design: Design, shown: Condition, texts: Texts, title: str) -> list[Screen]:
    """Lines to be judged by length, the classic warm-up for magnitude estimation.

    The number of the standard line is only told where participants also see a numerical anchor
    later: otherwise practice itself would anchor them, and they give both lines numbers of their
    own (free modulus). Lines are drawn to one scale, so that their ratios can be seen.
    """
    lengths = design.practice.lines
    if not lengths:
        return []
    drawn = [length * min(1.0, _WIDEST / max(lengths)) for length in lengths]
    modulus = 100.0 if shown.anchor in ("numerical", "both") else None
    label = texts.say("line_first")
    if modulus is not None:
        label = texts.say("line_first_number", number=modulus)
    made = []
    for number, length in enumerate(drawn[1:], start=1):
        body = (
            {"kind": "line", "label": label, "length": drawn[0]},
            {"kind": "line", "label": texts.say("line_second"), "length": length},
        )
        fields = [_line("length", "line_question", modulus, length, texts)]
        if modulus is None:
            fields.insert(0, _line(STANDARD_LINE, "line_first_question", None, drawn[0], texts))
        made.append(Screen(f"line-{number:02d}", "practice", title, body, tuple(fields)))
    return made


def _line(name: str, key: str, modulus: float | None, length: float, texts: Texts) -> Field:
    options: dict[str, JSON] = {
        "modulus": modulus,
        "prompt": texts.say(key),
        "quality_label": texts.say("line_length"),
    }
    if modulus is not None:
        options["anchor_value"] = modulus
    return Field(name, "magnitude", options=options, targets={"1": {"length": length}})
