"""Raters with known biases, so that an analysis can be asked whether it finds them again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
import polars as pl

from dialens.corpus import RATINGS

_START = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SimulatedStudy:
    """A study whose truth is known: a design, and raters who follow it with their biases.

    A rater's own opinion is the mean of the quality, plus the item, plus the rater's level, plus
    what spills over from one quality to the other (halo), plus noise. A rater who sees an anchor
    moves a share `pull` of the way from that opinion to the anchor's value.

    Attributes:
        raters: In each cell.
        items: Rated by everybody.
        means: Of each quality without any anchor.
        anchors: Levels of the anchor, with the pull each has.
        layouts: Levels of the layout, with the shift each brings.
        deadlines: Levels of the deadline, with the shift each brings.
        anchor_value: What the anchor says.
        sd_item: How far items differ.
        sd_rater: How far raters' levels differ.
        sd_halo: What a rater thinks of an item, whatever is asked.
        sd_noise: Everything else.
        fatigue: How much ratings change from the first to the last of a session.
        position: How much ratings change from one place on the screen to the next.
        round_share: Of ratings given as multiples of ten.
        dropout: Share of raters who stop somewhere on the way.
        speeders: Share of raters who click through in a tenth of the time.
        straight_liners: Share of raters who always give the same number.
        failing: Share of raters who fail a check.
    """

    raters: int = 20
    items: int = 30
    means: Mapping[str, float] = field(
        default_factory=lambda: {"readability": 65.0, "coherence": 55.0}
    )
    anchors: Mapping[str, float] = field(default_factory=lambda: {"none": 0.0, "both": 0.3})
    layouts: Mapping[str, float] = field(
        default_factory=lambda: {"together": 0.0, "one per screen": 0.0}
    )
    deadlines: Mapping[str, float] = field(default_factory=lambda: {"none": 0.0})
    anchor_value: float = 100.0
    sd_item: float = 10.0
    sd_rater: float = 8.0
    sd_halo: float = 0.0
    sd_noise: float = 10.0
    fatigue: float = 0.0
    position: float = 0.0
    round_share: float = 0.0
    dropout: float = 0.0
    speeders: float = 0.0
    straight_liners: float = 0.0
    failing: float = 0.0

    def run(self, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Ratings (columns of `RATINGS`) and questionnaires of one run of the study.

        Examples:
            >>> ratings, questionnaires = SimulatedStudy(raters=2, items=3).run()
            >>> ratings.height, ratings["rater"].n_unique(), questionnaires.columns
            (48, 8, ['study', 'rater', 'question', 'answer'])
        """
        rng = np.random.default_rng(seed)
        qualities = list(self.means)
        item_effects = rng.normal(0, self.sd_item, (self.items, len(qualities)))
        rows: list[dict[str, object]] = []
        answers: list[dict[str, object]] = []
        cells = list(product(self.anchors, self.layouts, self.deadlines))
        for number, cell in enumerate(cells * self.raters):
            name = f"p{number:04d}"
            rows += self._session(name, cell, item_effects, qualities, rng)
            answers += self._answers(name, qualities, rng)
        result = pl.DataFrame(rows, schema=RATINGS)
        schema = ["study", "rater", "question", "answer"]
        return result, pl.DataFrame(answers, schema=dict.fromkeys(schema, pl.String))

    def _session(
        self,
        name: str,
        cell: tuple[str, str, str],
        item_effects: np.ndarray,
        qualities: Sequence[str],
        rng: np.random.Generator,
    ) -> list[dict[str, object]]:
        anchor, layout, deadline = cell
        pull = self.anchors[anchor]
        level = rng.normal(0, self.sd_rater) + self.layouts[layout] + self.deadlines[deadline]
        order = rng.permutation(self.items)
        last = self.items
        if rng.random() < self.dropout:
            last = int(rng.integers(2, self.items)) if self.items > 2 else self.items
        pace = 9_000 * np.exp(rng.normal(0, 0.3)) * (0.1 if rng.random() < self.speeders else 1)
        flat = float(rng.integers(4, 10) * 10) if rng.random() < self.straight_liners else None
        clock, rows = _START, []
        for at, item in enumerate(order[:last]):
            halo = rng.normal(0, self.sd_halo) if self.sd_halo else 0.0
            for place, quality in enumerate(qualities):
                own = self.means[quality] + item_effects[item, place] + level + halo
                own += rng.normal(0, self.sd_noise)
                own += self.fatigue * at / max(self.items - 1, 1) + self.position * (at % 3)
                value = (1 - pull) * own + pull * self.anchor_value
                value = round(value, -1) if rng.random() < self.round_share else round(value, 1)
                active = int(pace * np.exp(rng.normal(0, 0.2)))
                rows.append(
                    {
                        "study": "simulated",
                        "rater": name,
                        "rater_kind": "simulated",
                        "level": "turn",
                        "system": "sim",
                        "agent": f"agent{item % 3}",
                        "dialog": f"d{item // 3:03d}",
                        "turn": int(item % 3),
                        "quality": quality,
                        "scale": json.dumps({"kind": "magnitude", "modulus": self.anchor_value}),
                        "value": max(value, 1.0) if flat is None else flat,
                        "condition": " / ".join(cell),
                        "factors": json.dumps(
                            {"anchor": anchor, "layout": layout, "deadline": deadline}
                        ),
                        "position": at % 3,
                        "order": at,
                        "anchor": None if anchor == "none" else f"{self.anchor_value:g}",
                        "shown_at": clock,
                        "answered_at": clock + timedelta(milliseconds=active),
                        "active_ms": active,
                    }
                )
                clock += timedelta(milliseconds=active)
        return rows

    def _answers(
        self, name: str, qualities: Sequence[str], rng: np.random.Generator
    ) -> list[dict[str, object]]:
        ranking = [*qualities, "novelty", "diversity", "specificity", "engagement"]
        wanted = np.argsort(np.arange(len(ranking)) + rng.normal(0, 2, len(ranking)))
        given = {
            "evaluated_conversations": "yes" if rng.random() < 0.35 else "no",
            "talked_to_chatbot": "yes" if rng.random() < 0.4 else "no",
            "preferred_scale": "magnitude" if rng.random() < 0.55 else "likert",
            "ranking_of_qualities": json.dumps([ranking[i] for i in wanted]),
            "check_1": "failed" if rng.random() < self.failing else "passed",
        }
        return [
            {"study": "simulated", "rater": name, "question": question, "answer": answer}
            for question, answer in given.items()
        ]
