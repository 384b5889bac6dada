r"""Measures an exported model as it will run: int8, through the package's own runtime.

    python -m recipes.encoder.assess --model FOLDER --emotions FOLDER --judged FOLDER \
        --before logits.npz --tasks emotion toxicity engagement --out metrics.json

Thresholds are chosen on development parts only. ``--before`` holds the student's logits before
quantisation (written by ``distil``), so that the cost of quantisation is stated in the metric.
"""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np

from dialens.models import EngagementScorer, Model, Precision, load, sigmoid
from dialens.statistics import area_under_curve, pearson, percentile_estimate, spearman
from recipes.encoder.chats import CONTEXT_TURNS
from recipes.encoder.emotion import read_goemotions, read_labels
from recipes.encoder.f1 import best_thresholds, f1_by_label, macro_f1
from recipes.encoder.judged import baselines, compare, read_judged
from recipes.encoder.toxicity import read_toxicity
from recipes.encoder.transfer import HEADS, broken

_log = logging.getLogger(__name__)
_TRUSTS = (0.0, 10.0, 30.0, 60.0, 100.0)


def choose_thresholds(chances: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, float]:
    """Choose how much to lean on calibration by five folds of the development part."""
    fold = np.arange(len(truth)) % 5
    best, chosen = -1.0, _TRUSTS[0]
    for trust in _TRUSTS:
        guess = np.zeros_like(truth)
        for one in range(5):
            rest = fold != one
            thresholds = best_thresholds(chances[rest], truth[rest], trust=trust)
            guess[~rest] = chances[~rest] >= thresholds
        value = macro_f1(guess, truth)
        if value > best:
            best, chosen = value, trust
    return best_thresholds(chances, truth, trust=chosen), chosen


def assess_emotion(model: Model, folder: Path, before: Any) -> dict[str, Any]:
    """Return thresholds and F1 on GoEmotions' test part."""
    names = read_labels(folder)
    (dev, dev_truth), (test, truth) = (read_goemotions(folder, part) for part in ("dev", "test"))
    thresholds, trust = choose_thresholds(model.predict(dev), dev_truth)
    guess = model.predict(test) >= thresholds
    value = percentile_estimate(
        lambda rows: macro_f1(guess[rows], truth[rows]), len(truth), resamples=500
    )
    found: dict[str, Any] = {
        "thresholds": [round(float(one), 4) for one in thresholds],
        "trust": trust,
        "test macro-F1": value.as_dict(digits=4),
        "test F1 by label": {
            name: round(float(one), 3)
            for name, one in zip(names, f1_by_label(guess, truth), strict=True)
        },
    }
    if before is not None:
        part = HEADS["emotion"]
        own, _ = choose_thresholds(sigmoid(before["emotion dev"][:, part]), dev_truth)
        earlier = sigmoid(before["emotion test"][:, part]) >= own
        found["test macro-F1 before quantisation"] = round(macro_f1(earlier, truth), 4)
    return found


def assess_toxicity(model: Model, folder: Path, before: Any) -> dict[str, Any]:
    """Return AUC on the held-out parts and a threshold that favours precision."""
    data = read_toxicity(folder)
    part = {name: np.flatnonzero(data.part == i) for name, i in (("dev", 1), ("test", 2))}
    score = {n: model.predict([data.texts[i] for i in r])[:, 0] for n, r in part.items()}
    threshold = precise_threshold(score["dev"], data.toxic[part["dev"]], data.origin[part["dev"]])
    found: dict[str, Any] = {"thresholds": [round(threshold, 4)]}
    for origin, name in ((0, "tweets"), (1, "comments")):
        rows = data.origin[part["test"]] == origin
        scores, truth = score["test"][rows], data.toxic[part["test"]][rows]
        value = percentile_estimate(
            lambda i, s=scores, t=truth: area_under_curve(s[i], t[i]),  # type: ignore[misc]
            len(truth),
            resamples=500,
        )
        found[f"test AUC, {name}"] = value.as_dict(digits=4)
        hit = scores >= threshold
        found[f"at the threshold, {name}"] = {
            "recall": round(float(hit[truth].mean()), 3),
            "false alarms": round(float(hit[~truth].mean()), 3),
            "n": len(truth),
        }
        if before is not None:
            earlier = before["toxicity test"][:, HEADS["toxicity"]][rows, 0]
            found[f"test AUC before quantisation, {name}"] = round(
                area_under_curve(earlier, truth), 4
            )
    return found


