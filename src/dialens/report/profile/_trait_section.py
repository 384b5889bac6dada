"""The section on character: traits of the agents, how stable they are, how far to trust them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dialens.analysis.profiles import TraitProfile, systems_apart, trait_profile, wholes
from dialens.base import capitalised, counted, interval, listed, number, p_value
from dialens.metrics import MetricCard, Scores
from dialens.models import GET_TRAITS, has_trait_models
from dialens.models import traits as trait_models
from dialens.report._charts import Chart
from dialens.report._digest import Digest
from dialens.report.profile._trait_chart import trait_chart
from dialens.report.profile._words import over_systems, stability_words

_WORDS_WANTED = 300
_MOST_SYSTEMS = 8
_MOST_NAMED = 3
_ALONE = (
    "Whether a trait is stable shows beside other agents; here there is one. The spread of its "
    "dialogues is what can be told."
)


@dataclass(frozen=True)
class Grade:
    """What a trait's model is worth, from its card.

    Attributes:
        r: How well it agrees with people's own answers, in words.
        why: The same with its interval and where it comes from.
        chance: Whether it cannot be told from chance.
    """

    r: str
    why: str
    chance: bool


@dataclass(frozen=True)
class Fact:
    """Stability and spread in one system; `system` is empty where there is no other."""

    system: str
    stability: str
    ends: str
    why: str
    between: str
    within: str


@dataclass(frozen=True)
class TraitCard:
    """One trait: where its chart stands, its grade, its facts and one sentence."""

    place: str
    label: str
    grade: Grade | None
    facts: Sequence[Fact]
    verdict: str
    more: str


@dataclass(frozen=True)
class Character:
    """The section.

    Attributes:
        sentence: What was found over all traits.
        sound: Traits whose models are better than chance, or of unknown worth.
        doubtful: The others.
        doubt: Their names.
        caution: What the scores are good for, a paragraph each.
        charts: By place.
    """

    sentence: str
    sound: Sequence[TraitCard]
    doubtful: Sequence[TraitCard]
    doubt: str
    caution: Sequence[str]
    charts: Mapping[str, Chart]


def character(
    digest: Digest, scores: Scores, *, profile: TraitProfile | None = None, seed: int = 0
) -> Character | None:
    """The section's content; None where no trait was scored or none has a value."""
    profile = profile or trait_profile(scores, seed=seed)
    cards, charts, apart = [], {}, systems_apart(profile)
    for trait in profile.traits:
        agents = _agents(digest, profile, trait)
        if all(row["mean"] is None for row in agents):
            continue
        grade = grade_of(trait, digest.signatures[trait])
        card = _card(profile, digest.cards[trait], grade, apart.get(trait))
        cards.append((trait, card))
        charts[card.place] = trait_chart(
            digest.cards[trait], agents, _dialogs(digest, profile, trait), seed=seed
        )
    if not cards:
        return None
    sound = [card for _, card in cards if card.grade is None or not card.grade.chance]
    doubtful = [card for _, card in cards if card.grade is not None and card.grade.chance]
    trusted = [trait for trait, card in cards if card in sound]
    return Character(
        _sentence(digest, profile, trusted, apart),
        sound,
        doubtful,
        capitalised(listed([card.label.lower() for card in doubtful])),
        [
            *_caution(digest, profile, graded=any(card.grade for _, card in cards)),
            *_terms(digest, scores, profile.traits, [trait for trait, _ in cards]),
        ],
        charts,
    )


def _agents(digest: Digest, profile: TraitProfile, trait: str) -> list[dict[str, Any]]:
    rows = profile.table.filter(pl.col("trait") == trait, pl.col("level") == "agent")
    by_name = {(row["system"], row["agent"]): row for row in rows.iter_rows(named=True)}
    made = []
    for unit in digest.agents:
        row = by_name[unit.system, unit.agent] | {"number": unit.number, "name": unit.name}
        shown = unit.estimates[trait]
        if shown.has_interval and math.isclose(shown.value or 0.0, row["mean"], rel_tol=1e-6):
            # The same number has an interval in the table of agents: one page, one interval.
            row |= {"low": shown.low, "high": shown.high}
        made.append(row)
    return made


