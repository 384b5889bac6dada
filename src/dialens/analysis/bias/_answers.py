"""What participants said about the task itself: qualities they rank, scales they prefer."""

import json
import re

import numpy as np
import polars as pl
from scipy import stats

from dialens.analysis.bias._cells import USUAL, Resampling, participant_draws
from dialens.analysis.bias._data import StudyData

RANKING = pl.Schema(
    {
        "question": pl.String,
        "quality": pl.String,
        "mean_rank": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "share_first": pl.Float64,
        "share_top_two": pl.Float64,
        "n_raters": pl.Int64,
    }
)
PREFERENCE = pl.Schema(
    {
        "question": pl.String,
        "answer": pl.String,
        "n_raters": pl.Int64,
        "of": pl.Int64,
        "share": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
)


def ranking(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Qualities by how important participants find them, from questions that ask for a ranking.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=10, items=3).run())
        >>> ranking(data)["quality"].to_list()[:2]
        ['readability', 'coherence']
    """
    rows: list[dict[str, object]] = []
    for (question,), part in data.answers.group_by(["question"], maintain_order=True):
        if "rank" not in str(question).lower():
            continue
        given = [order for order in map(ranks, part["answer"]) if order]
        names = list(dict.fromkeys(name for order in given for name in order))
        if not given or len(names) < 2:
            continue
        table = np.full((len(given), len(names)), np.nan)
        for row, order in enumerate(given):
            for rank, name in enumerate(order, start=1):
                table[row, names.index(name)] = rank
        drawn = participant_draws(np.zeros(len(given), dtype=np.int64), draws)
        ranked = (~np.isnan(table)).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = drawn.sums(np.nan_to_num(table)) / drawn.sums(ranked)
        tail = (1 - draws.confidence) / 2
        for at, name in enumerate(names):
            low, high = np.nanquantile(means[:, at], [tail, 1 - tail])
            rows.append(
                {
                    "question": question,
                    "quality": name,
                    "mean_rank": float(np.nanmean(table[:, at])),
                    "low": float(low),
                    "high": float(high),
                    "share_first": float((table[:, at] == 1).mean()),
                    "share_top_two": float((table[:, at] <= 2).mean()),
                    "n_raters": int(ranked[:, at].sum()),
                }
            )
    return pl.DataFrame(rows, schema=RANKING).sort("question", "mean_rank")


def preferred(data: StudyData, *, confidence: float = 0.95) -> pl.DataFrame:
    """Which scale participants prefer, from questions that ask for a preference.

    Intervals are Wilson's (1927).
    """
    rows: list[dict[str, object]] = []
    for (question,), part in data.answers.group_by(["question"], maintain_order=True):
        if "prefer" not in str(question).lower():
            continue
        counts = part["answer"].str.strip_chars().value_counts(sort=True)
        for answer, count in counts.iter_rows():
            found = stats.binomtest(count, part.height)
            bounds = found.proportion_ci(confidence, method="wilson")
            rows.append(
                {
                    "question": question,
                    "answer": answer,
                    "n_raters": count,
                    "of": part.height,
                    "share": count / part.height,
                    "low": float(bounds.low),
                    "high": float(bounds.high),
                }
            )
    return pl.DataFrame(rows, schema=PREFERENCE)


def ranks(answer: str) -> list[str]:
    """The qualities in order, from JSON or from text with separators.

    Examples:
        >>> ranks('["a", "b"]'), ranks("a > b > c"), ranks('{"a": 2, "b": 1}')
        (['a', 'b'], ['a', 'b', 'c'], ['b', 'a'])
    """
    try:
        value = json.loads(answer)
    except ValueError:
        return [part.strip().lower() for part in re.split(r"[>;,|]", answer) if part.strip()]
    if isinstance(value, list):
        return [str(name).strip().lower() for name in value]
    if isinstance(value, dict):
        return [str(name).strip().lower() for name, _ in sorted(value.items(), key=lambda p: p[1])]
    return []
