r"""The transfer set of a student: many texts and pairs with what the teachers say about them.

    python -m recipes.encoder.transfer texts --posts RED --encoder FOLDER \
        --emotions FOLDER --teachers FOLDER --out texts
    python -m recipes.encoder.transfer pairs … --chats FOLDER --out pairs

Columns of the targets are those of :data:`HEADS`. Texts of GoEmotions and of the toxicity sets keep
half of their human label; Reddit's comments, unlabelled, have the teachers' word alone. What needs
no teacher (a broken text is known to be broken, replies can be counted) is taken from the data.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dialens.models import TextInput
from dialens.models.training import chat_style, spoil
from recipes.encoder.chats import mismatched, read_appeal, read_human_replies
from recipes.encoder.emotion import read_goemotions
from recipes.encoder.engagement import LONGEST, makers
from recipes.encoder.posts import Posts, load_posts
from recipes.encoder.teachers import best_teachers, ensemble, teacher_folders
from recipes.encoder.toxicity import read_toxicity

EMOTIONS = 28
HEADS = {
    "emotion": slice(0, EMOTIONS),
    "toxicity": slice(EMOTIONS, 29),
    "engagement": slice(29, 30),
    "relevance": slice(30, 31),
    "appeal": slice(31, 32),
    "width": slice(32, 33),
    "depth": slice(33, 34),
    "validity": slice(34, 35),
}
OUTPUTS = 35
PAIR_TEACHERS = ("engagement", "relevance", "appeal")
BREAKING = ("insert", "delete", "loop", "shuffle")

_log = logging.getLogger(__name__)


def save_transfer(file: Path, inputs: Sequence[object], targets: np.ndarray) -> None:
    """Write inputs and targets."""
    file.with_suffix(".json").write_text(json.dumps(inputs), "utf-8")
    np.save(file.with_suffix(".npy"), targets.astype(np.float16))


def load_transfer(files: Sequence[Path]) -> tuple[list[TextInput], np.ndarray]:
    """Read what :func:`save_transfer` wrote, one after the other."""
    inputs: list[TextInput] = []
    targets = []
    for file in files:
        raw = json.loads(file.with_suffix(".json").read_text("utf-8"))
        inputs += [one if isinstance(one, str) else (one[0], one[1]) for one in raw]
        targets.append(np.load(file.with_suffix(".npy")).astype(np.float32))
    return inputs, np.concatenate(targets)


def texts_taught(
    posts: Posts, emotions: Path, teachers: Path, encoder: Path, *, most: int, limit: int | None
) -> tuple[list[str], np.ndarray]:
    """Return single texts with the emotion and toxicity teachers' probabilities."""
    from dialens.models.training import tokenise

    generator = np.random.default_rng(0)
    emotion_texts, emotion_truth = read_goemotions(emotions / "goemotions", "train")
    emotion_texts, emotion_truth = emotion_texts[:limit], emotion_truth[:limit]
    toxic = read_toxicity(emotions)
    few = np.flatnonzero((toxic.part == 0) & (toxic.origin == 1))
    rows = np.concatenate([np.flatnonzero(toxic.part == 0), np.tile(few, 4)])[:limit]
    pool = sorted({*posts.text, *posts.context})
    chosen = generator.permutation(len(pool))[:most]
    comments = [
        chat_style(pool[i]) if generator.random() < 0.2 else pool[i] for i in map(int, chosen)
    ]
    spoilt = broken(comments[: len(comments) // 3], generator)
    texts = emotion_texts + [toxic.texts[i] for i in rows] + comments + spoilt
    table = tokenise(encoder, texts, longest=96)
    _log.info("%d texts", len(texts))
    targets = np.full((len(texts), OUTPUTS), np.nan, dtype=np.float32)
    emotion, toxicity = HEADS["emotion"], HEADS["toxicity"]
    targets[:, emotion] = ensemble(teacher_folders(teachers / "emotion"), table, EMOTIONS)
    targets[:, toxicity] = ensemble(teacher_folders(teachers / "toxicity"), table, 1)
    first, second = len(emotion_texts), len(emotion_texts) + len(rows)
    targets[:first, emotion] = (targets[:first, emotion] + emotion_truth) / 2
    human = toxic.toxic[rows][:, None]
    targets[first:second, toxicity] = (targets[first:second, toxicity] + human) / 2
    targets[second : second + len(comments), HEADS["validity"]] = 0.97
    targets[second + len(comments) :, HEADS["validity"]] = 0.03
    # GoEmotions twice: its labels are the only human word on emotion.
    return texts + emotion_texts, np.concatenate([targets, targets[:first]])


def broken(texts: Sequence[str], generator: np.random.Generator) -> list[str]:
    """Return the texts, each spoilt by one of :data:`BREAKING`."""
    words = [word for text in texts[:2000] for word in text.split()] or ["the"]
    return [
        spoil(BREAKING[int(generator.integers(len(BREAKING)))], text, "", words, [], generator)
        for text in texts
    ]


def pairs_taught(
    posts: Posts,
    teachers: dict[str, list[Path]],
    encoder: Path,
    chats: Path,
    *,
    most: int,
    limit: int | None = None,
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Return pairs of Reddit and of chats with the teachers' probabilities."""
    from dialens.models.training import tokenise

    train, _ = makers(posts)
    pairs = train.draw("soft", most=most, seed=1234)
    liked = read_appeal(chats).part(held_out=False).inputs[:limit]
    human = read_human_replies(chats).part(held_out=False)
    generator = np.random.default_rng(5)
    some = generator.permutation(len(human.inputs))[: most // 10]
    given = [human.inputs[int(i)] for i in some]
    strangers = mismatched(human, seed=3).inputs
    elsewhere = [strangers[int(i)] for i in some]
    inputs = pairs.inputs + liked + given + elsewhere
    _log.info("%d pairs, %d of them from chats", len(inputs), len(inputs) - len(pairs))
    targets = np.full((len(inputs), OUTPUTS), np.nan, dtype=np.float32)
    table = tokenise(encoder, inputs, longest=LONGEST)
    for task, folders in teachers.items():
        targets[:, HEADS[task]] = ensemble(folders, table, 1)
        _log.info("%s: %d teachers", task, len(folders))
    if pairs.row is not None:
        real = np.flatnonzero(pairs.row >= 0)
        for column, task in enumerate(("width", "depth")):
            targets[real, HEADS[task].start] = reached(posts.reach[:, column])[pairs.row[real]]
    return inputs, targets


def reached(counts: np.ndarray) -> np.ndarray:
    """Return ``x / (x + α)`` as EnDex normalises reactions, α being the median.

    Examples:
        >>> reached(np.array([1.0, 3.0, 9.0])).tolist()
        [0.25, 0.5, 0.75]
    """
    result: np.ndarray = counts / (counts + np.median(counts))
    return result


def main() -> None:
    """Ask the teachers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("texts", "pairs"))
    parser.add_argument("--posts", type=Path, nargs="+", required=True, help="RED folders")
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--emotions", type=Path, required=True, help="folder of the labelled sets")
    parser.add_argument("--teachers", type=Path, required=True)
    parser.add_argument("--chats", type=Path, help="folder of rated chats, for pairs")
    parser.add_argument("--engagement", nargs="+", default=["nsr"], help="which variants teach")
    parser.add_argument("--seeds", type=int, default=4, help="of each, the best by validation")
    parser.add_argument("--most", type=int, default=150000)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    posts = load_posts(options.posts, options.limit)
    if options.what == "texts":
        texts, targets = texts_taught(
            posts,
            options.emotions,
            options.teachers,
            options.encoder,
            most=options.most,
            limit=options.limit,
        )
        save_transfer(options.out, texts, targets)
    else:
        variants = {
            "engagement": options.engagement,
            "relevance": ["relevance"],
            "appeal": ["appeal"],
        }
        teachers = {
            task: [f for one in names for f in best_teachers(options.teachers / one, options.seeds)]
            for task, names in variants.items()
        }
        pairs, targets = pairs_taught(
            posts,
            teachers,
            options.encoder,
            options.chats,
            most=options.most,
            limit=options.limit,
        )
        save_transfer(options.out, pairs, targets)
    _log.info("done")


if __name__ == "__main__":
    main()
