"""Battles of the Chatbot Arena as Kaggle's CSV: one row a battle, texts as JSON lists in cells.

`id, model_a, model_b, prompt, response_a, response_b, winner_model_a, winner_model_b, winner_tie`
becomes what the Arena's own files become: two dialogues, `BATTLE-a` and `BATTLE-b`, each with a
rating `preference` (1 for the winner, 0 for the loser, 0.5 for a tie). The competition's test file
names neither models nor winners; its agents are called `a` and `b`. A response that is missing
(`null`) is a turn without text.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dialens.corpus._dialogue import Dialogue, Rating, Turn, batches
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._cells import header_of, table_rows

_NEEDED = frozenset({"id", "prompt", "response_a", "response_b"})
_WINNERS = ("winner_model_a", "winner_model_b", "winner_tie")
_VALUES = {"a": {0: 1.0, 1: 0.0, 2: 0.5}, "b": {0: 0.0, 1: 1.0, 2: 0.5}}
_VERDICTS = ("model_a", "model_b", "tie")


@dataclass(frozen=True)
class ArenaTableReader:
    """Reads the table of battles."""

    name: str = "arena-csv"
    summary: str = "Kaggle's Chatbot Arena table (55k): prompt, response_a, response_b, winner"
    example: str = (
        "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
        '1,bot-1,bot-2,"[""Is it raining?""]","[""A little, I hear.""]","[""Not at all.""]",1,0,0\n'
    )

    def recognises(self, source: Source) -> bool:
        """Whether the header has the table's columns."""
        return set(header_of(source)) >= _NEEDED

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches."""
        return batches(_dialogues(source, intake))


def _dialogues(source: Source, intake: Intake) -> Iterator[Dialogue]:
    for line, row in table_rows(source, intake):
        try:
            talks = [_side(row, side, source) for side in "ab"]
            for talk in talks:
                intake.claim(talk.dialog, source.path, line)
        except RecordError as error:
            intake.reject(source.path, line, error)
            continue
        yield from talks


def _side(row: Mapping[str, str], side: str, source: Source) -> Dialogue:
    if not row["id"]:
        raise RecordError("is missing", field="id", seen="")
    asked = _texts(row["prompt"], "prompt")
    answered = _texts(row[f"response_{side}"], f"response_{side}")
    if len(asked) != len(answered):
        raise RecordError(
            f"holds {len(answered)} responses to {len(asked)} prompts",
            field=f"response_{side}",
            seen=row[f"response_{side}"],
        )
    model = row.get(f"model_{side}") or side
    turns: list[Turn] = []
    for prompt, response in zip(asked, answered, strict=True):
        turns += [Turn("user", "partner", prompt), Turn(model, "agent", response)]
    return Dialogue(source.stem, model, f"{row['id']}-{side}", turns, list(_ratings(row, side)))


def _texts(cell: str, field: str) -> list[str]:
    try:
        texts = json.loads(cell)
    except (ValueError, RecursionError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(text, str | None) for text in texts):
        raise RecordError("is not a JSON list of texts", field=field, seen=cell)
    try:
        return [(text or "").encode().decode() for text in texts]
    except UnicodeEncodeError as error:
        raise RecordError(
            "holds half of a surrogate pair, which is no character", field=field, seen=cell
        ) from error


def _ratings(row: Mapping[str, str], side: str) -> Iterator[Rating]:
    if not any(row.get(key) for key in _WINNERS):
        return
    marks = [(row.get(key) or "").strip() for key in _WINNERS]
    if sorted(marks) not in (["0", "0", "1"], ["0.0", "0.0", "1.0"]):
        raise RecordError("do not name one verdict", field="winner_model_a", seen=",".join(marks))
    verdict = next(place for place, mark in enumerate(marks) if mark in ("1", "1.0"))
    other = "b" if side == "a" else "a"
    yield Rating(
        quality="preference",
        value=_VALUES[side][verdict],
        level="dialog",
        scale=[0, 1],
        condition=row["id"],
        factors={
            "side": side,
            "against": row.get(f"model_{other}") or other,
            "verdict": _VERDICTS[verdict],
        },
    )


ARENA_TABLE = ArenaTableReader()
