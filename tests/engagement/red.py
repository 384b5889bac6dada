"""A small labelled dataset in which engaging posts speak of love, and a tiny random encoder."""

from pathlib import Path

import numpy as np
import polars as pl

from dialens.engagement._labelled import is_held_out

WORDS = "i you love hate this that game dog cat food is was so very bad good thanks lol".split()  # noqa: SIM905


def sentence(generator: np.random.Generator, *more: str) -> str:
    words = [*generator.choice(WORDS[4:], int(generator.integers(4, 10))), *more]
    return " ".join(generator.permutation(words))


def make_posts(threads: int = 60, seed: int = 0) -> pl.DataFrame:
    """Posts with dimensions drawn at random, z and label as METHODS define them."""
    generator = np.random.default_rng(seed)
    rows = []
    for thread in range(threads):
        parent, before = f"s{thread}", sentence(generator, "what")
        for place in range(8):
            re, ae, ee, be = generator.random(4)
            score = (3 * re + 3 * ae + 2 * ee + be) / 9
            text = sentence(generator, *(["love", "you"] if score > 0.5 else ["hate", "this"]))
            name = f"c{thread:03}x{place}"
            rows.append(
                {
                    "id": name,
                    "parent_id": parent,
                    "thread": f"t{thread:03}",
                    "subreddit": "pics",
                    "context": before,
                    "text": text,
                    "re": 1 + int(5 * re),
                    "re_norm": re,
                    "ae_norm": ae,
                    "ee": ee,
                    "be_norm": be,
                    "score": score,
                }
            )
            parent, before = (name, text) if place % 2 == 0 else (f"s{thread}", rows[0]["context"])
    table = pl.DataFrame(rows)
    z = (pl.col("score") - pl.col("score").mean()) / pl.col("score").std(ddof=0)
    label = pl.when(pl.col("z") > 1).then(1).when(pl.col("z") < -1).then(0)
    return table.with_columns(z=z).with_columns(label=label.cast(pl.Int8))


def write_red(folder: Path, posts: pl.DataFrame | None = None) -> Path:
    """posts, train and validation, balanced and split by thread."""
    posts = make_posts() if posts is None else posts
    folder.mkdir(parents=True, exist_ok=True)
    posts.write_parquet(folder / "posts.parquet")
    held_out = pl.Series([is_held_out(thread, 0, 0.3) for thread in posts["thread"]])
    for name, chosen in (("train", ~held_out), ("validation", held_out)):
        part = posts.filter(chosen & posts["label"].is_not_null())
        size = min(int((part["label"] == label).sum()) for label in (0, 1))
        halves = [part.filter(pl.col("label") == label).head(size) for label in (0, 1)]
        pl.concat(halves).sort("id").write_parquet(folder / f"{name}.parquet")
    return folder


def tiny_encoder(folder: Path, width: int = 64) -> Path:
    """A BERT of two layers that has read nothing."""
    import tokenizers
    import torch

    from dialens.models.training import Encoder, save_encoder
    from dialens.models.training._shape import Shape

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: number for number, word in enumerate(special + WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(1)
    shape = Shape(
        vocabulary=len(vocabulary),
        width=width,
        layers=2,
        heads=2,
        inner=128,
        positions=140,
        types=2,
        pad=0,
    )
    save_encoder(Encoder(shape, 1), folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
