"""A corpus folder of generated conversations, written in a stream; millions of turns a minute.

    python benchmarks/scale.py talks FOLDER --turns 10M
    python benchmarks/scale.py talks FOLDER --turns 3M --rated 20000

Words follow a law of Zipf and Mandelbrot whose tail has no end, so that the vocabulary keeps
growing as that of real text does (Heaps): about 140,000 distinct words in 3 million turns, 280,000
in 10 million. The commonest are words that the shipped lexicons know. Turns have 12 words on
average, from one to 80; dialogues have ten turns; two systems have two agents each.
"""

import argparse
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from dialens.corpus import RATINGS, TURNS, Tables, write_corpus
from dialens.text import emotion_lexicon, function_words

TURNS_A_DIALOG = 10
AGENTS = (("alpha", "alpha-1"), ("alpha", "alpha-2"), ("beta", "beta-1"), ("beta", "beta-2"))
QUALITIES = ("engaging", "coherent")
_DIALOGS_AT_ONCE = 20_000
_SHIFT, _SLOPE = 30.0, 0.6  # of Zipf and Mandelbrot: P(rank > r) = (1 + r / shift) ** -slope
_HIGHEST = 20_000_000
_LETTERS = np.array(list("abcdefghiklmnoprstuw"))
_MARKS = np.array([".", ".", "?", "!", ""])
_RATERS = 3


def count(text: str) -> int:
    """A number as people write it.

    Examples:
        >>> count("3M"), count("20_000"), count("1.5k")
        (3000000, 20000, 1500)
    """
    match = re.fullmatch(r"([\d_.]+)\s*([kKmM]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number such as 3M or 20000")
    return int(float(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2].lower()])


def generate(folder: Path, turns: int, *, seed: int = 0, rated: int = 0) -> None:
    """Write a corpus folder.

    Args:
        folder: Where to; empty or new.
        turns: How many; a multiple of ten.
        seed: The same seed gives the same turns, and a shorter corpus is the beginning of a longer.
        rated: How many dialogues three raters judged on two qualities.
    """
    dialogs = turns // TURNS_A_DIALOG
    source = {"name": f"{turns:,} generated turns", "format": "generated", "seed": seed}
    write_corpus(_parts(dialogs, seed, min(rated, dialogs)), folder, source=source)


