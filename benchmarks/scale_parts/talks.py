"""A corpus folder of generated conversations, written in a stream; millions of turns a minute.

    python benchmarks/scale.py talks FOLDER --turns 10M
    python benchmarks/scale.py talks FOLDER --turns 3M --rated 20000 --like comments.txt --agents 40

Words are made up (`words.py`), or follow each other as in a file of yours (`--like FILE`,
`chain.py`). Dialogues have ten turns; two systems share the agents, four unless said otherwise.
"""

import argparse
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from dialens.corpus import RATINGS, TURNS, Tables, write_corpus
from scale_parts.chain import WordChain
from scale_parts.words import MadeUpWords, Texts

TURNS_A_DIALOG = 10
QUALITIES = ("engaging", "coherent")
_DIALOGS_AT_ONCE = 20_000
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


def generate(
    folder: Path,
    turns: int,
    *,
    seed: int = 0,
    rated: int = 0,
    like: Path | None = None,
    agents: int = 4,
) -> None:
    """Write a corpus folder.

    Args:
        folder: Where to; empty or new.
        turns: How many; a multiple of ten.
        seed: The same seed gives the same turns, and a shorter corpus is the beginning of a longer.
        rated: How many dialogues three raters judged on two qualities.
        like: A file of texts, a line each, whose words turns are made of.
        agents: How many there are.
    """
    texts = MadeUpWords(seed) if like is None else WordChain(like)
    dialogs = turns // TURNS_A_DIALOG
    source = {"name": f"{turns:,} generated turns", "format": "generated", "seed": seed}
    parts = _parts(texts, _agents(agents), dialogs, seed, min(rated, dialogs))
    write_corpus(parts, folder, source=source)


def _agents(count: int) -> list[tuple[str, str]]:
    """Systems and names of agents.

    Examples:
        >>> _agents(4)
        [('alpha', 'alpha-1'), ('alpha', 'alpha-2'), ('beta', 'beta-1'), ('beta', 'beta-2')]
    """
    half = -(-count // 2)
    systems = ["alpha" if place < half else "beta" for place in range(count)]
    return [(name, f"{name}-{place % half + 1}") for place, name in enumerate(systems)]


def _parts(
    draw: Callable[[int, np.random.Generator], Texts],
    bots: list[tuple[str, str]],
    dialogs: int,
    seed: int,
    rated: int,
) -> Iterator[Tables]:
    every = max(1, dialogs // rated) if rated else 0
    for number, start in enumerate(range(0, dialogs, _DIALOGS_AT_ONCE)):
        size = min(_DIALOGS_AT_ONCE, dialogs - start)
        rng = np.random.default_rng([seed, number])  # always of whole blocks: a shorter is a prefix
        texts, lengths = draw(_DIALOGS_AT_ONCE * TURNS_A_DIALOG, rng)
        rows = size * TURNS_A_DIALOG
        places = np.arange(start, start + size)
        owner = np.repeat(places % len(bots), TURNS_A_DIALOG)
        turn = np.tile(np.arange(TURNS_A_DIALOG, dtype=np.int32), size)
        agents = pl.Series([agent for _, agent in bots]).gather(owner)
        role = pl.Series(["partner", "agent"]).gather(turn % 2)
        names = pl.Series("d", places).cast(pl.String).str.zfill(9)
        frame = pl.DataFrame(
            {
                "system": pl.Series([system for system, _ in bots]).gather(owner),
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
            ratings = _ratings(names, places, words, every, bots, rng)
        yield Tables.of(frame.with_columns(empty).select(TURNS.names()), ratings)


def _ratings(
    names: pl.Series,
    places: np.ndarray[tuple[int], np.dtype[np.int64]],
    words: np.ndarray[tuple[int], np.dtype[np.float64]],
    every: int,
    bots: list[tuple[str, str]],
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Ratings from 1 to 5 of some dialogues; longer ones are a little more engaging."""
    chosen = np.flatnonzero((places // len(bots)) % every == 0)
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
                        "system": [bots[p % len(bots)][0] for p in places[chosen]],
                        "agent": [bots[p % len(bots)][1] for p in places[chosen]],
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
    parser.add_argument("--like", type=Path, help="texts, a line each, to draw words from")
    parser.add_argument("--agents", type=int, default=4)
    asked = parser.parse_args(arguments)
    begun = time.perf_counter()
    said = {"seed": asked.seed, "rated": asked.rated, "like": asked.like, "agents": asked.agents}
    generate(asked.folder, asked.turns, **said)
    taken = time.perf_counter() - begun
    size = sum(file.stat().st_size for file in asked.folder.iterdir())
    rate = asked.turns / taken * 60
    print(f"{asked.turns:,} turns, {size / 1e6:,.0f} MB, {taken:.1f} s: {rate:,.0f} turns a minute")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
