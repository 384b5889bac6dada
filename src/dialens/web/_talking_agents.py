"""The agents of a study with conversations, made from what its file says."""

import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.request import getproxies

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


def unreachable_agents(agents: Mapping[str, Agent], *, wait_s: float = 3.0) -> list[str]:
    """Agents whose service takes no connection now, a sentence each; nothing is said to any.

    Where connections go through a proxy, nothing can be told without asking.

    Args:
        agents: By their names in the data.
        wait_s: Seconds after which a service counts as out of reach.
    """
    places: dict[str, tuple[str, int]] = {
        name: agent.address
        for name, agent in agents.items()
        if hasattr(agent, "address") and not getproxies()
    }
    reached: set[str] = set()

    def reach(name: str) -> None:
        try:
            socket.create_connection(places[name], wait_s).close()
        except OSError:
            return
        reached.add(name)

    threads = [threading.Thread(target=reach, args=(name,), daemon=True) for name in places]
    for thread in threads:
        thread.start()
    latest = time.monotonic() + wait_s
    for thread in threads:
        thread.join(max(latest - time.monotonic(), 0.0))
    return [
        f"{name} cannot be reached at {host}:{port}: who is to talk with it gets no answer. Start "
        "it, or check endpoint and network; `dialens study check` asks it."
        for name, (host, port) in places.items()
        if name not in reached
    ]


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
