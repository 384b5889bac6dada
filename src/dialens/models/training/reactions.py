r"""What the emotion and toxicity teachers say about every comment: the raw material of EnDex's EE.

python -m dialens.models.training.reactions --comments FILE --encoder FOLDER \
        --emotion FOLDER --toxicity FOLDER --labels labels.txt --out reactions.npz
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np

from dialens.errors import DialensError

_log = logging.getLogger(__name__)


def teacher_folders(folder: Path, most: int | None = None) -> list[Path]:
    """Return the seeds' folders of a teacher, in order."""
    found = sorted(folder.glob("seed*/model.safetensors"))
    if not found:
        raise DialensError(f"{folder} holds no trained seeds")
    return [file.parent for file in found[:most]]


def ensemble(folders: list[Path], table: object, outputs: int) -> np.ndarray:
    """Return the mean probability of several teachers for encoded inputs."""
    from dialens.models.training.encoder import load_encoder
    from dialens.models.training.fit import best_device, predict
    from dialens.models.training.measures import sigmoid
    from dialens.models.training.tokens import TokenTable

    if not isinstance(table, TokenTable):
        raise TypeError("a TokenTable is needed")
    total = np.zeros((len(table), outputs), dtype=np.float32)
    for folder in folders:
        model = load_encoder(folder, outputs).to(best_device())
        total += sigmoid(predict(model, table))
    result: np.ndarray = total / len(folders)
    return result


def main() -> None:
    """Predict for all comments."""
    from dialens.models.emotions import POSITIVE_EMOTIONS
    from dialens.models.training.emotion import read_labels
    from dialens.models.training.reddit import load_comments
    from dialens.models.training.tokens import tokenise

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comments", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True, help="whose tokenizer is used")
    parser.add_argument("--emotion", type=Path, required=True)
    parser.add_argument("--toxicity", type=Path, required=True)
    parser.add_argument("--goemotions", type=Path, required=True, help="for the label names")
    parser.add_argument("--teachers", type=int, default=2)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    texts = [one.text for one in load_comments(given.comments)[: given.limit]]
    table = tokenise(given.encoder, texts, longest=96)
    names = read_labels(given.goemotions)
    emotion = ensemble(teacher_folders(given.emotion, given.teachers), table, len(names))
    toxic = ensemble(teacher_folders(given.toxicity, 1), table, 1)[:, 0]
    positive = emotion[:, [names.index(name) for name in POSITIVE_EMOTIONS]].sum(1)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez(given.out, emotion=emotion.astype(np.float16), positive=positive, toxic=toxic)
    _log.info("%d comments, positive %.3f, toxic %.3f", len(texts), positive.mean(), toxic.mean())


if __name__ == "__main__":
    main()
