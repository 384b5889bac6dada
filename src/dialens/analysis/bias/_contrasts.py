"""Which differences a design asks about: a name, the question, and weights over conditions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.analysis.bias._data import NONE, StudyData
from dialens.statistics import Floats


@dataclass(frozen=True)
class Contrast:
    """One difference: a name, the question it answers, and weights over cells."""

    effect: str
    question: str
    weights: Floats


def contrasts(data: StudyData, cells: pl.DataFrame) -> Iterable[Contrast]:
    """Every difference between conditions that the design allows, the anchor's first."""
    if "anchor" in data.factors:
        yield from _of_anchor(data, cells)
    for factor in (name for name in data.factors if name != "anchor"):
        first, *others = data.levels(factor)
        for level in others:
            weights = contrast_weights(cells, factor, [level], [first])
            if weights is not None:
                name = factor if len(others) == 1 else f"{factor} {level}"
                yield Contrast(name, f"{factor} “{level}” against “{first}”", weights)
    yield from _interactions(data, cells)


def anchor_contrast(data: StudyData, cells: pl.DataFrame) -> Contrast | None:
    """Raters with an anchor against those without; None where one of the two is missing."""
    if "anchor" not in data.factors or NONE not in data.levels("anchor"):
        return None
    weights = contrast_weights(cells, "anchor", _shown(data), [NONE])
    if weights is None:
        return None
    return Contrast("anchor", "raters who saw an anchor against those who did not", weights)


def contrast_weights(
    cells: pl.DataFrame, factor: str, above: Sequence[str], below: Sequence[str]
) -> Floats | None:
    """Weights of `above` minus `below`, averaged evenly over the other factors.

    Only combinations of the other factors in which both sides occur count; None if there is none.

    Examples:
        >>> cells = pl.DataFrame({"anchor": ["none", "both"] * 2, "layout": ["a", "a", "b", "b"]})
        >>> contrast_weights(cells, "anchor", ["both"], ["none"]).tolist()
        [-0.5, 0.5, -0.5, 0.5]
    """
    if factor not in cells.columns:
        return None
    others = [name for name in cells.columns if name != factor]
    numbered = cells.with_row_index("cell").with_columns(
        key=pl.concat_str([pl.lit(""), *others], separator="\x1f")
    )
    total = np.zeros(cells.height)
    usable = 0
    for _, part in numbered.group_by("key", maintain_order=True):
        up = part.filter(pl.col(factor).is_in(list(above)))["cell"].to_numpy()
        down = part.filter(pl.col(factor).is_in(list(below)))["cell"].to_numpy()
        if len(up) and len(down):
            total[up] += 1 / len(up)
            total[down] -= 1 / len(down)
            usable += 1
    return total / usable if usable else None


def _shown(data: StudyData) -> list[str]:
    return [level for level in data.levels("anchor") if level != NONE]


def _of_anchor(data: StudyData, cells: pl.DataFrame) -> Iterable[Contrast]:
    shown = _shown(data)
    whole = anchor_contrast(data, cells)
    if whole is not None:
        yield whole
        yield from _by_layout(data, cells, shown)
        for level in shown if len(shown) > 1 else []:
            weights = contrast_weights(cells, "anchor", [level], [NONE])
            if weights is not None:
                yield Contrast(f"{level} anchor", f"{level} anchor against none", weights)
    if {"numerical", "textual"} <= set(shown):
        weights = contrast_weights(cells, "anchor", ["numerical"], ["textual"])
        if weights is not None:
            yield Contrast("numerical − textual", "numerical against textual anchor", weights)


def _by_layout(data: StudyData, cells: pl.DataFrame, shown: Sequence[str]) -> Iterable[Contrast]:
    """The anchor's effect under each layout."""
    for level in data.levels("layout") if "layout" in data.factors else []:
        weights = _inside(cells, "layout", level, shown)
        if weights is not None:
            question = f"anchor against none where the layout was “{level}”"
            yield Contrast(f"anchor, layout {level}", question, weights)


def _interactions(data: StudyData, cells: pl.DataFrame) -> Iterable[Contrast]:
    """Whether the anchor works differently under each level of another factor."""
    if "anchor" not in data.factors or NONE not in data.levels("anchor"):
        return
    for factor in (name for name in data.factors if name != "anchor"):
        first, *others = data.levels(factor)
        base = _inside(cells, factor, first, _shown(data))
        for level in others:
            weights = _inside(cells, factor, level, _shown(data))
            if weights is not None and base is not None:
                name = f"anchor × {factor}" + ("" if len(others) == 1 else f" {level}")
                question = f"whether the anchor works differently under “{level}” than “{first}”"
                yield Contrast(name, question, weights - base)


def _inside(cells: pl.DataFrame, factor: str, level: str, shown: Sequence[str]) -> Floats | None:
    """The anchor's contrast within one level of a factor, over all cells."""
    inside = (cells[factor] == level).to_numpy()
    weights = contrast_weights(cells.filter(inside), "anchor", shown, [NONE])
    if weights is None:
        return None
    whole = np.zeros(cells.height)
    whole[inside] = weights
    return whole
