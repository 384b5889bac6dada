"""Whether texts are English: how many of their words are common English words.

Of the words of English conversations, tweets and forums 55 to 93 % stand in the lists that dialens
ships (function words, stop words, words of emotion); of those of other languages, 0 to 25 %. Each
word counts for the one or the other by the ratio of these shares, and a verdict is given when the
evidence is a thousand to one. A text that an agent repeats counts once, and so does a word that is
repeated within a turn: agents that loop ("jazz jazz jazz") speak no other language for that.

An agent that speaks English with some people and another language with others is English by the
sum of its words. So turns of six words and more are looked at one by one: each counts as another
language where the evidence is twenty to one, as it is for none of the demo's 153. An agent of which
a tenth of such turns, and three at least, are in another language speaks English in part.
"""

from functools import cache
from math import log

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.text._defaults import emotion_lexicon, function_words, stop_words
from dialens.text._tokens import tokenise
from dialens.text._vocabulary import Vocabulary

ENGLISH, OTHER, UNCLEAR = "English", "another language", "too little to tell"
MIXED = "English in part"

_KNOWN_IN_ENGLISH = 0.55
_KNOWN_ELSEWHERE = 0.25
_FOR_KNOWN = log(_KNOWN_ELSEWHERE / _KNOWN_IN_ENGLISH)
_FOR_OTHERS = log((1 - _KNOWN_ELSEWHERE) / (1 - _KNOWN_IN_ENGLISH))
_ODDS = log(1_000)
_ODDS_OF_A_TURN = log(20)
_WORDS_OF_A_TURN = 6
_LEAST_SHARE, _LEAST_TURNS = 0.1, 3
_MOST_TURNS = 50_000
_BATCH_TURNS = 100_000
_CODE = r"(?s)```.*?(?:```|$)|`[^`\n]*`"
_WORD = r"^['\p{L}][\p{L}\p{M}'\-]*$"
_AGENT = ("system", "agent")


@cache
def _known() -> pl.Series:
    lists = (function_words(), stop_words(), emotion_lexicon())
    return pl.Series(sorted({term for words in lists for term in words.terms}), dtype=pl.String)


def languages(turns: pl.LazyFrame) -> pl.DataFrame:
    """For each agent, whether it speaks English, in part, another language, or too little to tell.

    An agent that says too little to tell is judged by its dialogues as a whole.

    Args:
        turns: Columns system, agent, role and text. Of very many, every n-th is looked at.

    Returns:
        Columns system, agent, words (looked at), known (share of them), foreign (share of its turns
        that are in another language, null where none is long enough), verdict.

    Examples:
        >>> said = ["I am so sorry that you are sad today, and I hope that it gets better soon."]
        >>> rows = {"system": "s", "agent": "b", "role": "agent", "text": said}
        >>> languages(pl.DataFrame(rows).lazy())["verdict"].item()
        'English'
    """
    looked_at = _counted(_looked_at(turns))
    spoken = looked_at.filter(pl.col("role") == "agent")
    table = looked_at.select(_AGENT).unique(maintain_order=True)
    for found, suffix in (
        (_summed(spoken), ""),
        (_summed(looked_at), "_both"),
        (_foreign(spoken), ""),
    ):
        table = table.join(found, on=_AGENT, how="left", suffix=suffix, maintain_order="left")
    clear = pl.col("evidence").abs().fill_null(0.0) > _ODDS
    names = ("words", "known", "evidence")
    return table.select(
        *_AGENT,
        *(pl.when(clear).then(name).otherwise(f"{name}_both").alias(name) for name in names),
        "foreign",
        "foreign_turns",
    ).select(
        *_AGENT,
        pl.col("words").fill_null(0),
        "known",
        "foreign",
        verdict=pl.when(pl.col("evidence") > _ODDS)
        .then(pl.lit(OTHER))
        .when((pl.col("foreign") >= _LEAST_SHARE) & (pl.col("foreign_turns") >= _LEAST_TURNS))
        .then(pl.lit(MIXED))
        .when(pl.col("evidence") < -_ODDS)
        .then(pl.lit(ENGLISH))
        .otherwise(pl.lit(UNCLEAR)),
    )


def _looked_at(turns: pl.LazyFrame) -> pl.DataFrame:
    """Every n-th turn, so many that there are not too many."""
    total = turns.select(pl.len()).collect(engine="streaming").item()
    step = -(-total // _MOST_TURNS) or 1
    columns = turns.select(*_AGENT, "role", "text")
    if step == 1:
        return columns.collect(engine="streaming")
    parts = [columns.collect_schema().to_frame()]
    passed = 0
    for batch in columns.collect_batches(chunk_size=_BATCH_TURNS, maintain_order=True):
        # Copied: a part of a column of texts would hold on to all texts around it.
        rows = batch.gather_every(step, -passed % step).rows()
        parts.append(pl.DataFrame(rows, schema=batch.schema, orient="row"))
        passed += batch.height
    return pl.concat(parts)


def _counted(turns: pl.DataFrame) -> pl.DataFrame:
    """The turns without code, with how many distinct words each has and how many are common."""
    plain = turns.with_columns(pl.col("text").fill_null("").str.replace_all(_CODE, " "))
    # A word that is repeated within a turn counts once.
    tokens = plain.select(tokenise("text").list.unique()).to_series()
    vocabulary = Vocabulary()
    word_of = vocabulary.encode(tokens.explode(empty_as_null=False))
    row_of = np.repeat(np.arange(plain.height), tokens.list.len().to_numpy())
    words = vocabulary.words()
    is_word = words.str.contains(_WORD).to_numpy()
    is_common = is_word & words.is_in(_known().implode()).to_numpy()

    def count(which: NDArray[np.bool_]) -> NDArray[np.uint32]:
        return np.bincount(row_of[which[word_of]], minlength=plain.height).astype(np.uint32)

    return plain.with_columns(words=count(is_word), common=count(is_common))


def _summed(turns: pl.DataFrame) -> pl.DataFrame:
    """Words, share of known ones and evidence by agent, over its distinct texts."""
    distinct = turns.filter(pl.col("words") > 0).unique((*_AGENT, "text"), maintain_order=True)
    sums = distinct.group_by(_AGENT, maintain_order=True).agg(pl.col("words", "common").sum())
    known = pl.col("common") / pl.col("words")
    return sums.select(*_AGENT, "words", known=known, evidence=_evidence())


def _foreign(turns: pl.DataFrame) -> pl.DataFrame:
    """How many turns of an agent are in another language, each by itself, and their share."""
    seen = turns.filter(pl.col("words") >= _WORDS_OF_A_TURN)
    foreign = _evidence() > _ODDS_OF_A_TURN
    return seen.group_by(_AGENT, maintain_order=True).agg(
        foreign=foreign.mean(), foreign_turns=foreign.sum()
    )


def _evidence() -> pl.Expr:
    """How much words speak for another language."""
    others = pl.col("words") - pl.col("common")
    return pl.col("common") * _FOR_KNOWN + others * _FOR_OTHERS
