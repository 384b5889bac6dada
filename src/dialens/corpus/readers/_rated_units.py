"""Rated units: one JSON object a unit of the judgement sets, `context`, `response`, `ratings`."""

from collections.abc import Iterable

import msgspec

from dialens.corpus._dialogue import Dialogue, Rating, Reference, Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import agent_among
from dialens.corpus._source import Record, Source


class _Utterance(msgspec.Struct):
    speaker: str
    text: str


class _Unit(msgspec.Struct):
    dataset: str
    unit_id: str
    level: str
    ratings: dict[str, float | list[float | None] | None]
    context: list[_Utterance]
    response: str | None = None
    system: str | None = None
    dialog_id: str | int | None = None
    references: list[str] = []
    scale: dict[str, object] = {}
    raters: list[str] | dict[str, list[str]] | None = None
    extra: dict[str, object] = {}


_DECODER = msgspec.json.Decoder(_Unit)


def _recognises(source: Source) -> bool:
    return source.first is not None and {"unit_id", "ratings", "context"} <= source.first.keys()


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    unit = _DECODER.decode(record.raw)
    if unit.level not in ("turn", "dialog"):
        raise RecordError("is neither `turn` nor `dialog`", field="level", seen=unit.level)
    turns = _turns(unit)
    if unit.extra or unit.dialog_id is not None:
        turns[-1].meta = {"dialog_id": unit.dialog_id, **unit.extra}
    rated = len(turns) - 1 if unit.level == "turn" else None
    yield Dialogue(
        system=unit.dataset,
        agent=unit.system or "unknown",
        dialog=unit.unit_id,
        turns=turns,
        ratings=list(_ratings(unit, rated)),
        references=[Reference(len(turns) - 1, text) for text in unit.references],
    )


def _turns(unit: _Unit) -> list[Turn]:
    """In a rated turn only the response is the agent's; in a rated dialogue, its speaker's turns.

    The earlier turns of a context were given to the agent, whoever spoke them, and stand in as
    many units as there are responses: they must not count as its own.
    """
    if unit.level == "turn":
        if unit.response is None:
            raise RecordError("is missing: a rated turn needs a response", field="response")
        context = [Turn(utterance.speaker, "partner", utterance.text) for utterance in unit.context]
        return [*context, Turn(unit.system or "agent", "agent", unit.response)]
    name = unit.system or "agent"
    if not unit.context:
        # Rated, but the transcript is lost: silence stands for it, so that the ratings stay.
        return [Turn(name, "agent", unit.response or "")]
    agent = _agent_speaker(unit)
    turns = [
        Turn(
            utterance.speaker, "agent" if utterance.speaker == agent else "partner", utterance.text
        )
        for utterance in unit.context
    ]
    return [*turns, Turn(agent, "agent", unit.response)] if unit.response else turns


def _agent_speaker(unit: _Unit) -> str:
    """Who is under study: the judged entity, a name that says so, or the one who answers first."""
    speakers = list(dict.fromkeys(utterance.speaker for utterance in unit.context))
    judged = f"entity{unit.extra.get('entity')}"
    return judged if judged in speakers else agent_among(speakers)


def _ratings(unit: _Unit, turn: int | None) -> Iterable[Rating]:
    block = unit.extra.get("rater_block")
    condition = unit.extra.get("condition")
    for quality, answer in unit.ratings.items():
        values = answer if isinstance(answer, list) else [answer]
        names = unit.raters.get(quality) if isinstance(unit.raters, dict) else unit.raters
        if names is None and isinstance(answer, list) and block is not None:
            names = [f"{block}/{place}" for place in range(len(values))]
        if names is not None and len(names) != len(values):
            raise RecordError(
                f"names {len(names)} raters for {len(values)} ratings",
                field=f"raters.{quality}",
                seen=names,
            )
        for place, value in enumerate(values):
            if value is None:
                continue
            yield Rating(
                quality=quality,
                value=value,
                turn=turn,
                level=unit.level,
                rater=names[place] if names else None,
                study=unit.dataset,
                scale=unit.scale.get(quality),
                condition=str(condition) if condition is not None else None,
            )


RATED_UNITS = RecordReader(
    name="rated-units",
    summary="JSONL of rated responses or dialogues, one unit a line, ratings with their raters",
    example=(
        '{"dataset": "demo", "unit_id": "u1", "level": "turn", "system": "bot", '
        '"context": [{"speaker": "A", "text": "How was your day?"}], "response": "Lovely!", '
        '"ratings": {"engaging": [4, 5]}, "raters": ["r1", "r2"]}\n'
    ),
    recognises=_recognises,
    parse=_parse,
)