def _parts(dialogs: int, seed: int, rated: int) -> Iterator[Tables]:
    known = _known_words(seed)
    every = max(1, dialogs // rated) if rated else 0
    for number, start in enumerate(range(0, dialogs, _DIALOGS_AT_ONCE)):
        size = min(_DIALOGS_AT_ONCE, dialogs - start)
        rng = np.random.default_rng([seed, number])  # always of whole blocks: a shorter is a prefix
        texts, lengths = _texts(_DIALOGS_AT_ONCE * TURNS_A_DIALOG, known, rng)
        rows = size * TURNS_A_DIALOG
        places = np.arange(start, start + size)
        owner = np.repeat(places % len(AGENTS), TURNS_A_DIALOG)
        turn = np.tile(np.arange(TURNS_A_DIALOG, dtype=np.int32), size)
        agents = pl.Series([agent for _, agent in AGENTS]).gather(owner)
        role = pl.Series(["partner", "agent"]).gather(turn % 2)
        names = pl.Series("d", places).cast(pl.String).str.zfill(9)
        frame = pl.DataFrame(
            {
                "system": pl.Series([system for system, _ in AGENTS]).gather(owner),
                "agent": agents,
                "dialog": names.gather(np.repeat(np.arange(size), TURNS_A_DIALOG)),
                "turn": turn,
                "speaker": pl.Series(["user", "bot"]).gather(turn % 2),
                "role": role,
                "text": texts.head(rows),
            }
        )
        empty = [pl.lit(None, TURNS[name]).alias(name) for name in TURNS if name not in frame]
        ratings = None
        if every:
            words = lengths[:rows].reshape(size, TURNS_A_DIALOG)[:, 1::2].mean(axis=1)
            ratings = _ratings(names, places, words, every, rng)
        yield Tables.of(frame.with_columns(empty).select(TURNS.names()), ratings)


def _known_words(seed: int) -> list[str]:
    """What the shipped lexicons know: function words first, as in any English text."""
    rng = np.random.default_rng(seed)
    function = sorted(filter(str.isalpha, function_words().terms))
    others = sorted(filter(str.isalpha, emotion_lexicon().terms - function_words().terms))
    rng.shuffle(function)
    rng.shuffle(others)
    return function + others


def _texts(
    turns: int, known: list[str], rng: np.random.Generator
) -> tuple[pl.Series, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """So many turns and their numbers of words."""
    lengths = np.clip(rng.lognormal(np.log(9), 0.75, turns), 1, 80).astype(np.int64)
    tail = rng.random(int(lengths.sum()))
    ranks = np.minimum(_SHIFT * ((1 - tail) ** (-1 / _SLOPE) - 1), _HIGHEST).astype(np.int64)
    distinct, place = np.unique(ranks, return_inverse=True)
    words = pa.array([known[r] if r < len(known) else invented(r) for r in distinct.tolist()])
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, words.take(pa.array(place)))
    marks = pa.array(_MARKS[rng.integers(0, len(_MARKS), turns)])
    texts = pc.binary_join_element_wise(pc.binary_join(lists, " "), marks, "")
    return pl.Series("text", pl.from_arrow(texts), dtype=pl.String), lengths


def invented(rank: int) -> str:
    """A word for a rank, another for each.

    Examples:
        >>> invented(5_000), invented(5_001)
        ('qaln', 'qbln')
    """
    letters: list[str] = []
    while rank:
        rank, digit = divmod(rank, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "q" + "".join(letters)


def _ratings(
    names: pl.Series,
    places: np.ndarray[tuple[int], np.dtype[np.int64]],
    words: np.ndarray[tuple[int], np.dtype[np.float64]],
    every: int,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Ratings from 1 to 5 of some dialogues; longer ones are a little more engaging."""
    chosen = np.flatnonzero((places // len(AGENTS)) % every == 0)
    parts = []
    for quality in QUALITIES:
        for rater in range(_RATERS):
            noise = rng.normal(0, 1, len(chosen))
            values = np.clip(np.round(words[chosen] / 6 + 1 + noise), 1, 5)
            parts.append(
                pl.DataFrame(
                    {
                        "dialog": names.gather(chosen),
                        "level": ["dialog"] * len(chosen),
                        "rater": [f"r{rater}"] * len(chosen),
                        "system": [AGENTS[p % len(AGENTS)][0] for p in places[chosen]],
                        "agent": [AGENTS[p % len(AGENTS)][1] for p in places[chosen]],
                        "quality": [quality] * len(chosen),
                        "value": values,
                    }
                )
            )
    table = pl.concat(parts)
    empty = [pl.lit(None, RATINGS[name]).alias(name) for name in RATINGS if name not in table]
    return table.with_columns(empty).select(RATINGS.names())


def main(arguments: list[str]) -> None:
    """Write a corpus and say how fast."""
    parser = argparse.ArgumentParser(prog="scale.py talks", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--turns", type=count, default=1_000_000)
    parser.add_argument("--rated", type=count, default=0, help="dialogues that have ratings")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    begun = time.perf_counter()
    generate(asked.folder, asked.turns, seed=asked.seed, rated=asked.rated)
    taken = time.perf_counter() - begun
    size = sum(file.stat().st_size for file in asked.folder.iterdir())
    rate = asked.turns / taken * 60
    print(f"{asked.turns:,} turns, {size / 1e6:,.0f} MB, {taken:.1f} s: {rate:,.0f} turns a minute")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