def _dialogs(digest: Digest, profile: TraitProfile, trait: str) -> pl.DataFrame:
    numbers = pl.DataFrame(
        [(unit.system, unit.agent, unit.number) for unit in digest.agents],
        schema={"system": pl.String, "agent": pl.String, "number": pl.Int64},
        orient="row",
    )
    return (
        profile.dialogs.select("system", "agent", "dialog", trait)
        .drop_nulls(trait)
        .join(numbers.lazy(), on=["system", "agent"], maintain_order="left")
        .select("dialog", agent="number", x=trait)
        .collect(engine="streaming")
    )


def _card(
    profile: TraitProfile, trait: MetricCard, grade: Grade | None, apart: Sequence[str] | None
) -> TraitCard:
    rows = wholes(profile, trait.name)
    several = len(rows) > 1
    facts = [_fact(row, several=several) for row in rows[:_MOST_SYSTEMS]]
    left_out = len(rows) - len(facts)
    return TraitCard(
        f"trait-{trait.name}",
        trait.label,
        grade,
        facts,
        _verdict(rows, apart),
        f"{counted(left_out, 'more system')} in trait_profile.parquet." if left_out else "",
    )


def _fact(row: Mapping[str, Any], *, several: bool) -> Fact:
    ends = ""
    if row["stability_low"] is not None:
        low, high = (max(row[f"stability_{end}"], 0.0) for end in ("low", "high"))
        ends = interval(low, high, 2)
    why = ""
    if row["stability"] is not None and row["stability"] < 0:
        why = (
            f"None: the estimate is {number(row['stability'], 2)}, below 0, since dialogues of one "
            "agent differ even more than those of two. "
        )
    if row["f_low"] is not None:
        why += (
            f"The interval is for these {counted(row['n_agents'], 'agent')}, their dialogues drawn "
            f"anew. For agents like these, drawn at random: {number(row['f_low'], 2)} to "
            f"{number(row['f_high'], 2)}; F({row['df1']}, {row['df2']}) = "
            f"{'∞' if row['f'] is None else number(row['f'], 2)}, "
            f"p {p_value(row['p'], equals=True)}."
        )
    return Fact(
        str(row["system"]) if several else "",
        stability_words(row["stability"]),
        ends,
        why or f"{capitalised(str(row['reason']))}.",
        _spread(row["sd_between"]),
        _spread(row["sd_within"]),
    )


