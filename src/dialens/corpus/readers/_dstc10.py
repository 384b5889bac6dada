"""DSTC10 Track 5 (automatic evaluation): `*_eval.json` for turns and for dialogues.

A turn-level file is a list of `{dialogue_id, context, response, model, reference, annotations}`
with the context's turns on lines of their own; a dialogue-level file a list of `{dialogue_id,
dialog: [{speaker: human|model, text}], model, annotations}`. The test sets have no annotations.
"""

from collections.abc import Iterable

import msgspec

from dialens.corpus._dialogue import Dialogue, Reference, Turn
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import UNKNOWN, agent_among
from dialens.corpus._source import Record, Source
from dialens.corpus.readers._judged import SIDES, Scores, context_turns, ratings_of, without_name


class _Utterance(msgspec.Struct):
    speaker: str
    text: str


class _Unit(msgspec.Struct, kw_only=True):
    dialogue_id: str | int | None = None
    model: str | None = None
    annotations: dict[str, Scores] | None = None


class _TurnUnit(_Unit, kw_only=True):
    context: str
    response: str
    reference: str | list[str] | None = None


class _DialogUnit(_Unit, kw_only=True):
    dialog: list[_Utterance] | None = None
    dialogue: list[_Utterance] | None = None


_TURN = msgspec.json.Decoder(_TurnUnit)
_DIALOG = msgspec.json.Decoder(_DialogUnit)


def _recognises_turns(source: Source) -> bool:
    first = source.first or {}
    return (
        isinstance(first.get("context"), str)
        and isinstance(first.get("response"), str)
        and bool(first.keys() & {"annotations", "dialogue_id", "reference"})
    )


def _recognises_dialogs(source: Source) -> bool:
    first = source.first or {}
    utterances = first.get("dialog", first.get("dialogue"))
    return isinstance(utterances, list) and any(
        isinstance(item, dict) and {"speaker", "text"} <= item.keys() for item in utterances
    )


def _dataset(source: Source) -> str:
    return source.stem.removesuffix("_eval")


def _name(unit: _Unit, record: Record, source: Source) -> str:
    return (
        str(unit.dialogue_id) if unit.dialogue_id is not None else f"{source.stem}-{record.number}"
    )


def _parse_turn(record: Record, source: Source) -> Iterable[Dialogue]:
    unit = _TURN.decode(record.raw)
    context = context_turns(unit.context)
    named = bool(context) and context[0].speaker not in SIDES
    spoken_by, response = without_name(unit.response) if named else (None, unit.response.strip())
    references = [unit.reference] if isinstance(unit.reference, str) else unit.reference or []
    speaker = spoken_by or unit.model or "agent"
    yield Dialogue(
        system=_dataset(source),
        agent=unit.model or UNKNOWN,
        dialog=_name(unit, record, source),
        turns=[*context, Turn(speaker, "agent", response)],
        ratings=list(ratings_of(unit.annotations or {}, study=_dataset(source), turn=len(context))),
        references=[Reference(len(context), text) for text in references],
    )


def _parse_dialog(record: Record, source: Source) -> Iterable[Dialogue]:
    unit = _DIALOG.decode(record.raw)
    utterances = unit.dialog if unit.dialog is not None else unit.dialogue
    if utterances is None:
        raise msgspec.ValidationError("Object missing required field `dialog`")
    agent = agent_among(item.speaker for item in utterances) if utterances else ""
    yield Dialogue(
        system=_dataset(source),
        agent=unit.model or UNKNOWN,
        dialog=_name(unit, record, source),
        turns=[
            Turn(item.speaker, "agent" if item.speaker == agent else "partner", item.text)
            for item in utterances
        ],
        ratings=list(ratings_of(unit.annotations or {}, study=_dataset(source), turn=None)),
    )


DSTC10_TURN = RecordReader(
    name="dstc10-turn",
    summary="DSTC10 Track 5, turn level: JSON list of context, response, annotations",
    example=(
        '[{"dialogue_id": "demo-1", "model": "bot-1", "context": "hi there\\nhello !", '
        '"response": "how are you ?", "reference": ["who are you ?"], '
        '"annotations": {"overall": [4, 5]}}]\n'
    ),
    recognises=_recognises_turns,
    parse=_parse_turn,
)
DSTC10_DIALOG = RecordReader(
    name="dstc10-dialog",
    summary="DSTC10 Track 5, dialogue level: JSON list of dialogues with annotations",
    example=(
        '[{"dialogue_id": "demo-1", "model": "bot-1", "dialog": [{"speaker": "human", '
        '"text": "hi there"}, {"speaker": "model", "text": "hello !"}], '
        '"annotations": {"Overall": [3, 4]}}]\n'
    ),
    recognises=_recognises_dialogs,
    parse=_parse_dialog,
)
