r"""The transfer set of a student: many texts and pairs with what the teachers say about them.

    python -m dialens.models.training.transfer texts --posts FILE --encoder FOLDER \
        --emotions FOLDER --teachers FOLDER --out texts
    python -m dialens.models.training.transfer pairs … --out pairs

Columns of the targets are those of :data:`HEADS`. Texts of GoEmotions and of the toxicity sets keep
half of their human label; Reddit's comments, unlabelled, have the teachers' word alone.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dialens.models.inputs import TextInput
from dialens.models.training.emotion import read_goemotions
from dialens.models.training.endex import Posts, load_posts
from dialens.models.training.engagement import LONGEST, makers
from dialens.models.training.negatives import chat_style
from dialens.models.training.reactions import ensemble, teacher_folders
from dialens.models.training.toxicity import read_toxicity

EMOTIONS = 28
HEADS = {
    "emotion": slice(0, EMOTIONS),
    "toxicity": slice(EMOTIONS, 29),
    "engagement": slice(29, 30),
}
OUTPUTS = 30

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
    from dialens.models.training.tokens import tokenise

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
    texts = emotion_texts + [toxic.texts[i] for i in rows] + comments
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
    # GoEmotions twice: its labels are the only human word on emotion.
    return texts + emotion_texts, np.concatenate([targets, targets[:first]])


def pairs_taught(
    posts: Posts, teachers: list[Path], encoder: Path, *, most: int
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Return pairs with the engagement teachers' probabilities."""
    from dialens.models.training.tokens import tokenise

    train, _ = makers(posts)
    pairs = train.draw("soft", most=most, seed=1234)
    _log.info("%d pairs", len(pairs))
    targets = np.full((len(pairs), OUTPUTS), np.nan, dtype=np.float32)
    table = tokenise(encoder, pairs.inputs, longest=LONGEST)
    targets[:, HEADS["engagement"]] = ensemble(teachers, table, 1)
    return pairs.inputs, targets


def main() -> None:
    """Ask the teachers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("texts", "pairs"))
    parser.add_argument("--posts", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--emotions", type=Path, required=True, help="folder of the labelled sets")
    parser.add_argument("--teachers", type=Path, required=True)
    parser.add_argument("--engagement", default="soft", help="which variant teaches")
    parser.add_argument("--most", type=int, default=150000)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    posts = load_posts(given.posts, given.limit)
    if given.what == "texts":
        texts, targets = texts_taught(
            posts,
            given.emotions,
            given.teachers,
            given.encoder,
            most=given.most,
            limit=given.limit,
        )
        save_transfer(given.out, texts, targets)
    else:
        folders = teacher_folders(given.teachers / given.engagement)
        pairs, targets = pairs_taught(posts, folders, given.encoder, most=given.most)
        save_transfer(given.out, pairs, targets)
    _log.info("done")


if __name__ == "__main__":
    main()