def precise_threshold(
    scores: np.ndarray, toxic: np.ndarray, origin: np.ndarray, *, precision: float = 0.95
) -> float:
    """Return the lowest threshold with that precision if half of the texts were toxic."""
    for threshold in np.arange(0.5, 0.995, 0.005):
        reached = []
        for one in np.unique(origin):
            hit = scores[origin == one] >= threshold
            truth = toxic[origin == one]
            true, false = hit[truth].mean(), hit[~truth].mean()
            reached.append(true / max(true + false, 1e-9))
        if np.mean(reached) >= precision:
            return float(threshold)
    return 0.995


def assess_engagement(model: Model, folder: Path, before: Any) -> dict[str, Any]:
    """Return correlations with human judgement beside those of the plain baselines."""
    scorer = EngagementScorer(model)
    found: dict[str, Any] = {}
    for one in read_judged(folder):
        inputs = one.inputs(CONTEXT_TURNS)
        found_logits = model.run_many(inputs, scorer.formula.tasks)
        logits = {task: values[:, 0].astype(float) for task, values in found_logits.items()}
        alone = scorer.combine(logits, one.replies)
        known = any(one.backgrounds)
        scores = scorer.score(inputs, backgrounds=one.backgrounds) if known else alone
        entry: dict[str, Any] = dict(compare(scores, one))
        if known:
            entry["without the background"] = _correlations(alone, one.mean)
        entry["parts"] = {
            task: _correlations(sigmoid(values), one.mean) for task, values in logits.items()
        }
        if before is not None:
            earlier = before[f"{one.name}|{CONTEXT_TURNS}"].astype(float)
            parts = {task: earlier[:, HEADS[task].start] for task in scorer.formula.tasks}
            entry["before quantisation, without a background"] = _correlations(
                scorer.combine(parts, one.replies), one.mean
            )
        entry["baselines"] = {
            name: _correlations(values, one.mean) for name, values in baselines(one.replies).items()
        }
        found[one.name] = entry
    return found


def _correlations(scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    return {
        "pearson": round(pearson(scores, truth), 4),
        "spearman": round(spearman(scores, truth), 4),
    }


def assess_validity(model: Model, folder: Path) -> dict[str, Any]:
    """Return how well comments are told from the same comments broken by rule."""
    texts, _ = read_goemotions(folder, "test")
    kept = [text for text in texts if len(text.split()) > 5]
    scores = model.predict(kept + broken(kept, np.random.default_rng(0)))[:, 0]
    truth = np.repeat([1.0, 0.0], len(kept))
    value = percentile_estimate(
        lambda rows: area_under_curve(scores[rows], truth[rows]), len(truth), resamples=500
    )
    return {"AUC, comments against broken ones": value.as_dict(digits=4)}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--emotions", type=Path, required=True)
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--tasks", nargs="+", required=True)
    parser.add_argument("--precision", choices=("int8", "fp32"), default="int8")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    before = np.load(options.before) if options.before else None
    precision: Precision = "fp32" if options.precision == "fp32" else "int8"
    found: dict[str, Any] = {}
    for task in options.tasks:
        model = load(options.model, task, precision=precision)
        if not isinstance(model, Model):
            raise TypeError("an exported folder is needed")
        if task == "emotion":
            found[task] = assess_emotion(model, options.emotions / "goemotions", before)
        elif task == "toxicity":
            found[task] = assess_toxicity(model, options.emotions, before)
        elif task == "validity":
            found[task] = assess_validity(model, options.emotions / "goemotions")
        else:
            found[task] = assess_engagement(model, options.judged, before)
        _log.info("%s", json.dumps(found[task]))
        options.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
