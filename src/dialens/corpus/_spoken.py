"""What was said in a source, whatever its format, and what of it was not: counted for the user.

Reasoning within replies goes to `meta.reasoning` (see `_reasoning`). Replies without a word stay
turns, since their place counts, but nothing can be said of them. System prompts are no turns: the
readers keep them beside the turn that follows. A source in which nobody says a word is refused: its
format was mistaken.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec
import polars as pl

from dialens.base import DialensError, counted
from dialens.corpus._intake import Intake
from dialens.corpus._reasoning import WORTH_A_LOOK, split_reasoning
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables

_BY_A_MODEL = (pl.col("role") == "agent") | (pl.col("speaker") == "assistant")
_SYSTEM_PROMPT = r'\{"role":"(?:system|developer)"'
OTHER_AGENT = "other_agent"
"""The key of `meta` that names who gave a reply, where several agents speak."""
_OTHERS = f'"{OTHER_AGENT}":"'


@dataclass
class _Account:
    turns: int = 0
    ratings: int = 0
    worded: int = 0
    replies: int = 0
    empty: int = 0
    reasoned: int = 0
    prompts: int = 0
    with_others: int = 0


def spoken(parts: Iterator[Tables], source: Source, intake: Intake) -> Iterator[Tables]:
    """The batches without reasoning; what was left out or is empty is noted at the end."""
    account = _Account()
    for part in parts:
        turns, reasoned = _without_reasoning(part.turns)
        account.reasoned += reasoned
        _count(turns, account)
        account.ratings += part.ratings.height
        yield part if not reasoned else replace(part, turns=turns)
    if account.turns and not account.worded and not account.ratings:
        raise DialensError(
            f"{source.path}: every one of its {counted(account.turns, 'turn')} is empty, so the "
            "texts stand elsewhere than they were looked for.\n"
            "Name the format with --format (`dialens formats` lists them), or say where the text "
            "stands with --column text=…"
        )
    for sentence in _sentences(account):
        intake.note(f"{source.path.name}: {sentence}")


def _sentences(account: _Account) -> Iterator[str]:
    if account.reasoned:
        of = counted(account.reasoned, "reply", "replies")
        yield f"left out the reasoning (<think>…</think>) of {of}."
    if account.with_others:
        talks = counted(account.with_others, "dialogue")
        yield (
            "several assistants speak in some conversations. Each is an agent of its own "
            f"({talks}), and what the others say there counts as its partners'."
        )
    if account.empty:
        of = counted(account.replies, "reply", "replies")
        yield f"{account.empty:,} of {of} {'is' if account.empty == 1 else 'are'} empty."
    if account.prompts:
        prompts = counted(account.prompts, "system prompt")
        are = "is no turn" if account.prompts == 1 else "are no turns"
        yield f"left out {prompts}, which {are}."


def _count(turns: pl.DataFrame, account: _Account) -> None:
    blank = ~pl.col("text").str.contains(r"\S")
    agent = pl.col("role") == "agent"
    found = turns.select(
        turns=pl.len(),
        worded=(~blank).sum(),
        replies=agent.sum(),
        empty=(blank & agent).sum(),
        prompts=pl.col("meta").str.count_matches(_SYSTEM_PROMPT).sum(),
        with_others=pl.col("dialog").filter(pl.col("meta").str.contains(_OTHERS)).n_unique(),
    ).row(0, named=True)
    for name, count in found.items():
        setattr(account, name, getattr(account, name) + (count or 0))


def _without_reasoning(turns: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The turns with what was said alone, and how many of them lost something."""
    some = turns.select(_BY_A_MODEL & pl.col("text").str.contains(WORTH_A_LOOK)).to_series()
    if not some.any():
        return turns, 0
    texts, metas = turns["text"].to_list(), turns["meta"].to_list()
    count = 0
    for place in some.arg_true():
        said, thought = split_reasoning(texts[place])
        if said == texts[place]:
            continue
        kept = msgspec.json.decode(metas[place]) if metas[place] else {}
        texts[place] = said
        metas[place] = msgspec.json.encode({**kept, "reasoning": thought}).decode()
        count += 1
    columns = (pl.Series("text", texts, pl.String), pl.Series("meta", metas, pl.String))
    return turns.with_columns(columns), count
