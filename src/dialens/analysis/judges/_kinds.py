"""Which raters are measured: people or models, never both unasked."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dialens.analysis.judges._answers import with_judge
from dialens.analysis.judges._drift import later_raters
from dialens.base import DialensError, counted, listed
from dialens.corpus import RATER_KINDS, kind_of_rater

_HUMAN, _MODEL, _SIMULATED = RATER_KINDS
_NAMES = {
    _HUMAN: ("person", "people"),
    _SIMULATED: ("simulated rater", "simulated raters"),
    _MODEL: ("language model", "language models"),
}
_KIND = "_kind"


@dataclass(frozen=True)
class Chosen:
    """Ratings by raters of one kind.

    Attributes:
        ratings: Theirs alone.
        said: Who they are and who was left out, in a sentence; empty where all are people.
    """

    ratings: pl.DataFrame
    said: str


def raters_of_kinds(
    ratings: pl.DataFrame, kinds: Sequence[str] | None = None, *, occasions: bool = False
) -> Chosen:
    """The ratings of people, or of simulated raters where there are none, or else of models.

    A model is a rater once a repeat: where one name stands for several repeats, they are told
    apart. What it said on later occasions is left out.

    Args:
        ratings: With `rater` and `rater_kind`; kinds that are not known are people's.
        kinds: Those wanted instead, among `RATER_KINDS`.
        occasions: Whether to keep what models said on later occasions.

    Examples:
        >>> rows = {"rater": ["p", "m"], "rater_kind": ["person", "llm"], "value": [1.0, 2.0]}
        >>> raters_of_kinds(pl.DataFrame(rows)).said
        'Measured are people alone (1 person); 1 language model is left out: --raters llm'
    """
    known = kind_of_rater()
    kind = pl.when(known.is_in([_MODEL, _SIMULATED])).then(known).otherwise(pl.lit(_HUMAN))
    table = ratings.with_columns(kind.alias(_KIND))
    there = [one for one in (_HUMAN, _SIMULATED, _MODEL) if (table[_KIND] == one).any()]
    wanted = list(kinds or there[:1])
    kept = table.filter(pl.col(_KIND).is_in(wanted))
    if not kept.height:
        raise DialensError(
            f"There are no ratings by {listed([_NAMES[one][1] for one in wanted])}. These are of "
            f"{listed([_NAMES[one][1] for one in there])}: --raters {','.join(there)}"
        )
    said = _said(table, [one for one in there if one in wanted], there)
    machine = pl.col(_KIND) == _MODEL
    if not occasions:
        later = later_raters(kept.filter(machine))
        if later:
            kept = kept.filter(~(machine & pl.col("rater").is_in(later)))
            said += "; of models, the first occasion"
    if "repeat" in kept.columns:
        several = pl.col("repeat").n_unique().over("rater") > 1
        apart = pl.format("{} (repeat {})", "rater", "repeat")
        rater = pl.when(machine & several).then(pl.coalesce(apart, "rater")).otherwise("rater")
        kept = kept.with_columns(rater.alias("rater"))
    return Chosen(kept.drop(_KIND), said)


def _said(table: pl.DataFrame, wanted: Sequence[str], there: Sequence[str]) -> str:
    if there == [_HUMAN]:
        return ""
    judges = with_judge(table.filter(pl.col(_KIND) == _MODEL))["judge"].n_unique()
    count = {
        one: judges if one == _MODEL else table.filter(pl.col(_KIND) == one)["rater"].n_unique()
        for one in there
    }
    told = {one: counted(count[one], *_NAMES[one]) for one in there}
    who = listed([_NAMES[one][1] for one in wanted])
    said = f"Measured are {who} alone ({listed([told[one] for one in wanted])})"
    if _MODEL in wanted:
        said += ", a model once a repeat"
    out = [one for one in there if one not in wanted]
    if not out:
        return said
    verb = "is" if sum(count[one] for one in out) == 1 else "are"
    ways = " or ".join(f"--raters {one}" for one in out)
    return f"{said}; {listed([told[one] for one in out])} {verb} left out: {ways}"
