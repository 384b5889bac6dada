"""A quick linear reader of emotion and toxicity, so that EnDex labels need no GPU.

Word 1–2-grams and a logistic regression per label, trained on GoEmotions and the toxicity sets,
give every comment the summed probability of the positive emotions (EE) and the chance of being
toxic.

    python -m dialens.models.training.linear --comments FILE --emotions FOLDER --out reactions.npz
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np

from dialens.models.emotions import POSITIVE_EMOTIONS
from dialens.models.training.emotion import read_goemotions, read_labels
from dialens.models.training.measures import auc, spearman
from dialens.models.training.reddit import load_comments
from dialens.models.training.toxicity import read_toxicity

_log = logging.getLogger(__name__)


def main() -> None:
    """Train on the labelled sets and predict for all comments."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comments", type=Path, required=True)
    parser.add_argument("--emotions", type=Path, required=True, help="folder of the labelled sets")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    folder = given.emotions / "goemotions"
    names = read_labels(folder)
    train, labels = read_goemotions(folder, "train")
    dev, dev_labels = read_goemotions(folder, "dev")
    toxic = read_toxicity(given.emotions)
    texts = [one.text for one in load_comments(given.comments)[: given.limit]]
    columns = [names.index(name) for name in POSITIVE_EMOTIONS]
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True, max_features=120000)
    seen = words.fit_transform(train)
    checked, wanted = words.transform(dev), words.transform(texts)
    positive = np.zeros(len(texts), dtype=np.float32)
    dev_positive = np.zeros(len(dev), dtype=np.float32)
    for column in columns:
        model = LogisticRegression(C=8.0, solver="liblinear").fit(seen, labels[:, column])
        positive += model.predict_proba(wanted)[:, 1].astype(np.float32)
        dev_positive += model.predict_proba(checked)[:, 1].astype(np.float32)
    truth = np.asarray(dev_labels[:, columns].any(1))
    _log.info("positive emotions, dev AUC %.3f", auc(dev_positive, truth))
    _log.info("spearman %.3f", spearman(dev_positive, truth.astype(float)))
    rows = np.flatnonzero(toxic.part == 0)
    bad_words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    weights = np.where(toxic.origin[rows] == 1, 8.0, 1.0)
    model = LogisticRegression(C=8.0, solver="liblinear").fit(
        bad_words.fit_transform([toxic.texts[i] for i in rows]),
        toxic.toxic[rows],
        sample_weight=weights,
    )
    chance = model.predict_proba(bad_words.transform(texts))[:, 1]
    np.savez(given.out, positive=positive, toxic=chance.astype(np.float32))
    _log.info("%d comments: positive %.3f, toxic %.3f", len(texts), positive.mean(), chance.mean())


if __name__ == "__main__":
    main()
