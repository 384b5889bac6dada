"""What the form of “To a study” says, read from an address and checked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from dialens.base import DialensError
from dialens.workbench import (
    MOST_ITEMS,
    MOST_QUANTILES,
    Strata,
    StudyWish,
    View,
    template_of,
)

FIELDS = (
    "n", "seed", "template", "by", "parts", "by_source", "raters", "each", "pay", "currency",
    "name", "contact", "context", "quality", "judge_price", "judge_r",
)  # fmt: skip
"""Parameters of the form, beside those of the view."""

_LEVEL_TEMPLATES = {"dialog": "dialogue-level"}
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True)
class Asked:
    """A study as the form asks for it.

    Attributes:
        view: The selection.
        count: Items to draw.
        seed: Random seed.
        strata: What the draw is balanced over.
        wish: The study.
        judge_price: Of one rating by a judge.
        judge_r: How far a judge goes with people.
        fields: What stands in the form, by name.
    """

    view: View
    count: int
    seed: int
    strata: Strata
    wish: StudyWish
    judge_price: float | None
    judge_r: float | None
    fields: Mapping[str, str]

    def address(self) -> str:
        """The query of the page that shows this."""
        chosen = [(name, value) for name, value in self.fields.items() if value]
        qualities = [("quality", name) for name in self.wish.qualities]
        return urlencode([*self.view.pairs(), *chosen, *qualities])


def parse_asked(asked: Mapping[str, Sequence[str]], free_name: str) -> Asked:
    """From the parameters of an address.

    Args:
        asked: The parameters.
        free_name: What the study is called if nobody chose a name.

    Raises:
        DialensError: A number that cannot be, or an unknown template.
    """
    view = View.parse(asked)
    last = {name: (list(asked.get(name, ())) or [""])[-1].strip() for name in FIELDS}
    template = template_of(last["template"] or _LEVEL_TEMPLATES.get(view.level, "likert"))
    count = _whole(last["n"], 30, 1, MOST_ITEMS, "Items to draw")
    seed = _whole(last["seed"], 1, 0, 2**31 - 1, "The seed")
    metric = last["by"]
    parts = _whole(last["parts"], 3, 2, MOST_QUANTILES, "Parts of a metric")
    strata = Strata(metric, parts, last["by_source"] == "yes")
    currency = last["currency"].upper() or "USD"
    if not _CURRENCY.fullmatch(currency):
        raise DialensError("A currency has three letters, such as USD or EUR.")
    wish = StudyWish(
        name=last["name"] or free_name,
        template=template,
        qualities=tuple(dict.fromkeys(name for name in asked.get("quality", ()) if name)),
        raters=_whole(last["raters"], 3, 1, 1_000, "Raters of an item"),
        each=_whole(last["each"], 20, 1, MOST_ITEMS, "Items of a participant"),
        hourly=_amount(last["pay"] or "12", "Pay an hour") or 0.0,
        currency=currency,
        contact=last["contact"][:500],
        context=_whole(last["context"], 20, 0, 10_000, "Turns before a reply"),
    )
    fields = {
        "n": str(count),
        "seed": str(seed),
        "template": template,
        "by": metric,
        "parts": str(parts),
        "by_source": "yes" if strata.source else "",
        "raters": str(wish.raters),
        "each": str(wish.each),
        "pay": f"{wish.hourly:g}",
        "currency": currency,
        "name": wish.name,
        "contact": wish.contact,
        "context": str(wish.context),
        "judge_price": last["judge_price"],
        "judge_r": last["judge_r"],
    }
    price = _amount(last["judge_price"], "The price of a judge's rating")
    r = _amount(last["judge_r"], "The correlation of the judge", most=1.0)
    return Asked(view, count, seed, strata, wish, price, r, fields)


def _whole(text: str, usual: int, low: int, high: int, what: str) -> int:
    if not text:
        return usual
    if not re.fullmatch(r"\d{1,12}", text) or not low <= int(text) <= high:
        raise DialensError(f"{what}: a whole number from {low:,} to {high:,}; seen: {text[:40]}.")
    return int(text)


def _amount(text: str, what: str, most: float = 1e6) -> float | None:
    if not text:
        return None
    if not re.fullmatch(r"\d{1,9}([.,]\d{1,9})?", text):
        raise DialensError(f"{what}: a number such as 12 or 0.5; seen: {text[:40]}.")
    value = float(text.replace(",", "."))
    if value > most:
        raise DialensError(f"{what}: at most {most:g}; seen: {text[:40]}.")
    return value
