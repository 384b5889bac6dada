"""What `dialens power` is asked, apart from numbers of raters and items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import polars as pl

from dialens.base import Advance, DialensError
from dialens.statistics.power import (
    SIMULATIONS,
    Advice,
    Design,
    LogitParts,
    PlannedPower,
    VarianceParts,
    advise,
    curve_of,
    icc_items,
    icc_precision,
    power_between,
    power_binary,
    power_curve,
    power_pairwise,
    power_within,
)

Outcome = Literal["mean", "binary", "pairwise", "icc"]

_PRECISE = 4_000
_MOST = 100
_MOST_RATINGS = 20_000


@dataclass(frozen=True)
class Question:
    """What is planned.

    Attributes:
        outcome: What is measured.
        parts: What ratings are made of; in logits where they are yes or no.
        design: What all designs share.
        first: Share of the first agent, of a binary outcome.
        ties: Share of ties, of comparisons.
        rater_share: Share of variance from raters' levels, of an ICC.
        each: How many items each rater rates in a comparison between raters; all if None.
        width: The width of an interval that is wanted.
        margin: The smallest difference that matters, if equivalence is to be shown.
        alpha: Of each test.
        simulations: Studies drawn for each design.
        seed: Random seed.
    """

    outcome: Outcome
    parts: VarianceParts | LogitParts
    design: Design
    first: float = 0.5
    ties: float = 0.0
    rater_share: float = 0.0
    each: int | None = None
    width: float | None = None
    margin: float | None = None
    alpha: float = 0.05
    simulations: int = SIMULATIONS
    seed: int = 0

    @property
    def default_raters(self) -> list[int]:
        """Numbers to try where none are given: agreement and cells need several."""
        if self.design.between:
            return [10, 20, 40, 80]
        return [2, 3, 5, 10] if self.outcome == "icc" else [1, 2, 3, 5, 10]

    @property
    def stated(self) -> dict[str, float]:
        """The standard deviations that play a part."""
        if self.outcome == "icc":
            return {}
        left_out = {"rater_agent"} if self.design.between else {"item_cell"}
        if self.outcome == "pairwise":
            left_out |= {"dialog", "rater_agent"}
        return {name: sd for name, sd in vars(self.parts).items() if name not in left_out}

    def refuse_what_does_not_belong(self, *, of_study: bool, dialogs: bool) -> None:
        """Refuse options that this outcome or design has no use for.

        Args:
            of_study: Whether raters and items are those of a study, which may hold both designs.
            dialogs: Whether numbers of dialogues were given.
        """
        single = self.outcome in ("pairwise", "icc")
        between = self.design.between
        moved = isinstance(self.parts, VarianceParts) and self.parts.item_cell > 0
        favourites = self.parts.rater_agent > 0
        for given, option, why in (
            (between and single, "--design between", f"--outcome {self.outcome}"),
            (between and self.design.shared_raters, "--shared-raters", "--design between"),
            (between and dialogs, "--dialogs", "--design between"),
            (single and dialogs, "--dialogs", f"--outcome {self.outcome}"),
            (between and favourites and not of_study, "--rater-agent-sd", "--design between"),
            (moved and not between and not of_study, "--item-cell-sd", "--design within"),
            (self.margin is not None and single, "--equivalence", f"--outcome {self.outcome}"),
            (self.design.scale is not None and self.outcome != "mean", "--scale", "shares"),
            (self.outcome == "icc" and self.parts != LogitParts(), "A standard deviation", "ICC"),
            (self.each is not None and not between, "--each", "--design within"),
            (self.each is not None and self.is_curve, "--each", "--scale"),
            (self.each is not None and self.outcome == "binary", "--each", "--outcome binary"),
            (self.ties > 0 and self.outcome != "pairwise", "--ties", f"--outcome {self.outcome}"),
            (
                self.rater_share > 0 and self.outcome != "icc",
                "--rater-share",
                f"--outcome {self.outcome}",
            ),
        ):
            if given:
                raise DialensError(f"{option} has no place beside {why}; leave one of them out.")

    @property
    def is_curve(self) -> bool:
        """Whether `power_curve` answers it, which also gives the width of one agent's mean."""
        return self.outcome == "mean" and (not self.design.between or bool(self.design.scale))

    def planned(self, raters: int, items: int, dialogs: int, effect: float) -> PlannedPower:
        """One study."""
        design = replace(self.design, raters=raters, items=items, dialogs=dialogs)
        drawn = {"simulations": self.simulations, "seed": self.seed}
        if self.outcome == "icc":
            return icc_precision(
                effect,
                raters=raters,
                items=items,
                width=self.width,
                shared_raters=design.shared_raters,
                rater_share=self.rater_share,
                alpha=self.alpha,
                **drawn,
            )
        if isinstance(self.parts, VarianceParts):
            if design.between and design.scale is None:
                return power_between(
                    self.parts,
                    effect,
                    raters=raters,
                    items=items,
                    each=self.each,
                    alpha=self.alpha,
                    margin=self.margin,
                )
            return power_within(
                self.parts, effect, design, alpha=self.alpha, margin=self.margin, **drawn
            )
        if self.outcome == "pairwise":
            return power_pairwise(
                0.5 + effect,
                raters=raters,
                items=items,
                ties=self.ties,
                parts=self.parts,
                shared_raters=design.shared_raters,
                alpha=self.alpha,
                **drawn,
            )
        return power_binary(
            self.first,
            self.first + effect,
            design,
            parts=self.parts,
            alpha=self.alpha,
            margin=self.margin,
            **drawn,
        )

    def table(
        self,
        raters: Sequence[int],
        items: Sequence[int],
        dialogs: Sequence[int],
        effects: Sequence[float],
        advance: Advance,
    ) -> pl.DataFrame:
        """A row a study, for every combination of numbers."""
        if self.is_curve and isinstance(self.parts, VarianceParts):
            return power_curve(
                self.parts,
                raters=raters,
                items=items,
                dialogs=dialogs,
                effects=effects,
                design=self.design,
                simulations=self.simulations,
                alpha=self.alpha,
                margin=self.margin,
                seed=self.seed,
                advance=advance,
            )
        found = []
        for numbers in self._designs(raters, items, dialogs, effects):
            found.append(self.planned(*numbers))
            advance(1)
        return curve_of(found)

    def _designs(
        self,
        raters: Sequence[int],
        items: Sequence[int],
        dialogs: Sequence[int],
        effects: Sequence[float],
    ) -> Iterator[tuple[int, int, int, float]]:
        """Every combination; for an ICC also the fewest items that make it precise enough."""
        for r, d, effect in product(raters, dialogs, effects):
            tried = set(items)
            if self.outcome == "icc" and self.width and not self.rater_share:
                needed = icc_items(
                    effect,
                    self.width,
                    raters=r,
                    shared_raters=self.design.shared_raters,
                    alpha=self.alpha,
                )
                tried |= {needed} if needed else set()
            for i in sorted(tried):
                yield r, i, d, effect

    def advice(self, row: dict[str, float], wanted: float) -> Advice | None:
        """What more items and more raters bring to one study of the table."""
        raters, items, dialogs = (int(row[name]) for name in ("raters", "items", "dialogs"))
        computed = row["simulations"] == 0 or row["power_exact"] is not None
        precise = replace(self, simulations=max(self.simulations, _PRECISE))

        def plan(more_raters: int, more_items: int) -> PlannedPower:
            large = more_raters * more_items > 2 * raters * items
            asked = self if large else precise
            if self.each is not None:  # as large a part of the items as before
                asked = replace(asked, each=max(1, round(self.each * more_items / items)))
            return asked.planned(more_raters, more_items, dialogs, row["effect"])

        most = most_to_try(int(row["ratings"]), computed=computed)
        return advise(plan, raters, items, wanted=wanted, most=most)


def most_to_try(ratings: int, *, computed: bool) -> int:
    """How many times the present number is tried: what is simulated must end in a few seconds.

    Examples:
        >>> most_to_try(240, computed=False), most_to_try(8_000, computed=False)
        (83, 2)
    """
    return _MOST if computed else min(_MOST, max(2, _MOST_RATINGS // ratings))
