"""Conversations in which replies name who gives them: a model each, or assistants with names.

Where all replies of a conversation are by one, that is the agent. Where several speak (a planner
and a writer, two models in one chat), each is the agent of a dialogue of its own, with the others'
replies as its partners' turns; `meta.other_agent` marks those.
"""

from collections.abc import Iterator
from dataclasses import replace

from dialens.corpus._dialogue import Dialogue, Turn
from dialens.corpus._spoken import OTHER_AGENT
from dialens.corpus.readers._messages import SPEAKERS, model_of


def by_agent(talk: Dialogue, *, only_models: bool = False) -> Iterator[Dialogue]:
    """A dialogue for each of those whose replies are named in it; itself where none is.

    Args:
        talk: As it was read.
        only_models: Whether one name alone does not name the agent, where no model is named: in
            data sets of people, each has a name.

    Examples:
        >>> turns = [Turn("Ann", "partner", "Hi"), Turn("Planner", "agent", "A greeting.")]
        >>> talk = Dialogue("s", "unknown", "d", [*turns, Turn("Writer", "agent", "Hello!")])
        >>> [(one.dialog, one.agent, one.turns[1].role) for one in by_agent(talk)]
        [('d-Planner', 'Planner', 'agent'), ('d-Writer', 'Writer', 'partner')]
    """
    names = dict.fromkeys(_name(turn) or talk.agent for turn in talk.turns if turn.role == "agent")
    if len(names) < 2:
        modelled = any(model_of(turn) for turn in talk.turns)
        named = bool(names) and (modelled or not only_models)
        yield replace(talk, agent=next(iter(names))) if named else talk
        return
    for name in names:
        turns = [_seen_by(name, turn, talk.agent) for turn in talk.turns]
        yield replace(talk, agent=name, dialog=f"{talk.dialog}-{name}", turns=turns)


def _name(turn: Turn) -> str | None:
    return model_of(turn) or (turn.speaker if turn.speaker != SPEAKERS["agent"] else None)


def _seen_by(agent: str, turn: Turn, unnamed: str) -> Turn:
    if turn.role != "agent" or (_name(turn) or unnamed) == agent:
        return turn
    speaker = _name(turn) or unnamed
    meta = {**(turn.meta or {}), OTHER_AGENT: speaker}
    return replace(turn, role="partner", speaker=speaker, meta=meta)
