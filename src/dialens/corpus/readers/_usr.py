"""USR (Mehri & Eskenazi 2020, an unsupervised and reference-free metric): PersonaChat, TopicalChat.

A list of `{context, fact, annotators, responses: [{response, model, Understandable: […], …}]}`.
Every response becomes a dialogue of its own; the one by «Original Ground Truth» is the reference
for the others. The fact or persona stands in the response's `meta`.
"""

from collections.abc import Iterable

import msgspec

from dialens.corpus._dialogue import Dialogue, Reference, Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._source import Record, Source
from dialens.corpus.readers._judged import Scores, context_turns, ratings_of

_ORIGINAL = "Original Ground Truth"
_SCALES: dict[str, object] = {
    "Understandable": [0, 1],
    "Natural": [1, 3],
    "Maintains Context": [1, 3],
    "Engaging": [1, 3],
    "Uses Knowledge": [0, 1],
    "Overall": [1, 5],
}


class _Entry(msgspec.Struct):
    context: str
    responses: list[dict[str, Scores]]
    fact: str | None = None
    annotators: list[str] | None = None


_DECODER = msgspec.json.Decoder(_Entry)


def _recognises(source: Source) -> bool:
    first = source.first or {}
    responses = first.get("responses")
    return (
        isinstance(first.get("context"), str)
        and isinstance(responses, list)
        and all(isinstance(item, dict) and "response" in item for item in responses)
    )


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    entry = _DECODER.decode(record.raw)
    responses = [_text(item, "response", number) for number, item in enumerate(entry.responses)]
    models = [_text(item, "model", number) for number, item in enumerate(entry.responses)]
    original = [text for text, model in zip(responses, models, strict=True) if model == _ORIGINAL]
    for number, item in enumerate(entry.responses):
        turns = context_turns(entry.context)
        rated = len(turns)
        meta: dict[str, object] = {"context": f"{source.stem}-{record.number}"}
        if entry.fact:
            meta["fact"] = entry.fact.strip()
        scores = {key: value for key, value in item.items() if key not in ("response", "model")}
        yield Dialogue(
            system=source.stem,
            agent=models[number],
            dialog=f"{source.stem}-{record.number}-{number + 1}",
            turns=[*turns, Turn(models[number], "agent", responses[number], meta=meta)],
            ratings=list(
                ratings_of(
                    scores,
                    study=source.stem,
                    turn=rated,
                    raters=entry.annotators,
                    scales=_SCALES,
                    field=f"responses[{number}]",
                )
            ),
            references=[Reference(rated, text) for text in original if models[number] != _ORIGINAL],
        )


def _text(item: dict[str, Scores], key: str, number: int) -> str:
    value = item.get(key)
    if not isinstance(value, str):
        what = "is missing" if value is None else "is not text"
        raise RecordError(what, field=f"responses[{number}].{key}", seen=value)
    return value.strip()


USR = RecordReader(
    name="usr",
    summary="USR: JSON list of contexts, each with the rated responses of several models",
    example=(
        '[{"context": "hi there\\nhello !\\n", "fact": "i like dogs", '
        '"annotators": ["r1", "r2"], "responses": [{"response": "do you have a dog ?", '
        '"model": "Seq2Seq", "Engaging": [3, 2], "Overall": [4, 4]}]}]\n'
    ),
    recognises=_recognises,
    parse=_parse,
)
