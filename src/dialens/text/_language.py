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

from collections.abc import Sequence
from functools import cache
from math import log

import polars as pl

from dialens.text._defaults import emotion_lexicon, function_words, stop_words
from dialens.text._tokens import tokenise

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
    total = turns.select(pl.len()).collect(engine="streaming").item()
    step = -(-total // _MOST_TURNS) or 1
    looked_at = (
        turns.select(*_AGENT, "role", "text")
        .with_row_index("row")
        .filter(pl.col("row") % step == 0)
        .drop("row")
        .collect(engine="streaming")
    )
    own = _counted(looked_at.filter(pl.col("role") == "agent"))
    both = _counted(looked_at)
    agents = looked_at.select(_AGENT).unique(maintain_order=True)
    table = agents.join(own, on=_AGENT, how="left", maintain_order="left").join(
        both, on=_AGENT, how="left", suffix="_both", maintain_order="left"
    )
    turn_by_turn = _foreign(looked_at.filter(pl.col("role") == "agent"))
    table = table.join(turn_by_turn, on=_AGENT, how="left", maintain_order="left")
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


def _counted(turns: pl.DataFrame) -> pl.DataFrame:
    """Words, share of known ones and evidence by agent, over its distinct texts without code."""
    plain = turns.select(*_AGENT, _plain()).unique(maintain_order=True)
    return _evidence(plain, _AGENT)


def _foreign(turns: pl.DataFrame) -> pl.DataFrame:
    """How many turns of an agent are in another language, each by itself, and their share."""
    numbered = turns.select(*_AGENT, _plain()).with_row_index("row")
    seen = _evidence(numbered, (*_AGENT, "row")).filter(pl.col("words") >= _WORDS_OF_A_TURN)
    foreign = pl.col("evidence") > _ODDS_OF_A_TURN
    return seen.group_by(_AGENT, maintain_order=True).agg(
        foreign=foreign.mean(), foreign_turns=foreign.sum()
    )


def _plain() -> pl.Expr:
    return pl.col("text").str.replace_all(_CODE, " ")


def _evidence(texts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Words, share of known ones and evidence, for each key."""
    return (
        texts.select(*keys, token=tokenise("text").list.unique())
        .explode("token", empty_as_null=False)
        .filter(pl.col("token").str.contains(_WORD))
        .group_by(keys, maintain_order=True)
        .agg(words=pl.len(), common=pl.col("token").is_in(_known().implode()).sum())
        .select(
            *keys,
            "words",
            known=pl.col("common") / pl.col("words"),
            evidence=pl.col("common") * _FOR_KNOWN
            + (pl.col("words") - pl.col("common")) * _FOR_OTHERS,
        )
    )
