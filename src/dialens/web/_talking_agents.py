"""The agents of a study with conversations, made from what its file says."""

from collections.abc import Mapping
from pathlib import Path

from dialens.agents import Agent, AgentSpec, kind_named, make_agent, seen_from
from dialens.base import DialensError
from dialens.studies import Study
from dialens.studies.design import TalkingAgent


def open_agents(study: Study, folder: Path) -> Mapping[str, Agent]:
    """Every agent of a study by its name in the data; nothing is said to any of them.

    Args:
        study: The study.
        folder: Where its file lies; paths of agents start there.

    Examples:
        >>> from dialens.studies import TEA
        >>> from dialens.studies import study_of
        >>> open_agents(study_of(TEA), Path())
        {}
    """
    talks = study.design.conversations
    return {} if talks is None else {agent.name: _opened(agent, folder) for agent in talks.agents}


def _opened(entry: TalkingAgent, folder: Path) -> Agent:
    try:
        if kind_named(entry.kind).name == "human":
            raise DialensError("A human at the terminal cannot be talked with in the browser.")
        spec = AgentSpec(entry.kind, entry.target, entry.of_system, entry.name, dict(entry.set))
        return make_agent(seen_from(spec, folder))
    except DialensError as error:
        raise DialensError(
            f"conversations.agents: {entry.name} ({entry.agent}): {error}"
        ) from error
