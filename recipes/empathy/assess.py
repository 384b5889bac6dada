"""Holds empathy and the metrics beside it against people's judgements that it was not fitted to.

python -m recipes.empathy.assess --data DATA --size small --out small.json

``DATA`` holds ``traits/epitome_*`` (Sharma et al. 2020: support replies with levels 0 to 2 of
emotional reaction, interpretation and exploration) and ``human_judgements/ieval.jsonl.gz``
(Svikhnushina et al. 2022: chats of four bots with people who told of something good or bad).
Neither was trained on. Choices (how the parts are put together, and what else to write into
``written.txt``) were made on one half of each, by a hash of the seeker's post or of the rater;
figures are of the other half, read once.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

from dialens.corpus import read as read_corpus
from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet, score

METRICS = [
    *("empathy", "emotion_caring", "engagement", "engagement_reactions", "relevance"),
    *("empathic_concern", "state_empathy", "agreeableness", "length", "specificity", "question"),
]
MECHANISMS = {
    "emotional reactions": "emotional-reactions",
    "interpretations": "interpretations",
    "explorations": "explorations",
}
QUALITIES = ("polite", "attentive", "understood emotions", "responded to emotions", "likable")
DRAWS = 500


def main() -> None:
    """Score both sets, correlate, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", choices=("small", "base"), required=True)
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, help="replies and chats at most, to try it out")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for read in (epitome, ieval):
        name, dialogs, judged = read(options.data)
        scored = values(dialogs[: options.most], options.metrics, options.size)
        figures[name] = correlations(scored, judged)
        options.out.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
        print(json.dumps(figures[name], indent=1))


def held_out(key: str) -> bool:
    """Whether a seeker or rater belongs to the half that no choice was made on."""
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2 == 1


Judged = dict[str, dict[str, float]]


def epitome(data: Path) -> tuple[str, list[dict[str, Any]], Judged]:
    """The held-out half of EPITOME: a dialogue a reply, and its levels."""
    dialogs: dict[str, dict[str, Any]] = {}
    judged: Judged = {}
    for mechanism, part in MECHANISMS.items():
        with gzip.open(
            data / f"traits/epitome_{part}-reddit.csv.gz", "rt", encoding="utf-8"
        ) as lines:
            for row in csv.DictReader(lines):
                if not held_out(row["sp_id"]):
                    continue
                key = f"{row['sp_id']}-{row['rp_id']}"
                said = [("user", row["seeker_post"]), ("assistant", row["response_post"])]
                dialogs.setdefault(key, _dialog(key, "people", said))
                judged.setdefault(key, {})[mechanism] = float(row["level"])
    return "EPITOME, held-out half", list(dialogs.values()), judged


def ieval(data: Path) -> tuple[str, list[dict[str, Any]], Judged]:
    """The chats of iEval's held-out raters, and what they said of them."""
    dialogs, judged = [], {}
    with gzip.open(data / "human_judgements/ieval.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if not held_out(row["raters"][0]):
                continue
            said = [
                ("user" if turn["speaker"] == "user" else "assistant", turn["text"])
                for turn in row["context"]
            ]
            dialogs.append(_dialog(row["unit_id"], row["system"], said))
            judged[row["unit_id"]] = {name: float(row["ratings"][name][0]) for name in QUALITIES}
    return "iEval, held-out raters", dialogs, judged


def _dialog(key: str, agent: str, said: Sequence[tuple[str, str]]) -> dict[str, Any]:
    messages = [{"role": role, "content": text} for role, text in said]
    return {"id": key, "agent": agent, "system": agent, "messages": messages}


def values(dialogs: list[dict[str, Any]], metrics: Sequence[str], size: str) -> pl.DataFrame:
    """A row a dialogue: its agent and a column a metric."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dialogs.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in dialogs), "utf-8")
        corpus = read_corpus(file)
        scorers = ScorerSet(ScorerContext(models=ModelChoice(size)))
        scores = score(corpus, metrics=list(metrics), resources=Resources(scorers=scorers))
        table = scores.table.lazy().filter(pl.col("level") == "dialog")
        long = table.select("agent", "dialog", "metric", "value").collect()
    return long.pivot(on="metric", index=["agent", "dialog"], values="value")


def correlations(scored: pl.DataFrame, judged: Judged) -> dict[str, Any]:
    """Spearman correlations by metric and quality, pooled and, with several agents, within them."""
    rng = np.random.default_rng(0)
    agents = scored["agent"].to_numpy()
    several = len(set(agents)) > 1
    qualities = list(next(iter(judged.values())))
    figures: dict[str, Any] = {}
    for metric in scored.columns[2:]:
        own = scored[metric].to_numpy().astype(np.float64)
        for quality in qualities:
            theirs = np.array([judged[key][quality] for key in scored["dialog"]])
            there = ~np.isnan(own)
            parts = {"": np.zeros(there.sum())}
            if several:
                parts = {", pooled": np.zeros(there.sum()), ", within agents": agents[there]}
            for how, groups in parts.items():
                figures.setdefault(quality + how, {})[metric] = _estimate(
                    own[there], theirs[there], groups, rng
                )
    return figures


def _estimate(
    own: np.ndarray, theirs: np.ndarray, groups: np.ndarray, rng: np.random.Generator
) -> dict[str, float]:
    """The mean over groups of Spearman's correlation, with a bootstrap interval over dialogues."""
    members = [np.flatnonzero(groups == one) for one in np.unique(groups)]
    draws = [
        np.mean([_spearman(own, theirs, rng.choice(rows, len(rows))) for rows in members])
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    value = np.mean([_spearman(own, theirs, rows) for rows in members])
    rounded = {"value": value, "low": low, "high": high}
    return {**{name: round(float(one), 3) for name, one in rounded.items()}, "n": len(own)}


def _spearman(own: np.ndarray, theirs: np.ndarray, rows: np.ndarray) -> float:
    return float(np.corrcoef(rankdata(own[rows]), rankdata(theirs[rows]))[0, 1])


if __name__ == "__main__":
    main()
