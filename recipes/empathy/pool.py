"""Sentences that the teachers of empathy label for the heads: many, most of them plain.

python -m recipes.empathy.pool --data DATA --out pool.txt

Of Reddit threads (those that the shipped n-grams think warmest, and as many at random again), of
GoEmotions' comments, of WASSA's dialogue turns and of essays on the news. None comes with a label.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dialens.models import shipped_folder
from dialens.models._empathy import PHRASES_FILE, sentences
from dialens.models._phrases import Phrases
from recipes.encoder.emotion import read_goemotions

WARMEST, RANDOM, LOOKED_AT = 30_000, 40_000, 600_000
LONGEST_POST, MOST_OF_A_POST = 3_000, 8


def main() -> None:
    """Choose, and write a sentence a line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    posts = list(dict.fromkeys(_of_reddit(options.data / "reddit")))
    rng.shuffle(posts)
    posts = posts[:LOOKED_AT]
    folder = shipped_folder("small")
    assert folder is not None
    warmth = Phrases.load(folder / PHRASES_FILE).logits(posts)
    warmest = np.argsort(-warmth, kind="stable")[:WARMEST]
    others = rng.choice(np.setdiff1d(np.arange(len(posts)), warmest), RANDOM, replace=False)
    chosen = [posts[row] for row in (*warmest, *others)]
    comments, _ = read_goemotions(options.data / "emotions/goemotions", "train")
    chosen += [one for text in comments for one in sentences(text)]
    chosen += [one for text in _of_traits(options.data / "traits") for one in sentences(text)]
    lines = dict.fromkeys(" ".join(one.split()) for one in chosen if 1 <= one.count(" ") < 60)
    options.out.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{len(lines):,} sentences")


def _of_reddit(folder: Path) -> Iterator[str]:
    with lzma.open(folder / "reddit2015_threads_noscore.jsonl.xz", "rt") as lines:
        for line in lines:
            text = json.loads(line).get("body") or ""
            if text in ("[deleted]", "[removed]") or len(text) > LONGEST_POST or "http" in text:
                continue
            for one in sentences(text)[:MOST_OF_A_POST]:
                said = one.strip()
                if 2 <= said.count(" ") + 1 <= 45 and "u/" not in said:
                    yield said


def _of_traits(folder: Path) -> Iterator[str]:
    for file in sorted((folder / "wassa2023").glob("WASSA23_conv_level*")):
        with file.open(encoding="utf-8", errors="replace") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            yield from (row["text"] for row in rows if row.get("text"))
    essays = folder / "empathic_reactions_messages_CCBY4.csv"
    with essays.open(encoding="utf-8", errors="replace") as lines:
        yield from (row["essay"] for row in csv.DictReader(lines) if row.get("essay"))


if __name__ == "__main__":
    main()
