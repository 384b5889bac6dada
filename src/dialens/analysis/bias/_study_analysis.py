"""Everything that the analysis of a rating study found."""

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dialens.analysis.bias._agreement_differences import AGREEMENT_DIFFERENCES
from dialens.analysis.bias._cells import Resampling
from dialens.analysis.bias._data import StudyData
from dialens.analysis.bias._paper import PaperTable
from dialens.analysis.bias._raters import FLAGS, RaterFlags
from dialens.analysis.bias._scales import Note
from dialens.analysis.judges import DRIFT, JUDGE_PANEL, JUDGED_AGENTS, JudgeDesigns
from dialens.analysis.people import People
from dialens.base import DialensError


@dataclass(frozen=True)
class StudyAnalysis:
    """Everything that was found out about a study.

    Attributes:
        data: The study.
        draws: How participants were drawn.
        effects: What the design did to the ratings.
        paper: Tables 2 to 8 and figures 3 to 9 of the anchoring study.
        consistency_differences: Differences of agreement between conditions.
        split_effects: The anchor's effect within groups of raters.
        response_biases: Order effects, fatigue, halo, heaping.
        flags: Raters to look at twice.
        robustness: The main effects without them.
        variance: How the variance is shared between levels, per quality.
        notes: What could not be computed or was left out, and why.
        categories: Fleiss' kappa and Krippendorff's alpha of qualities judged in categories.
        labels: What each item is, where ratings are labels: by majority, and by two models.
        label_raters: How far each rater is trusted by these models.
        people: What people said of the agents.
        retest: How far raters agree with themselves in later waves.
        judges: Language models held against people, a row a judge and quality.
        beside: The design's effects on people and on each language model, where both rated.
        judge_effects: The design's effects on each language model.
        leanings: What tags, variants, length and place did to ratings and choices.
        equal_length: Differences between agents if their responses were equally long.
        judged_agents: Agents from people's ratings of a part and a judge's of more.
        drift: How far language models moved that were asked the same again; everything else is of
            their first occasion.
        agreement_differences: Differences of kappas and alphas between conditions.
        judge_designs: Where the variance of judges' ratings lies, and what other designs come to.
        judge_panel: Agreement of people when each judge joins them.
    """

    data: StudyData
    draws: Resampling
    effects: pl.DataFrame
    paper: tuple[PaperTable, ...]
    consistency_differences: pl.DataFrame
    split_effects: pl.DataFrame
    response_biases: pl.DataFrame
    flags: RaterFlags
    robustness: pl.DataFrame
    variance: pl.DataFrame
    notes: tuple[Note, ...]
    categories: pl.DataFrame
    labels: pl.DataFrame
    label_raters: pl.DataFrame
    people: People
    retest: pl.DataFrame
    judges: pl.DataFrame
    beside: pl.DataFrame
    judge_effects: pl.DataFrame
    leanings: pl.DataFrame
    equal_length: pl.DataFrame
    judged_agents: pl.DataFrame = field(default_factory=JUDGED_AGENTS.to_frame)
    drift: pl.DataFrame = field(default_factory=DRIFT.to_frame)
    agreement_differences: pl.DataFrame = field(default_factory=AGREEMENT_DIFFERENCES.to_frame)
    judge_designs: JudgeDesigns = field(default_factory=JudgeDesigns)
    judge_panel: pl.DataFrame = field(default_factory=JUDGE_PANEL.to_frame)

    def table(self, key: str) -> pl.DataFrame:
        """A table of the paper by key, e.g. `table5`; empty if it could not be made."""
        for result in self.paper:
            if result.key == key:
                return result.table
        raise DialensError(
            f"There is no {key!r}. There are: {', '.join(p.key for p in self.paper)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists and dictionaries, for JSON."""
        ratings = self.data.ratings
        return {
            "study": {
                "raters": self.data.raters.height,
                "ratings": ratings.height,
                "items": ratings["item"].n_unique(),
                "qualities": self.data.qualities,
                "factors": {name: self.data.levels(name) for name in self.data.factors},
                "normalise": dict(self.data.normalise),
            },
            "agents": self.people.agents.to_dicts(),
            "lower_is_better": sorted(self.people.lower),
            "agent_differences": self.people.agent_differences.to_dicts(),
            "distributions": self.people.distributions.to_dicts(),
            "wins": self.people.wins.to_dicts(),
            "draws": vars(self.draws),
            "effects": self.effects.to_dicts(),
            "consistency_differences": self.consistency_differences.to_dicts(),
            "agreement_differences": self.agreement_differences.to_dicts(),
            "split_effects": self.split_effects.to_dicts(),
            "response_biases": self.response_biases.to_dicts(),
            "category_agreement": self.categories.to_dicts(),
            "retest": self.retest.to_dicts(),
            "labels": self.labels.to_dicts(),
            "label_raters": self.label_raters.to_dicts(),
            "variance": self.variance.to_dicts(),
            "flags": {
                flag: {"meaning": FLAGS[flag], "raters": self.flags.flagged(flag)} for flag in FLAGS
            },
            "raters": self.flags.raters.to_dicts(),
            "robustness": self.robustness.to_dicts(),
            "paper": {
                result.key: {
                    "label": result.label,
                    "title": result.title,
                    "rows": result.table.to_dicts(),
                    "reason": result.reason,
                }
                for result in self.paper
            },
            "judges": self.judges.to_dicts(),
            "people_and_judges": self.beside.to_dicts(),
            "judged_agents": self.judged_agents.to_dicts(),
            "judge_variance": self.judge_designs.variance.to_dicts(),
            "judge_designs": self.judge_designs.designs.to_dicts(),
            "judge_panel": self.judge_panel.to_dicts(),
            "judge_effects": self.judge_effects.to_dicts(),
            "leanings": self.leanings.to_dicts(),
            "equal_length": self.equal_length.to_dicts(),
            "drift": self.drift.to_dicts(),
            "notes": [vars(note) for note in self.notes],
        }
