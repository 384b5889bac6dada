"""Battles of the Chatbot Arena and MT-Bench: two conversations and who won.

`{question_id, model_a, model_b, winner, judge, conversation_a, conversation_b, turn, language,
tstamp}` becomes two dialogues, `BATTLE-a` and `BATTLE-b`, each with a rating of the quality
`preference` at dialogue level: 1 for the winner, 0 for the loser, 0.5 each for a tie. The rating's
`condition` is the battle, its `factors` the side, the opponent and the verdict in the source's own
words («tie (bothbad)» is a tie). A battle is named by a `question_id` that is text; numbers are
MT-Bench's questions, which return in many battles, and are kept in `meta`.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from dialens.corpus._dialogue import Dialogue, Rating
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._source import Record, Source
from dialens.corpus.readers._fields import moment
from dialens.corpus.readers._messages import turns_of

_VERDICTS = {
    "model_a": (1.0, 0.0),
    "model_b": (0.0, 1.0),
    "tie": (0.5, 0.5),
    "tie (bothbad)": (0.5, 0.5),
    "bothbad": (0.5, 0.5),
    "both_bad": (0.5, 0.5),
}
_MACHINES = ("gpt", "claude", "gemini", "llama", "qwen", "mistral", "deepseek", "llm")
_KEPT = ("question_id", "turn", "language", "anony")


class _Battle(msgspec.Struct):
    model_a: str
    model_b: str
    conversation_a: list[dict[str, object]]
    conversation_b: list[dict[str, object]]
    winner: str | None = None
    judge: str | list[str] | None = None
    question_id: str | int | None = None
    turn: int | None = None
    language: str | None = None
    anony: bool | None = None
    tstamp: float | None = None


_DECODER = msgspec.json.Decoder(_Battle)


def _recognises(source: Source) -> bool:
    return (
        source.first is not None
        and {"conversation_a", "conversation_b", "model_a", "model_b"} <= source.first.keys()
    )


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    return _sides(_DECODER.decode(record.raw), record.number, source)


def battle_in(row: Mapping[str, object], number: int | str, source: Source) -> Iterable[Dialogue]:
    """The two dialogues of a battle that is a row of a table; in a CSV numbers are text."""
    return _sides(msgspec.convert(row, _Battle, strict=False), number, source)


def _sides(battle: _Battle, number: int | str, source: Source) -> Iterator[Dialogue]:
    name = battle.question_id
    if not isinstance(name, str):
        name = f"{source.stem}-{number}"
    if battle.winner is not None and battle.winner not in _VERDICTS:
        raise RecordError(
            "is not a verdict",
            field="winner",
            seen=battle.winner,
            remedy=f"Known verdicts: {', '.join(_VERDICTS)}. Mend the record, or leave such "
            "records out with --on-error skip.",
        )
    sides = (("a", battle.model_a, battle.model_b), ("b", battle.model_b, battle.model_a))
    for place, (side, model, other) in enumerate(sides):
        field = f"conversation_{side}"
        turns = turns_of(getattr(battle, field), field=field)
        kept = {key: getattr(battle, key) for key in _KEPT if getattr(battle, key) is not None}
        if turns:
            turns[0].meta = {**(turns[0].meta or {}), "battle": {"side": side, **kept}}
        yield Dialogue(
            system=source.stem,
            agent=model,
            dialog=f"{name}-{side}",
            turns=turns,
            ratings=list(_preference(battle, name, side, other, place)),
        )


def _preference(battle: _Battle, name: str, side: str, other: str, place: int) -> Iterator[Rating]:
    if battle.winner is None:
        return
    judge = "/".join(battle.judge) if isinstance(battle.judge, list) else battle.judge
    factors: dict[str, object] = {"side": side, "against": other, "verdict": battle.winner}
    yield Rating(
        quality="preference",
        value=_VERDICTS[battle.winner][place],
        level="dialog",
        rater=judge,
        rater_kind="llm" if judge and judge.lower().startswith(_MACHINES) else "human",
        scale=[0, 1],
        condition=name,
        factors=factors,
        answered_at=moment(battle.tstamp),
    )


ARENA = RecordReader(
    name="arena",
    summary="Chatbot Arena and MT-Bench battles: two conversations and who won",
    example=(
        '{"question_id": "q1", "model_a": "bot-1", "model_b": "bot-2", "winner": "model_a", '
        '"judge": "arena_user_1", "conversation_a": [{"role": "user", "content": "Hello!"}, '
        '{"role": "assistant", "content": "Hello, how are you?"}], "conversation_b": '
        '[{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Yes."}]}\n'
    ),
    recognises=_recognises,
    parse=_parse,
)
