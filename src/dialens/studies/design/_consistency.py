"""What parts of a study file do not go together: items, conversations, and levels of qualities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dialens.studies.design._conversations import AGENT, PAIR
from dialens.studies.design._factors import ANCHOR_VALUE, OWN_ANSWER, PER_RESPONSE
from dialens.studies.instruments import instrument

_SIDES = 2

if TYPE_CHECKING:
    from dialens.studies.design._design import Design, Quality


def level_problem(design: Design, quality: Quality) -> str | None:
    """What is wrong with the level of a quality in a study with items; None if nothing."""
    if quality.level is None:
        return None
    if quality.level != "item":
        return f"{quality.level} is for studies with conversations"
    if design.items.unit != "response":
        return f"items.unit is {design.items.unit}, where each item is asked about as it is"
    if "scale" in design.factors:
        return "cannot be asked once an item where the scale is a factor of all qualities"
    if instrument(quality.instrument.kind).judges == "several":
        return f"{quality.instrument.kind} is asked once an item already: leave level out"
    return None


def response_problem(design: Design) -> tuple[str, str] | None:
    """What needs responses to a context, and has none: where, and why; None if nothing."""
    if design.conversations is not None or design.items.unit == "response":
        return None
    why = f"items.unit is {design.items.unit}, where there are no responses to a context"
    for name in (*PER_RESPONSE, OWN_ANSWER):
        if name in design.factors:
            return f"factors.{name}", why
    return ("presentation.responses", why) if design.presentation.responses == "swap" else None


def talk_problem(design: Design) -> tuple[str, str] | None:
    """What does not go together with conversations: where, and why; None if nothing."""
    if "items" in design.model_fields_set:
        return "items", "a study has items or conversations, not both"
    talks = design.conversations
    assert talks is not None
    for name, quality in design.qualities.items():
        if quality.level not in ("turn", "dialogue"):
            return f"qualities.{name}", "needs `level`: turn (each reply) or dialogue (the whole)"
        used = instrument(quality.instrument.kind)
        if used.judges == "several" and not talks.side_by_side:
            return (
                f"qualities.{name}.instrument",
                "compares responses; here there is one at a time (conversations.side_by_side has "
                "two)",
            )
        if used.judges == "several" and used.fewest > _SIDES:
            return (
                f"qualities.{name}.instrument",
                f"compares at least {used.fewest} responses; side by side there are two: pairwise "
                "asks which is better",
            )
    if talks.rate == "each_reply" and all(q.level != "turn" for q in design.qualities.values()):
        return (
            "conversations.rate",
            "each_reply needs something that is asked about replies: no quality has `level: turn`",
        )
    for name, factor in design.factors.items():
        if name in (AGENT, PAIR):
            return f"factors.{name}", f"the name `{name}` is taken by conversations.agents"
        fixed = ("anchor", "order", ANCHOR_VALUE, OWN_ANSWER)
        if name in fixed or factor.assign == "within":
            return f"factors.{name}", "cannot vary where participants talk with agents"
    if design.presentation.anchor != "none":
        return "presentation.anchor", "needs a standard response, which a conversation has not"
    if design.presentation.responses == "swap":
        return "presentation.responses", "swaps the responses of an item, which there is not"
    if design.practice.items:
        return "practice.items", "a study with conversations has no items"
    if design.checks.gold:
        return "checks.gold", "a study with conversations has no items"
    return None
