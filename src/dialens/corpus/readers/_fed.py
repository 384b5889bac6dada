"""FED (Mehri & Eskenazi 2020, Unsupervised Evaluation of Interactive Dialog with DialoGPT).

`fed_data.json` is a list of `{context, response, system, annotations}`; an entry without
`response` is a judged dialogue. Five people answered each question; «N/A» answers, which come
with a remark, are missing ratings.
"""

from collections.abc import Iterable

import msgspec

from dialens.corpus._dialogue import Dialogue, Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import UNKNOWN, sounds_like_agent
from dialens.corpus._source import Record, Source
from dialens.corpus.readers._judged import Scores, context_turns, ratings_of, without_name

_THREE = [0, 2]
_SCALES: dict[str, object] = {
    "Interesting": _THREE,
    "Engaging": _THREE,
    "Specific": _THREE,
    "Relevant": _THREE,
    "Correct": _THREE,
    "Semantically appropriate": _THREE,
    "Understandable": [0, 1],
    "Fluent": _THREE,
    "Coherent": _THREE,
    "Error recovery": _THREE,
    "Consistent": [0, 1],
    "Diverse": _THREE,
    "Depth": _THREE,
    "Likeable": _THREE,
    "Understanding": _THREE,
    "Flexible": _THREE,
    "Informative": _THREE,
    "Inquisitive": _THREE,
    "Overall": [0, 4],
}


class _Entry(msgspec.Struct):
    context: str
    annotations: dict[str, Scores]
    response: str | None = None
    system: str | None = None


_DECODER = msgspec.json.Decoder(_Entry)


def _recognises(source: Source) -> bool:
    first = source.first or {}
    return (
        isinstance(first.get("context"), str)
        and isinstance(first.get("annotations"), dict)
        and "system" in first
        and "dialogue_id" not in first
    )


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    entry = _DECODER.decode(record.raw)
    turns = context_turns(entry.context)
    if entry.response is None:
        for turn in turns:
            turn.role = "agent" if sounds_like_agent(turn.speaker) else "partner"
        rated = None
    else:
        speaker, response = without_name(entry.response)
        rated = len(turns)
        turns.append(Turn(speaker or "System", "agent", response))
    if not turns:
        raise RecordError("is empty: a judged dialogue needs turns", field="context", seen="")
    yield Dialogue(
        system=source.stem,
        agent=entry.system or UNKNOWN,
        dialog=f"{source.stem}-{record.number}",
        turns=turns,
        ratings=list(ratings_of(entry.annotations, study=source.stem, turn=rated, scales=_SCALES)),
    )


FED = RecordReader(
    name="fed",
    summary="FED: JSON list of context, response, system, annotations; turns and dialogues",
    example=(
        '[{"context": "User: Hi!\\nSystem: Hi there.\\nUser: How are you?", '
        '"response": "System: Fine, and you?", "system": "bot-1", '
        '"annotations": {"Engaging": [2, 1], "Overall": [4, 3]}}]\n'
    ),
    recognises=_recognises,
    parse=_parse,
)
