"""Which cell the next participant goes to, and when enough people have taken part."""

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field as Setting
from pydantic import model_validator

from dialens.base import did_you_mean
from dialens.studies.design._conversations import AGENT
from dialens.studies.design._items import Section, misplaced

if TYPE_CHECKING:
    from dialens.studies.design._design import Design

_NUMBERS = ("likert", "slider", "number", "choice", "yes_no")


class Allocation(Section):
    """Which cell the next participant goes to, and when it is enough."""

    kind: Literal["even", "precision"] = "even"
    """`even`: where the fewest are; `precision`: where most is gained for what is compared."""
    quality: str | None = None
    """With `precision`: what is judged."""
    compare: str | None = None
    """With `precision`: the factor between participants, or `agent`, whose levels are compared;
    what the study varies if not given, and the mean itself if it varies nothing."""
    half_width: float | None = Setting(default=None, gt=0)
    """With `precision`: nobody new is let in once every difference is known to plus or minus this,
    in points, by an interval that holds however often one looks."""
    at_most: int | None = Setting(default=None, ge=2)
    """With `precision`: people in all, whatever is known then; the sum of `targets` if not
    given. `targets` are the most that a cell takes."""
    at_least: int = Setting(default=10, ge=5, le=1000)
    """With `precision`: people in each cell before anybody looks; 5 or more, since intervals from
    fewer do not hold what they promise."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        needed = ("quality", "half_width")
        for name in (*needed, "compare", "at_most"):
            given = getattr(self, name) is not None
            if self.kind == "even" and given:
                raise misplaced(name, "goes with `kind: precision`")
            if self.kind == "precision" and not given and name in needed:
                raise misplaced(name, "is needed: what is to be known, and how precisely")
        return self


def allocation_problem(design: "Design") -> tuple[str, str] | None:
    """Where allocation does not go together with the rest of a study, and why not."""
    wanted = design.allocation
    if wanted.kind == "even":
        return None
    known = design.qualities
    if wanted.quality not in known:
        hint = did_you_mean(str(wanted.quality), known)
        return "allocation.quality", f"{wanted.quality!r} is no quality. {hint}"
    kind = known[str(wanted.quality)].instrument.kind
    if kind not in _NUMBERS or "scale" in design.factors:
        return "allocation.quality", (
            f"means of {'several scales' if 'scale' in design.factors else kind} have no one unit "
            f"to be precise in. Name a quality that is judged by {', '.join(_NUMBERS)}"
        )
    factors = _between(design)
    if wanted.compare is not None and wanted.compare not in (*factors, AGENT):
        hint = did_you_mean(wanted.compare, (*factors, AGENT))
        return "allocation.compare", (
            f"{wanted.compare!r} is neither a factor between participants nor `{AGENT}`. {hint}"
        )
    if wanted.compare is None and len(factors) > 1 and not _talks_between(design):
        return "allocation.compare", (
            f"several factors are varied between participants: name one of {', '.join(factors)}, "
            f"or `{AGENT}`"
        )
    return None


def compared(design: "Design") -> str:
    """What is compared: a factor between participants, or agents."""
    named = design.allocation.compare
    factors = _between(design)
    return named or (AGENT if _talks_between(design) or not factors else factors[0])


def _between(design: "Design") -> list[str]:
    return [name for name, factor in design.factors.items() if factor.assign == "between"]


def _talks_between(design: "Design") -> bool:
    return design.conversations is not None and design.conversations.assign == "between"
