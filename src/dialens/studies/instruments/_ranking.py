"""Ranking: things in order, the best or most important first."""

from typing import Annotated, Literal

import numpy as np

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import WORDS
from dialens.studies.instruments._declaration import (
    Form,
    Instrument,
    Latent,
    Output,
    Rows,
    Settings,
    choices_of,
    ordered,
    prompt_of,
)
from dialens.studies.texts import Texts


class RankingSettings(Settings):
    """Inputs of a ranking."""

    kind: Literal["ranking"] = "ranking"
    first_label: Annotated[str | None, WORDS] = None
    """Words that say which end is first; “1 is the best” in the study's language if not given."""


def _form(field: Field, texts: Texts) -> Form:
    help_text = field.options.get("first_label") or texts.say("ranking_first")
    return Form("order", prompt_of(field), help_text, choices=choices_of(field))


def _parse(field: Field, value: JSON) -> list[str]:
    known = [choice.value for choice in choices_of(field)]
    if isinstance(value, dict):  # a form gives each thing its rank
        value = _from_ranks(field, value)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise AnswerError.of(field.name, "error_order")
    if sorted(value) != sorted(known):
        raise AnswerError.of(field.name, "error_order")
    return list(value)


def _from_ranks(field: Field, ranks: dict[str, JSON]) -> list[str]:
    places: dict[str, str] = {}
    for name, rank in ranks.items():
        place = str(rank).strip()
        if not place:
            raise AnswerError.of(field.name, "error_ranks")
        if place in places:
            raise AnswerError.of(field.name, "error_rank_twice", rank=place)
        places[place] = name
    wanted = [str(place) for place in range(1, len(ranks) + 1)]
    if set(places) != set(wanted):
        raise AnswerError.of(field.name, "error_rank_range", last=len(ranks))
    return [places[place] for place in wanted]


def _draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> list[str]:
    known = [choice.value for choice in choices_of(field)]
    if field.targets:
        return ordered(generator, known, latent, noise)
    return [known[place] for place in generator.permutation(len(known))]


def _rows(field: Field, value: JSON) -> Rows:
    if not field.targets:
        return ()
    return tuple((slot, float(value.index(slot) + 1)) for slot in field.targets)


def _scale(field: Field) -> dict[str, JSON]:
    return {"kind": "ranking", "low": 1, "high": len(choices_of(field)), "reversed": True}


RANKING = Instrument(
    name="ranking",
    title="Ranking",
    meaning="All candidates in order.",
    citation="Kendall (1948)",
    settings=RankingSettings,
    output=Output("array", "Slots or choices, the first rank first", "rank, 1 is first"),
    judges="several",
    seconds=15.0,
    form=_form,
    parse=_parse,
    draw=_draw,
    rows=_rows,
    scale=_scale,
    asks=True,
)
