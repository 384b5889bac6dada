"""From an item and a condition to the screens that ask about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialens.studies._factors import Condition
from dialens.studies._items import Candidate, Item, Utterance
from dialens.studies._study import quality_label
from dialens.studies._types import JSON, LOWER, Field, Screen
from dialens.studies.design import Design, anchor_value, texts_of
from dialens.studies.instruments import FreeTextSettings, instrument

_NUMBER_SHOWN = ("numerical", "both")
_TEXT_SHOWN = ("textual", "both")

OWN_REPLY = "own_answer"
"""The field in which participants reply themselves (the factor `own_answer_first`)."""


@dataclass(frozen=True)
class ScreenMaker:
    """Makes screens of a design; what is the same on many of them is made once and shared."""

    design: Design
    _options: dict[tuple[str, str, str | None, int], dict[str, JSON]] = field(default_factory=dict)

    def options(
        self, shown: Condition, quality: str, slot: str | None, n_slots: int
    ) -> Mapping[str, JSON]:
        """What the form of a question shows.

        Args:
            shown: Under which condition.
            quality: What is asked for.
            slot: Of which candidate; none where all are judged at once.
            n_slots: How many candidates there are.
        """
        key = (shown.name, quality, slot, n_slots)
        if key not in self._options:
            self._options[key] = self._made(shown, quality, slot, n_slots)
        return self._options[key]

    def _made(
        self, shown: Condition, quality: str, slot: str | None, n_slots: int
    ) -> dict[str, JSON]:
        declared = self.design.qualities[quality]
        settings = shown.instrument_of(declared)
        label = quality_label(self.design, quality)
        called = response_label(self.design)
        options: dict[str, JSON] = {
            "prompt": declared.question or label,
            "quality_label": label,
            "definition": declared.definition,
            **instrument(settings.kind).options(settings),
        }
        value = _anchor_number(self.design, shown, quality)
        if value is not None:
            options["anchor_value"] = value
            told = shown.number.note if shown.number is not None else None
            if told:
                said = texts_of(self.design).number(value)
                options["anchor_note"] = told.replace("{value}", said)
            elif self.design.presentation.anchor_repeated:
                options["anchor_note"] = texts_of(self.design).say(
                    "anchor_repeated", standard=standard_label(self.design), value=value
                )
        if slot is None and declared.level != "item":
            options["choices"] = [
                {"value": str(number), "label": f"{called} {number}"}
                for number in range(1, n_slots + 1)
            ]
        elif slot is not None and n_slots > 1:
            options |= {"slot": slot, "slot_label": f"{called} {slot}"}
        return options


def item_screens(
    maker: ScreenMaker,
    item: Item,
    shown: Condition,
    qualities: Sequence[str],
    candidates: Sequence[Candidate],
    *,
    kind: str,
    prefix: str,
    order: int | None,
) -> list[Screen]:
    """The screens on which one item is judged.

    Args:
        maker: Of the study.
        item: What is judged.
        shown: Under which condition.
        qualities: In the order in which they are asked.
        candidates: In the order in which they stand on the screen.
        kind: `rating`, `practice` or `check`.
        prefix: Of the screens' ids: `rate-017`.
        order: Place of the item in the session.
    """
    if maker.design.items.unit == "turn":
        made = []
        for place, candidate in enumerate(candidates):
            ids = f"{prefix}-t{place + 1:02d}"
            made += judged_screens(
                maker, item, shown, qualities, [candidate], kind, ids, order, place
            )
        return made
    return judged_screens(maker, item, shown, qualities, candidates, kind, prefix, order, 0)


def judged_screens(
    maker: ScreenMaker,
    item: Item,
    shown: Condition,
    qualities: Sequence[str],
    candidates: Sequence[Candidate],
    kind: str,
    prefix: str,
    order: int | None,
    first: int,
) -> list[Screen]:
    """One moment of an item, on as many screens as the layout asks for.

    Args:
        maker: Of the study.
        item: What is judged.
        shown: Under which condition.
        qualities: In the order in which they are asked.
        candidates: In the order in which they stand on the screen.
        kind: `rating`, `practice` or `check`.
        prefix: Of the screens' ids.
        order: Place of the item in the session.
        first: Position of the first candidate, where they are judged one after the other.
    """
    design = maker.design
    slots = {str(place): candidate for place, candidate in enumerate(candidates, start=1)}
    asked = [
        asked_for
        for slot in (*slots, None)
        for quality in qualities
        for asked_for in _fields(maker, item, shown, quality, slots, slot, first)
    ]
    layout = shown.layout
    # A gold item may compare two responses, which have to be on one screen to be compared.
    if layout == "single" and item.expect:
        layout = "separate"
    groups: dict[str, list[Field]] = {}
    for one in asked:
        name = prefix
        if layout != "together":
            name += f"-{one.quality}"
        if layout == "single" and one.response is not None and len(slots) > 1:
            name += f"-{next(iter(one.targets))}"
        groups.setdefault(name, []).append(one)
    if layout != "together":  # one quality is finished before the next begins
        rank = {quality: place for place, quality in enumerate(qualities)}
        ordered = sorted(groups, key=lambda name: rank[str(groups[name][0].quality)])
        groups = {name: groups[name] for name in ordered}
    state: dict[str, str | int | float | None] = {
        "condition": shown.name,
        "order": order,
        "anchor": "textual" if shown.anchor in _TEXT_SHOWN else None,
        "item": item.id,
    }
    state |= {f"factor.{name}": level for name, level in shown.levels.items()}
    return [
        Screen(
            id=name,
            kind=kind,
            title=design.title,
            body=tuple(_body(design, item, shown, fields, slots)),
            fields=tuple(fields),
            deadline_s=shown.deadline_s,
            state=state,
        )
        for name, fields in groups.items()
    ]


def _fields(
    maker: ScreenMaker,
    item: Item,
    shown: Condition,
    quality: str,
    slots: Mapping[str, Candidate],
    slot: str | None,
    first: int,
) -> list[Field]:
    """The question about a quality of one slot, or (slot None) of all slots at once."""
    declared = maker.design.qualities[quality]
    used = instrument(shown.instrument_of(declared).kind)
    whole = declared.level == "item"
    if (whole or used.judges == "several") != (slot is None):
        return []
    if used.judges == "several" and len(slots) < used.fewest:
        return []  # a reply is missing; `study check` says so
    judged = {} if whole else slots if slot is None else {slot: slots[slot]}
    rules = [rule for rule in item.expect if rule["quality"] == quality]
    return [
        Field(
            name=quality if slot is None else f"{quality}-{slot}",
            instrument=used.name,
            quality=quality,
            item=item.id,
            response=None if slot is None else slots[slot].key,
            options=maker.options(shown, quality, slot, len(slots)),
            required=declared.required,
            targets={
                name: _target(candidate, int(name) - 1 + first)
                | ({LOWER: True} if declared.lower_is_better else {})
                for name, candidate in judged.items()
            },
            expected={"check": f"check_gold_{item.id}", "rules": rules} if rules else None,
        )
    ]


def response_label(design: Design) -> str:
    """What responses are called; agents that answer side by side, where it is not said."""
    talks, own = design.conversations, design.presentation.response_label
    if own is None and talks is not None and talks.side_by_side:
        return talks.called or texts_of(design).say("chat_called")
    return own or texts_of(design).say("response")


def standard_label(design: Design) -> str:
    """What the standard is called."""
    return design.presentation.standard_label or texts_of(design).say("standard")


def own_answer_screen(
    design: Design, item: Item, shown: Condition, prefix: str, order: int
) -> Screen:
    """The screen on which participants reply themselves, before they see what others replied."""
    texts = texts_of(design)
    body: list[dict[str, JSON]] = [one.block() for one in item.media if one.of is None]
    if item.context:
        body.append({"kind": "dialogue", "turns": _turns(item.context), **rendering(shown)})
    options = {
        "prompt": texts.say("own_answer_question"),
        **instrument("free_text").options(FreeTextSettings()),
    }
    asked = Field(OWN_REPLY, "free_text", item=item.id, options=options)
    state: dict[str, str | int | float | None] = {
        "condition": shown.name,
        "order": order,
        "item": item.id,
    }
    state |= {f"factor.{name}": level for name, level in shown.levels.items()}
    return Screen(f"{prefix}-own", "rating", design.title, tuple(body), (asked,), None, state)


def _target(candidate: Candidate, position: int) -> dict[str, JSON]:
    return {
        "response": candidate.key,
        "level": "dialog" if candidate.turn is None else "turn",
        "system": candidate.system,
        "agent": candidate.agent,
        "dialog": candidate.dialog,
        "turn": candidate.turn,
        "position": position,
        **({"length": len(candidate.text)} if candidate.text else {}),
        **candidate.levels,
    }


def _anchor_number(design: Design, shown: Condition, quality: str) -> float | None:
    """The number that is shown for the standard; none where no number is shown."""
    if shown.anchor not in _NUMBER_SHOWN:
        return None
    settings = shown.instrument_of(design.qualities[quality])
    return anchor_value(design, quality, settings, shown.levels.get("scale"), shown.number)


def _body(
    design: Design,
    item: Item,
    shown: Condition,
    fields: Sequence[Field],
    slots: Mapping[str, Candidate],
) -> list[dict[str, JSON]]:
    blocks: list[dict[str, JSON]] = [{"kind": "text", "text": note} for note in shown.notes]
    whole = design.items.unit == "dialogue"
    context = next(iter(slots.values())).before if design.items.unit == "turn" else item.context
    blocks += [one.block() for one in item.media if one.of is None]
    if context:
        blocks.append({"kind": "dialogue", "turns": _turns(context), **rendering(shown)})
    qualities = list(dict.fromkeys(str(field.quality) for field in fields))
    anchor = _anchor(design, item, shown, qualities)
    if anchor["text"] is not None or anchor["values"]:
        blocks.append(anchor)
    on_screen = {slot for field in fields for slot in field.targets or slots}
    for slot, candidate in slots.items():
        if slot in on_screen and not whole:
            label = response_label(design)
            named = f"{label} {slot}" if len(slots) > 1 else label
            own = [one.block() for one in item.media if one.of == candidate.key]
            blocks.append(
                {"kind": "response", "slot": slot, "label": named, "text": candidate.text}
                | ({"media": own} if own else {})
                | ({"tag": candidate.tag} if candidate.tag else {})
                | rendering(shown)
            )
    for quality in qualities:
        told = design.qualities[quality].definition
        if told:
            term = quality_label(design, quality)
            blocks.append({"kind": "definition", "term": term, "text": told})
    return blocks


def _anchor(
    design: Design, item: Item, shown: Condition, qualities: Sequence[str]
) -> dict[str, JSON]:
    told = shown.number is not None and shown.number.note  # below each question instead
    values = (
        []
        if told
        else [
            {"quality": quality_label(design, quality), "value": value}
            for quality in qualities
            if (value := _anchor_number(design, shown, quality)) is not None
        ]
    )
    return {
        "kind": "anchor",
        "label": standard_label(design),
        "text": item.standard if shown.anchor in _TEXT_SHOWN else None,
        "values": values,
        **rendering(shown),
    }


def rendering(shown: Condition) -> dict[str, JSON]:
    """What a block says of how its text is shown; nothing where it is shown as it was written."""
    return {} if shown.render == "plain" else {"render": shown.render}


def _turns(said: Sequence[Utterance]) -> list[dict[str, str]]:
    return [{"speaker": utterance.speaker, "text": utterance.text} for utterance in said]
