"""The data card of a Reddit Engagement Dataset: what is in it, what was left out, what is unknown.

The card says nothing about when or how fast it was made: the same data and options give the same
card, on every engine.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from dialens.base import atomic_file, sha256_file
from dialens.engagement.curation._data_card_page import page
from dialens.engagement.curation._label_options import LabelOptions
from dialens.engagement.curation._label_run import Runner
from dialens.engagement.curation._work_folder import Work

CARD: Final = "card.json"
CARD_PAGE: Final = "card.md"
DIMENSION_NAMES: Final = {
    "ee": "Emotional",
    "ae": "Attentional",
    "be": "Behavioural",
    "re": "Reply",
    "score": "EnDex",
}
"""The rows of Table 1 of the paper, in its order."""
PAPER_TABLE: Final = {
    "ee": (0.605, 0.273, 0.152, 0.120),
    "ae": (0.759, 0.127, 0.203, 0.100),
    "be": (0.659, 0.274, 0.318, 0.285),
    "re": (0.718, 0.154, 0.354, 0.980),
    "score": (0.709, 0.048, 0.259, 0.033),
}
"""Mean and deviation of engaging posts, then of the others (Xu et al. 2022, Table 1)."""
_PICO: Final = 10**12
_LARGEST: Final = 20
_OF_A_SOURCE: Final = ("source", "size", "sha256", "rejects", "damaged")


@dataclass
class Facts:
    """What the steps find out, gathered while they run."""

    rows: Mapping[str, int]
    reasons: dict[str, int] = field(default_factory=dict)
    medians: dict[str, float] = field(default_factory=dict)
    adjusted_medians: dict[str, float] = field(default_factory=dict)
    alphas: dict[str, float] = field(default_factory=dict)
    replaced: dict[str, float] = field(default_factory=dict)
    mean: float = 0.0
    deviation: float = 0.0
    classes: dict[int | None, dict[str, Any]] = field(default_factory=dict)
    subreddits: list[dict[str, Any]] = field(default_factory=list)
    overview: dict[str, int | None] = field(default_factory=dict)
    comments_seen: dict[str, int | None] = field(default_factory=dict)
    submissions: int = 0
    step_rows: dict[str, int] = field(default_factory=dict)
    sides: dict[str, dict[str, int]] = field(default_factory=dict)

    def take_reasons(self, rows: list[dict[str, Any]]) -> None:
        """Reasons against comments, by how many they took."""
        order = sorted(rows, key=lambda row: (-row["comments"], row["reason"]))
        self.reasons = {row["reason"]: int(row["comments"]) for row in order}

    def take_tables(self, runner: Runner) -> None:
        """What the last steps counted."""
        self.subreddits = sorted(
            runner.read("subreddits"), key=lambda row: (-row["posts"], row["subreddit"] or "")
        )
        self.overview = runner.read("overview")[0]
        self.comments_seen = runner.read("comments_seen")[0]
        self.submissions = runner.read("submissions_seen")[0]["submissions"]
        self.step_rows = {name: table.rows for name, table in runner.tables.items()}
        sides = (
            pl.scan_parquet(runner.parts("chosen"))
            .group_by("side", "label")
            .agg(posts=pl.len())
            .collect(engine="streaming")
        )
        self.sides = {
            side: {
                name: sum(
                    row["posts"]
                    for row in sides.iter_rows(named=True)
                    if row["side"] == side and row["label"] == value
                )
                for value, name in ((1, "engaging"), (0, "not_engaging"))
            }
            for side in ("train", "validation")
        }


@dataclass(frozen=True)
class DataCard:
    """The contents of ``card.json``."""

    content: Mapping[str, Any]

    @property
    def page(self) -> str:
        """The same for people, as Markdown."""
        return page(self.content)


def make_card(
    work: Work,
    options: LabelOptions,
    facts: Facts,
    files: Mapping[str, int],
    models: Mapping[str, str | None],
    red: Path,
) -> DataCard:
    """Put a card together from what the steps found and the files that were written."""
    sizes = {
        name: int(facts.classes.get(value, {"posts": 0})["posts"])
        for value, name in ((1, "engaging"), (0, "not_engaging"), (None, "between"))
    }
    comments = int(facts.comments_seen["comments"] or 0)
    counts = {
        "comments_read": work.rows["comments"],
        "comment_duplicates": work.rows["comments"] - comments,
        "comments": comments,
        "submissions_read": work.rows["submissions"],
        "submission_duplicates": work.rows["submissions"] - facts.submissions,
        "submissions": facts.submissions,
        "rejected": files["rejected"],
        "posts": files["posts.parquet"],
        **sizes,
        "train": files["train.parquet"],
        "validation": files["validation.parquet"],
    }
    content = {
        "format": "engagement-card-1",
        "counts": counts,
        "sides": facts.sides,
        "reasons": facts.reasons,
        "table_1": table_1(facts.classes),
        "score": {"mean": facts.mean, "deviation": facts.deviation},
        "medians": facts.medians,
        "medians_of_adjusted": facts.adjusted_medians,
        "alphas": facts.alphas,
        "zero_medians_replaced": facts.replaced,
        "subreddits": {"number": len(facts.subreddits), "largest": facts.subreddits[:_LARGEST]},
        "dates": {
            "posts": [facts.overview["first_created"], facts.overview["last_created"]],
            "comments": [facts.comments_seen["first_created"], facts.comments_seen["last_created"]],
            "posts_undated": facts.overview["undated"],
        },
        "missing": {
            "comments_without_score": facts.comments_seen["without_score"],
            "comments_edit_unknown": facts.comments_seen["edit_unknown"],
            "comments_deleted": facts.comments_seen["deleted"],
            "comments_without_parent": facts.reasons.get("no parent in the data", 0),
            "posts_without_votes": facts.overview["without_votes"],
            "replies_to_posts": facts.overview["replies"],
            "replies_edit_unknown": facts.overview["edit_unknown_replies"],
        },
        "posts_that_answer_a_submission": facts.overview["answer_a_submission"],
        "options": asdict(options),
        "models": dict(models),
        "steps": facts.step_rows,
        "sources": [
            {key: source.get(key) for key in _OF_A_SOURCE}
            for source in work.record.get("sources", [])
        ],
        "work": work.identity,
        "files": {
            name: {"rows": rows, "sha256": sha256_file(red / name)}
            for name, rows in files.items()
            if (red / name).is_file()
        },
    }
    return DataCard(content)


def write_card(card: DataCard, red: Path) -> None:
    """Write card.json and card.md."""
    text = json.dumps(card.content, indent=2, ensure_ascii=False, allow_nan=False)
    for name, written in ((CARD, text + "\n"), (CARD_PAGE, card.page)):
        with atomic_file(red / name) as scratch:
            scratch.write_text(written, encoding="utf-8")


def table_1(classes: Mapping[int | None, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Means and deviations of the dimensions in both classes, as Table 1 of the paper has them.

    Over all labelled posts, before balancing: what is drawn for balance would only add noise.
    """
    rows = []
    for name, title in DIMENSION_NAMES.items():
        row: dict[str, Any] = {"dimension": name, "name": title}
        for value, side in ((1, "engaging"), (0, "not_engaging")):
            row[side] = _mean(classes[value], name)
        high, high_sd, low, low_sd = PAPER_TABLE[name]
        row["paper"] = {
            "engaging": {"mean": high, "deviation": high_sd},
            "not_engaging": {"mean": low, "deviation": low_sd},
        }
        rows.append(row)
    return rows


def _mean(sums: Mapping[str, Any], name: str) -> dict[str, float | int] | None:
    count = int(sums.get(f"{name}_posts", sums["posts"]))
    if not count:
        return None
    mean, deviation = mean_and_deviation(
        count, int(sums[f"{name}_total"]), int(sums[f"{name}_squares"])
    )
    return {"posts": count, "mean": mean, "deviation": deviation}


def mean_and_deviation(count: int, total: int, squares: int) -> tuple[float, float]:
    """Mean and population deviation from exact sums in steps of 1e-12.

    Examples:
        >>> mean_and_deviation(2, 4 * 10**12, 10 * 10**24)
        (2.0, 1.0)
    """
    variance = count * squares - total * total  # whole numbers: zero is zero
    return total / (count * _PICO), math.sqrt(variance) / (count * _PICO)
