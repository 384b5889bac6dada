"""Two questions on traits: whether agents differ in them, and whether each agent keeps its own."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.report.charts import Chart
from dialens.report.digest import Digest
from dialens.report.profile_charts import Mark, Words, traits_chart, yardstick_chart
from dialens.report.profile_words import (
    CHANCE,
    NO,
    PARTLY,
    YES,
    Answer,
    alone,
    names_of,
    percent,
    unknown,
    with_interval,
)
from dialens.report.trait_section import grade_of, wholes
from dialens.report.wording import counted, listed
from dialens.stats import AgentProfile, TraitProfile
from dialens.stats.agent_profile_tables import NO_TURN, ONE_DIALOG, ONE_TURN
from dialens.stats.trait_profiles import systems_apart

DIFFERENCE = "profile-traits"
STABILITY = "profile-stability"
_MUCH = 0.10
"""A share of the variance of turns that counts as medium (LeBreton & Senter 2008)."""
_NO_TRAITS = (
    "No trait was scored with a model that is better than chance. Personality and empathy come "
    "from models: score with --models default, and with the families personality and empathy."
)


def sound_traits(names: Sequence[str]) -> list[str]:
    """Traits whose models are better than chance, or of unknown worth."""
    grades = {name: grade_of(name) for name in names}
    return [name for name, grade in grades.items() if grade is None or not grade.chance]


def difference_answer(digest: Digest, profile: TraitProfile, names: Sequence[str]) -> Answer:
    """Do traits vary across the agents?"""
    question = "Do traits vary across the agents?"
    traits = _valued(profile, names)
    if not traits:
        return unknown(DIFFERENCE, question, _NO_TRAITS)
    if alone(digest):
        return unknown(
            DIFFERENCE,
            question,
            "There is one agent here. Whether traits vary shows only beside other agents of its "
            "system: the same model with another persona or temperature, say.",
        )
    apart = systems_apart(profile)
    rows = [row | {"trait": name} for name in traits for row in wholes(profile, name)]
    tested = [row for row in rows if row["p"] is not None]
    if not tested:
        return unknown(
            DIFFERENCE,
            question,
            "No agent has two dialogues, so what lies between agents cannot be told from what lies "
            "between dialogues."
            if all(unit.dialogs < 2 for unit in digest.agents)
            else f"Not from these dialogues: {rows[0]['reason']}.",
        )
    systems = {row["system"] for row in tested}
    beyond = [row for row in tested if str(row["system"]) in apart.get(row["trait"], ())]
    most = max(beyond or tested, key=lambda row: row["stability"])
    differing = [name for name in traits if any(row["trait"] == name for row in beyond)]
    tried = len({row["trait"] for row in tested})
    if differing:
        told = listed([digest.label(name).lower() for name in differing])
        where = " of one system" if len(systems) > 1 else ""
        first = (
            f"Agents{where} differ beyond chance in {told} ({len(differing)} of {tried} traits)."
        )
    else:
        first = f"In none of {counted(tried, 'trait')} do the agents differ beyond chance."
    tone = YES if 2 * len(differing) >= tried else PARTLY if differing else NO
    verdict = {YES: "Yes", PARTLY: "In part", NO: "Not that it shows"}[tone]
    return Answer(
        DIFFERENCE,
        question,
        tone,
        verdict,
        [first, _most(digest, profile, most, several=len(systems) > 1)],
        "Tested by analysis of variance over dialogues, corrected over traits and systems."
        + (
            " Every system here has one agent, so agents are held against all others."
            if profile.within == "corpus"
            else ""
        ),
        {"": _difference_chart(digest, profile, traits)},
    )


def _valued(profile: TraitProfile, names: Sequence[str]) -> list[str]:
    """Sound traits that some dialogue has."""
    there = [name for name in names if name in profile.traits]
    return [name for name in sound_traits(there) if profile.dialogs[name].count()]


def _most(digest: Digest, profile: TraitProfile, row: Mapping[str, Any], *, several: bool) -> str:
    share = percent(row["stability"], row["stability_low"], row["stability_high"])
    names = names_of(digest)
    agents = [
        one
        for one in profile.table.filter(
            pl.col("trait") == row["trait"],
            pl.col("level") == "agent",
            pl.col("mean").is_not_null(),
        ).iter_rows(named=True)
        if row["system"] is None or one["system"] == row["system"]
    ]
    low, high = (pick(agents, key=lambda one: one["mean"]) for pick in (min, max))
    ends = " to ".join(
        f"{with_interval(one['mean'], one['low'], one['high'], 2)} for "
        f"{names[one['system'], one['agent']]}"
        for one in (low, high)
    )
    place = f" of {row['system']}" if several and row["system"] else ""
    trait = digest.label(row["trait"]).lower()
    return (
        f"Most in {trait}{place}, from {ends}: {share} of what differs "
        f"between dialogues lies between the agents ({counted(row['n_agents'], 'agent')}, "
        f"{counted(row['n_dialogs'], 'dialogue')})."
    )


def _difference_chart(digest: Digest, profile: TraitProfile, traits: Sequence[str]) -> Chart:
    table = profile.table.filter(pl.col("level") == "agent", pl.col("mean").is_not_null())
    by_key = {(r["system"], r["agent"], r["trait"]): r for r in table.iter_rows(named=True)}
    values, rows = [], []
    middles = {}
    for name in traits:
        means = table.filter(pl.col("trait") == name)["mean"]
        spread = profile.dialogs[name].std()
        middles[name] = (means.mean(), spread if isinstance(spread, float) and spread else 1.0)
    for unit in digest.agents:
        told: list[str] = []
        for name in traits:
            row = by_key.get((unit.system, unit.agent, name))
            if row is None:
                told.append("–")
                continue
            middle, spread = middles[name]
            shown = {
                key: None if row[source] is None else round((row[source] - middle) / spread, 4)
                for key, source in (("x", "mean"), ("low", "low"), ("high", "high"))
            }
            values.append(
                {
                    "trait": digest.label(name),
                    "number": unit.number,
                    **shown,
                    "mean": round(row["mean"], 4),
                }
            )
            told.append(with_interval(row["mean"], row["low"], row["high"], 2))
        rows.append((unit.name, *told))
    agents = [unit.name for unit in digest.agents]
    return traits_chart([digest.label(name) for name in traits], values, agents, rows)


def stability_answer(digest: Digest, profile: AgentProfile, names: Sequence[str]) -> Answer:
    """Is each agent stable across dialogues?"""
    one = alone(digest)
    question = f"Is {'the' if one else 'each'} agent stable across dialogues?"
    traits = sound_traits(names)
    table = profile.drift.filter(pl.col("trait").is_in(traits))
    if not traits:
        return unknown(STABILITY, question, _NO_TRAITS)
    pooled = {
        row["trait"]: row
        for row in table.filter(pl.col("agent").is_null()).iter_rows(named=True)
        if row["drift"] is not None
    }
    if not pooled:
        return unknown(STABILITY, question, _why_no_stability(table))
    agents = table.filter(pl.col("agent").is_not_null(), pl.col("drift").is_not_null()).to_dicts()
    # The trait that tells the agents apart best comes first, in words as in the chart.
    traits = sorted(
        (name for name in traits if name in pooled), key=lambda name: -_telling(pooled[name])
    )
    moving = [row for row in agents if row["p_adjusted"] is not None and row["p_adjusted"] < CHANCE]
    much = [row for row in moving if _matters(row)]
    tone, verdict = _verdict(agents, moving, much, [pooled[name] for name in traits])
    doubt = (
        "With so few dialogues a drift that matters cannot be ruled out."
        if tone == PARTLY and not much
        else ""
    )
    return Answer(
        STABILITY,
        question,
        tone,
        verdict,
        [
            " ".join(filter(None, (_moving(digest, agents, moving, much, traits), doubt))),
            _typical(digest, pooled[traits[0]], one=one),
        ],
        "Drift is how far dialogues differ (standard deviation) beyond what the turns of single "
        "dialogues would bring about by chance. Talk of other things counts as drift, too.",
        _stability_charts(digest, agents, traits),
        [] if one else [(name, digest.label(name)) for name in traits],
        "Trait",
    )


def _verdict(
    agents: Sequence[Mapping[str, Any]],
    moving: Sequence[Mapping[str, Any]],
    much: Sequence[Mapping[str, Any]],
    pooled: Sequence[Mapping[str, Any]],
) -> tuple[str, str]:
    """That no drift was found is not yet that there is none: the interval must say so."""
    if much:
        return (NO, "No") if _all_agents(much, agents) else (PARTLY, "Not in everything")
    if all(_surely_small(row) for row in pooled):
        return YES, "Yes, nearly" if moving else "Yes"
    return PARTLY, "Mostly" if moving else "No drift seen"


def _surely_small(row: Mapping[str, Any]) -> bool:
    """Whether even the upper end of a drift would not matter."""
    if row["high"] is None:
        return bool(row["drift"] == 0)
    if row["sd_agents"] is not None:
        return bool(row["high"] < row["sd_agents"])
    return bool(row["share_high"] < _MUCH)


def _matters(row: Mapping[str, Any]) -> bool:
    """Whether a drift is as large as what tells agents apart, or of medium size by itself."""
    if row["sd_agents"] is not None:
        return bool(row["drift"] > row["sd_agents"])
    return bool(row["share"] >= _MUCH)


def _all_agents(some: Sequence[Mapping[str, Any]], agents: Sequence[Mapping[str, Any]]) -> bool:
    of_some, of_all = ({(r["system"], r["agent"]) for r in rows} for rows in (some, agents))
    return bool(some) and of_some == of_all


def _why_no_stability(table: pl.DataFrame) -> str:
    reasons = set(table.filter(pl.col("agent").is_null())["reason"].drop_nulls())
    if reasons == {NO_TURN}:
        return (
            "No single turn has a trait's value in these scores; stability is told from turns "
            "within dialogues. Score with all levels."
        )
    if ONE_TURN in reasons:
        return (
            "Every dialogue holds one turn of the agent, so what changes from dialogue to dialogue "
            "cannot be told from what changes from turn to turn."
        )
    if ONE_DIALOG in reasons:
        return "No agent has two dialogues, so there is nothing to be stable across."
    return f"Not from these turns: {'; '.join(sorted(reasons))}."


def _moving(
    digest: Digest,
    agents: Sequence[Mapping[str, Any]],
    moving: Sequence[Mapping[str, Any]],
    much: Sequence[Mapping[str, Any]],
    traits: Sequence[str],
) -> str:
    one = alone(digest)
    tried = counted(len(traits), "trait")
    if not moving:
        who = "the agent move" if one else "any agent move"
        return (
            f"In none of {tried} does {who} between dialogues by more than its own turns bring "
            "about by chance."
        )
    names = names_of(digest)
    worst = max(much or moving, key=lambda row: row["share"])
    who = "The agent" if one else names[worst["system"], worst["agent"]]
    number = f"by {with_interval(worst['drift'], worst['low'], worst['high'], 2)}"
    most = (
        f"{who} drifts most in {digest.label(worst['trait']).lower()}, {number} over "
        f"{counted(worst['n_dialogs'], 'dialogue')}"
    )
    if one:
        return f"It drifts beyond chance in {len(moving)} of {tried}. {most}."
    if not much:
        return (
            f"{len(moving)} of {len(agents)} pairs of agent and trait drift beyond chance, but by "
            f"less than the agents differ. {most}."
        )
    return (
        f"{len(much)} of {len(agents)} pairs of agent and trait drift by more than the agents "
        f"differ. {most}."
    )


def _telling(row: Mapping[str, Any]) -> float:
    """How far a trait tells agents apart, in units of its noise."""
    return (row["sd_agents"] or 0.0) / (row["expected"] or 1.0)


def _typical(digest: Digest, row: Mapping[str, Any], *, one: bool) -> str:
    apart = f"; the agents differ by {row['sd_agents']:.2f}" if row["sd_agents"] is not None else ""
    trait = digest.label(row["trait"]).lower()
    return (
        f"In {trait}, dialogues {'' if one else 'of one agent '}drift by "
        f"{with_interval(row['drift'], row['low'], row['high'], 2)}{apart} "
        f"({counted(row['n_dialogs'], 'dialogue')}, {counted(row['n_turns'], 'turn')})."
    )


def _stability_charts(
    digest: Digest, agents: Sequence[Mapping[str, Any]], traits: Sequence[str]
) -> dict[str, Chart]:
    if alone(digest):
        return {
            "": _stability_chart([(digest.label(row["trait"]), row) for row in agents], "Trait", "")
        }
    names = names_of(digest)
    return {
        trait: _stability_chart(
            [(names[r["system"], r["agent"]], r) for r in agents if r["trait"] == trait],
            "Agent",
            f" in {digest.label(trait).lower()}",
        )
        for trait in traits
    }


def _stability_chart(
    named: Sequence[tuple[str, Mapping[str, Any]]], head: str, where: str
) -> Chart:
    marks = [
        Mark(name, row["drift"], row["low"], row["high"], row["sd_agents"]) for name, row in named
    ]
    ticked = any(mark.yardstick is not None for mark in marks)
    tick = " The tick is how far the agents differ: stable agents lie left of it." if ticked else ""
    words = Words(
        "Drift between dialogues, points of the trait",
        "drift",
        "agents differ by",
        f"Drift{where}: how far dialogues of an agent differ beyond chance, with 95 % intervals. "
        "The numbers stand in the table below the chart.",
        f"The dot is the drift with its 95 % interval; 0 is none.{tick}",
    )
    rows = [
        (
            name,
            with_interval(row["drift"], row["low"], row["high"], 3),
            "–" if row["expected"] is None else f"{row['expected']:.3f}",
            "–" if row["sd_agents"] is None else f"{row['sd_agents']:.3f}",
            "–" if row["p_adjusted"] is None else f"{row['p_adjusted']:.3f}",
            row["n_dialogs"],
            row["n_turns"],
        )
        for name, row in named
    ]
    heads = (head, "Drift (95 % interval)", "Spread that turns bring about", "Agents differ by",
             "p, corrected", "Dialogues", "Turns")  # fmt: skip
    return yardstick_chart(marks, words, heads, rows, from_zero=True)
