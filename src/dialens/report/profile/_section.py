"""The agent's profile: four questions of the hierarchy System > Agent > Dialog > Turn, answered.

Giorgi et al. 2023 (arXiv:2305.14757): traits may differ between agents and should be kept by each
of them, states should move within dialogues, matching is a matter of dialogues.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialens.analysis.profiles import TraitProfile, agent_profile, lasting_traits
from dialens.base import counted
from dialens.corpus import Corpus
from dialens.metrics import Scores
from dialens.report._charts import Chart
from dialens.report._digest import Digest
from dialens.report.profile._matching import matching_answer
from dialens.report.profile._states import states_answer
from dialens.report.profile._traits import difference_answer, stability_answer
from dialens.report.profile._words import Answer

_LONGEST = 70


@dataclass(frozen=True)
class Setting:
    """What made an agent: a short text, and the whole of it where that was cut."""

    name: str
    text: str
    whole: str


@dataclass(frozen=True)
class Told:
    """An agent and what its corpus tells of it.

    Attributes:
        number: Of the agent.
        name: What it is called.
        kind: What it runs on.
        settings: Its parameters.
    """

    number: int
    name: str
    kind: str
    settings: Sequence[Setting]


@dataclass(frozen=True)
class ProfileSection:
    """The section.

    Attributes:
        heading: For one agent or several.
        told: Agents with their parameters; empty where the corpus tells none.
        answers: To the four questions, in their order.
        sampled: What rests on a sample; may be empty.
        charts: By place and choice.
    """

    heading: str
    told: Sequence[Told]
    answers: Sequence[Answer]
    sampled: str
    charts: Mapping[str, Mapping[str, Chart]]


def profile_section(
    digest: Digest, scores: Scores, corpus: Corpus, traits: TraitProfile, *, seed: int = 0
) -> ProfileSection:
    """The section's content, whatever was scored; what cannot be told says why.

    Args:
        digest: Of the run.
        scores: What was scored.
        corpus: Its manifest may tell what the agents are.
        traits: How traits vary between agents.
        seed: Of samples and intervals.
    """
    profile = agent_profile(scores, seed=seed)
    names = [name for name in lasting_traits(scores) if name in traits.known]
    answers = [
        difference_answer(digest, traits, names),
        stability_answer(digest, profile, names),
        states_answer(digest, profile),
        matching_answer(digest, profile),
    ]
    total = sum(unit.dialogs for unit in digest.agents)
    return ProfileSection(
        "The agent’s profile" if len(digest.agents) == 1 else "The agents’ profile",
        told(digest, corpus.manifest),
        answers,
        f"Stability, states and matching rest on a random sample of {profile.sampled:,} of "
        f"{counted(total, 'dialogue')}."
        if profile.sampled is not None
        else "",
        {answer.place: answer.charts for answer in answers if answer.charts},
    )


def told(digest: Digest, manifest: Mapping[str, Any]) -> list[Told]:
    """What the manifest of a collected corpus says of its agents, in the order of the report.

    Of a target only its name is shown: a folder's path belongs to the machine it is on.
    """
    source = manifest.get("source")
    listed = source.get("agents") if isinstance(source, Mapping) else None
    if not isinstance(listed, Sequence):
        return []
    known = {
        (one.get("system"), one.get("agent")): one for one in listed if isinstance(one, Mapping)
    }
    found = []
    for unit in digest.agents:
        one = known.get((unit.system, unit.agent))
        if one is None:
            continue
        target = str(one.get("target") or "").rstrip("/").rsplit("/", 1)[-1]
        parameters = one.get("parameters")
        settings = parameters.items() if isinstance(parameters, Mapping) else ()
        kind = " ".join(part for part in (str(one.get("kind") or ""), target) if part)
        if kind == unit.system and not settings:
            continue  # its name says it all
        found.append(Told(unit.number, unit.name, kind, [_setting(str(k), v) for k, v in settings]))
    return found


def _setting(name: str, value: object) -> Setting:
    whole = " ".join(str(value).split())
    cut = whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1].rstrip()}…"
    return Setting(name.replace("_", " "), cut, whole if cut != whole else "")
