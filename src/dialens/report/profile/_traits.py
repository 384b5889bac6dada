"""Two questions on traits: whether agents differ in them, and whether each agent keeps its own."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.analysis.profiles import (
    NO_TURN,
    ONE_DIALOG,
    ONE_TURN,
    AgentProfile,
    DifferenceVerdict,
    Stability,
    StabilityVerdict,
    TraitProfile,
    difference_verdict,
    stability_verdict,
)
from dialens.base import counted, listed
from dialens.report._charts import Chart
from dialens.report._digest import Digest
from dialens.report._interval_chart import Mark
from dialens.report.profile._charts import Words, traits_chart, yardstick_chart
from dialens.report.profile._trait_section import grade_of
from dialens.report.profile._words import (
    NO_TRAITS,
    PARTLY,
    Answer,
    alone,
    is_known,
    names_of,
    over_systems,
    percent,
    reason,
    unknown,
    with_interval,
    worded,
)

DIFFERENCE = "profile-traits"
STABILITY = "profile-stability"


def sound_traits(digest: Digest, names: Sequence[str]) -> list[str]:
    """Traits whose models are better than chance, or of unknown worth."""
    grades = {name: grade_of(name, digest.signatures[name]) for name in names}
    return [name for name, grade in grades.items() if grade is None or not grade.chance]


def difference_answer(digest: Digest, profile: TraitProfile, names: Sequence[str]) -> Answer:
    """Do traits vary across the agents?"""
    question = "Do traits vary across the agents?"
    verdict = difference_verdict(profile, sound_traits(digest, names))
    if not is_known(verdict.kind):
        return unknown(DIFFERENCE, question, reason(verdict.kind, verdict.why))
    several = profile.within == "system" and len({unit.system for unit in digest.agents}) > 1
    small = "Tested by analysis of variance over dialogues, corrected over traits and systems."
    if profile.within == "corpus":
        small += f" {over_systems(digest)}"
    return Answer(
        DIFFERENCE,
        question,
        *worded(verdict.kind, one=False),
        [
            _differing(digest, verdict, several=several),
            _most(digest, profile, verdict.most, several=several),
        ],
        small,
        {"": _difference_chart(digest, profile, verdict.traits)},
    )


def _differing(digest: Digest, verdict: DifferenceVerdict, *, several: bool) -> str:
    if not verdict.differing:
        tested = counted(verdict.tested, "trait")
        who = "agents of one system" if several else "the agents"
        return f"In none of {tested} do {who} differ beyond chance."
    traits = listed([digest.label(name).lower() for name in verdict.differing])
    count = f"{len(verdict.differing)} of {verdict.tested} traits"
    where = " of one system" if several else ""
    return f"Agents{where} differ beyond chance in {traits} ({count})."


def _most(digest: Digest, profile: TraitProfile, row: Mapping[str, Any], *, several: bool) -> str:
    # An estimate of variance may fall below 0; as a share of it, that is none.
    share = percent(
        *(
            None if row[key] is None else max(row[key], 0.0)
            for key in ("stability", "stability_low", "stability_high")
        )
    )
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
        f"They differ most in {trait}{place}, from {ends}. Which agent is talking accounts for "
        f"{share} of the differences between dialogues there, the dialogue itself for the rest "
        f"({counted(row['n_agents'], 'agent')}, {counted(row['n_dialogs'], 'dialogue')})."
    )


def _difference_chart(digest: Digest, profile: TraitProfile, traits: Sequence[str]) -> Chart:
    table = profile.table.filter(pl.col("level") == "agent", pl.col("mean").is_not_null())
    by_key = {(r["system"], r["agent"], r["trait"]): r for r in table.iter_rows(named=True)}
    values, rows = [], []
    middles = {}
    for name in traits:
        means = table.filter(pl.col("trait") == name)["mean"]
        spread = profile.dialogs.select(name).collect(engine="streaming")[name].std()
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
    traits = sound_traits(digest, names)
    if not traits:
        return unknown(STABILITY, question, NO_TRAITS)
    verdict = stability_verdict(profile.drift, traits)
    if verdict.kind is Stability.UNKNOWN:
        return unknown(STABILITY, question, _why_no_stability(verdict.reasons))
    tone, words = worded(verdict.kind, one=one)
    first = _moving(digest, verdict)
    if tone == PARTLY and not verdict.much:
        first += " With so few dialogues a drift that matters cannot be ruled out."
    return Answer(
        STABILITY,
        question,
        tone,
        words,
        [first, _typical(digest, verdict.pooled[verdict.traits[0]], one=one)],
        "Drift is how far dialogues differ (standard deviation) beyond what the turns of single "
        "dialogues would bring about by chance. Talk of other things counts as drift, too.",
        _stability_charts(digest, verdict.agents, verdict.traits),
        [] if one else [(name, digest.label(name)) for name in verdict.traits],
        "Trait",
    )


def _why_no_stability(reasons: frozenset[str]) -> str:
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


def _moving(digest: Digest, verdict: StabilityVerdict) -> str:
    one = alone(digest)
    agents, moving, much = verdict.agents, verdict.moving, verdict.much
    tried = counted(len(verdict.traits), "trait")
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
        Mark(name, row["drift"], row["low"], row["high"], tick=row["sd_agents"])
        for name, row in named
    ]
    ticked = any(mark.tick is not None for mark in marks)
    tick = " The tick is how far the agents differ: stable agents lie left of it." if ticked else ""
    words = Words(
        "Drift between dialogues, points of the trait",
        "drift",
        "agents differ by",
        f"Drift{where}: how far dialogues of an agent differ beyond chance, with 95 % intervals.",
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