def _spread(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


def _verdict(rows: Sequence[Mapping[str, Any]], apart: Sequence[str] | None) -> str:
    first = rows[0]
    if apart is None and first["reason"] == "one agent only" and first["sd_within"] is not None:
        return (
            f"{counted(first['n_dialogs'], 'dialogue')}, spread by {_spread(first['sd_within'])} "
            f"around a mean of {number(first['mean'], 2)}."
        )
    if apart is None:
        return f"Stability cannot be told: {first['reason']}."
    if not apart:
        who = "Agents of one system" if len(rows) > 1 else "The agents"
        return f"{who} cannot be told apart: dialogues of one differ as much as those of two."
    if len(rows) == 1:
        share = round(100 * first["stability"])
        return f"{share} % of the differences between dialogues lie between the agents."
    if len(apart) > _MOST_NAMED:
        return f"In {len(apart)} of {len(rows)} systems the agents differ beyond chance."
    only = "" if len(apart) == len(rows) else "only "
    return f"The agents differ beyond chance {only}in {listed(apart)}."


def grade_of(trait: str, signature: str) -> Grade | None:
    """From the card of the model that scored; None for traits and models from elsewhere.

    Args:
        trait: Its name.
        signature: Of the scores, which names the model and its hash.
    """
    if trait not in trait_models.shipped():
        return None
    model = trait_models.load(trait)
    if trait_models.mark_of(model) not in signature:
        return None
    found = model.card["metrics"]["r_person"]
    value, low, high = (float(found[key]) for key in ("value", "low", "high"))
    why = (
        f"r = {number(value, 2)} ({interval(low, high, 2)}) between the model’s scores and the "
        f"own answers of {int(found['n']):,} people it had not seen"
    )
    chance = low <= 0
    return Grade(
        f"agrees with self-reports at r = {number(value, 2)}",
        f"{why}: cannot be told from chance." if chance else f"{why}.",
        chance,
    )


def _sentence(
    digest: Digest,
    profile: TraitProfile,
    trusted: Sequence[str],
    apart: Mapping[str, Sequence[str]],
) -> str:
    """What was found over all traits that can be trusted."""
    of_systems = profile.table.filter(pl.col("level") == "system")
    tested = [trait for trait in trusted if trait in apart]
    if not tested:
        return _ALONE if (of_systems["n_agents"] == 1).all() else ""
    differing = [trait for trait in tested if apart[trait]]
    if of_systems["system"].n_unique() > 1:
        if not differing:
            return "In none of these traits do agents of one system differ beyond chance."
        return f"Agents of one system differ beyond chance in {_names(digest, differing)}."
    alike = [trait for trait in tested if not apart[trait]]
    if not differing:
        return f"The agents cannot be told apart in {_names(digest, alike)}."
    stability = {trait: wholes(profile, trait)[0]["stability"] for trait in differing}
    first, *rest = sorted(differing, key=lambda trait: -stability[trait])
    found = f"The agents differ most in {_names(digest, [first])} "
    found += f"(stability {number(stability[first], 2)})"
    if rest:
        found += f", then in {_names(digest, rest)}"
    if alike:
        found += f"; they cannot be told apart in {_names(digest, alike)}"
    return f"{found}."


def _names(digest: Digest, traits: Sequence[str]) -> str:
    return listed([digest.label(trait).lower() for trait in traits])


def _caution(digest: Digest, profile: TraitProfile, *, graded: bool) -> list[str]:
    parts = [over_systems(digest)] if profile.within == "corpus" else []
    if graded:
        parts.append(
            "These scores are research-grade. The models were fitted to people who wrote about the "
            "news and answered questionnaires on themselves; r says how well score and answers "
            "agreed in people the model had not seen. 0 is chance, 1 perfect; published models of "
            "this kind reach 0.26 to 0.35. They are for comparing agents, never for judging a "
            "person."
        )
    words = profile.dialogs.select(pl.col("words").median()).collect(engine="streaming").item()
    if isinstance(words, float) and words < _WORDS_WANTED:
        parts.append(
            f"Half of the dialogues hold {words:,.0f} or fewer words of the agent; the models want "
            "a few hundred, so single dialogues are noisy, and that alone holds stability down."
        )
    return parts


def _terms(
    digest: Digest, scores: Scores, traits: Sequence[str], valued: Sequence[str]
) -> list[str]:
    """What may be done with the models of these traits, and which of them are not installed."""
    parts = []
    research = [trait for trait in valued if _for_research(trait, scores.signatures[trait])]
    if research:
        parts.append(
            f"{capitalised(_names(digest, research))}: for research only, not for products. The "
            "models were fitted on answers that the WASSA shared tasks gave out under no open "
            "licence, and are a package of their own for that reason, dialens-traits."
        )
    absent = [trait for trait in traits if trait not in valued]
    if absent and not has_trait_models():
        parts.append(
            f"{capitalised(_names(digest, absent))}: no values. The models, for research only, are "
            f"not installed ({GET_TRAITS})."
        )
    return parts


def _for_research(trait: str, signature: str) -> bool:
    """Whether the score comes from a model that is installed and for research only."""
    if trait not in trait_models.shipped():
        return False
    card = trait_models.load(trait).card
    own = card["files"][trait_models.MODEL_FILE][:8]
    return bool(card.get("research_grade")) and own in signature
