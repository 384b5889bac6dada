"""Who is to talk with whom, how often and how long: a plan, and the conversations it makes."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

from dialens.agents._agent import Agent, AgentSpec, Message, Role
from dialens.agents._registry import kind_named, make_agent, parse_agent
from dialens.agents._settings import Value, agent_name, label_of
from dialens.agents.talks._contexts import Context, ContextPartner
from dialens.agents.talks._openings import OPENINGS
from dialens.base import Budget, DialensError

Values = Sequence[Value] | Mapping[str, Value]
"""Of a setting: several, or several with names."""
Partners = tuple[AgentSpec, ...] | Literal["each_other", "themselves"]

HUMAN = "human"
USER = "user"
_CONTEXTS = "contexts"
_BEGIN_THEMSELVES = (HUMAN, USER, "script", "replay")
_MOST = 1_000_000


@dataclass(frozen=True)
class CollectionPlan:
    """A collection of conversations.

    Attributes:
        agents: Those that are studied.
        partners: Those they talk with: agents of their own, `each_other`, or `themselves`.
        openings: What the one who begins says first, in turn; none lets them find their own
            words; None takes those that ship, but for partners that bring their own.
        turns: Of a conversation, the opening included.
        dialogues: For each agent with each partner.
        seed: Random seed; the same seed gives the same openings and seeds of conversations.
        first: Who begins.
        name: Of the collection.
        contexts: Conversations so far, each of which every agent answers once; then there are no
            partners.
        budget: The most that may be used, over all runs.

    Examples:
        >>> CollectionPlan((AgentSpec("hred", ""), AgentSpec("thred", ""))).turns
        8
    """

    agents: tuple[AgentSpec, ...]
    partners: Partners = "each_other"
    openings: tuple[str, ...] | None = None
    turns: int = 8
    dialogues: int = 20
    seed: int = 0
    first: Role = "partner"
    name: str = "collected"
    contexts: tuple[Context, ...] = ()
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        """Refuse what makes no conversation."""
        if not self.agents:
            raise DialensError("A plan needs at least one agent.")
        if any(spec.kind == HUMAN for spec in self.agents):
            raise DialensError("A human cannot be the agent under study. Name them as a partner.")
        if self.turns < 2:
            raise DialensError(f"A conversation has at least 2 turns; seen: {self.turns}.")
        if self.dialogues < 1:
            raise DialensError(f"At least 1 dialogue is needed; seen: {self.dialogues}.")
        if isinstance(self.partners, tuple) and not self.partners:
            raise DialensError("A plan needs at least one partner.")
        if self.with_users and (self.first == "agent" or self.openings is not None):
            what = "begins" if self.first == "agent" else "is given openings"
            raise DialensError(
                "Simulated users begin, with first words from their scenarios; here "
                f"{'the agent' if self.first == 'agent' else 'the one who begins'} {what}. Leave "
                "that out."
            )

    @property
    def with_people(self) -> bool:
        """Whether somebody sits at the terminal."""
        return self._has_partner(HUMAN)

    @property
    def with_users(self) -> bool:
        """Whether partners are simulated users."""
        return self._has_partner(USER)

    def _has_partner(self, kind: str) -> bool:
        return isinstance(self.partners, tuple) and any(spec.kind == kind for spec in self.partners)


def varied(spec: AgentSpec, values: Mapping[str, Values]) -> list[AgentSpec]:
    """An agent for each combination of settings, named by what differs.

    Args:
        spec: What they have in common.
        values: For each setting its values, or values by the names they are to be called by.

    Examples:
        >>> personas = {"warm": "You are a kind listener.", "rude": "You are in a hurry."}
        >>> spec = AgentSpec("openai", "m", parameters={"max_tokens": 50})
        >>> made = varied(spec, {"persona": personas, "temperature": [0.2, 0.9]})
        >>> [one.name for one in made][:2], made[0].parameters["persona"]
        (['warm, temperature=0.2', 'warm, temperature=0.9'], 'You are a kind listener.')
    """
    options = {
        name: list(several.items())
        if isinstance(several, Mapping)
        else [(agent_name({name: value}) if len(several) > 1 else "", value) for value in several]
        for name, several in values.items()
    }
    made = []
    for chosen in product(*options.values()):
        parameters = {name: value for name, (_, value) in zip(options, chosen, strict=True)}
        called = ", ".join(word for word, _ in chosen if word)
        made.append(
            replace(
                spec,
                name=spec.name or called or None,
                parameters={**spec.parameters, **parameters},
            )
        )
    return made


def named_apart(specs: Sequence[AgentSpec]) -> tuple[AgentSpec, ...]:
    """Agents that are not called by settings which all of them share.

    Examples:
        >>> specs = [AgentSpec("openai", m, parameters={"max_tokens": 9}) for m in ("a", "b")]
        >>> [sorted(one.common) for one in named_apart(specs)]
        [['max_tokens'], ['max_tokens']]
    """
    if len(specs) < 2:
        return tuple(specs)
    settings = [set(spec.parameters.items()) for spec in specs]
    common = frozenset(name for name, _ in set.intersection(*settings))
    return tuple(replace(spec, common=common) for spec in specs)


def simulated_users(places: Iterable[str], by: AgentSpec) -> tuple[AgentSpec, ...]:
    """Partners that a language model plays: one for each pack or file of scenarios.

    Examples:
        >>> simulated_users(["complaint"], AgentSpec("openai", "m", parameters={"top_p": 0.9}))
        (AgentSpec(kind='user', target='complaint', system=None, name=None, \
parameters={'by': 'openai:m', 'top_p': 0.9}),)
    """
    return tuple(
        AgentSpec(USER, place, parameters={"by": str(by), **by.parameters}, typed=by.typed)
        for place in places
    )


@dataclass(frozen=True)
class OpenAgent:
    """An agent of a plan, opened.

    Attributes:
        spec: How it was asked for.
        agent: What answers.
        label: What it is called in the corpus.
        identity: What makes its answers, as far as it says so.
    """

    spec: AgentSpec
    agent: Agent = field(repr=False)
    label: str
    identity: str

    @property
    def kind(self) -> str:
        """Of the agent, or of who plays a simulated user."""
        if self.spec.kind != USER:
            return self.spec.kind
        return parse_agent(str(self.spec.parameters["by"])).kind

    @property
    def is_model(self) -> bool:
        """Whether it finds its words itself: no person, and nothing that was written before."""
        return self.kind not in (HUMAN, "script", "replay", _CONTEXTS)


@dataclass(frozen=True)
class PlannedConversation:
    """A conversation that is to take place.

    Attributes:
        dialog: Its id.
        number: Which of the agent with this partner.
        agent: Who is studied.
        partner: Who talks with it.
        given: What was said before it begins, as the agent sees it: an opening, or a context.
        speakers: Who said that, where it is neither agent nor partner.
        turns: How many there are to be, what is given included.
        seed: Of the agent.
        partner_seed: Of the partner: the same with every agent, so that all meet the same one.
        fingerprint: Hash of everything that makes it what it is.
    """

    dialog: str
    number: int
    agent: OpenAgent
    partner: OpenAgent
    given: tuple[Message, ...]
    speakers: tuple[str, ...]
    turns: int
    seed: int
    partner_seed: int
    fingerprint: str

    @property
    def sides(self) -> "dict[Role, Side]":
        """Who talks in each role."""
        return {
            "agent": Side.of(self.agent, self.number, self.seed),
            "partner": Side.of(self.partner, self.number, self.partner_seed),
        }


@dataclass(frozen=True)
class Side:
    """One who takes part in a conversation.

    Attributes:
        label: What they are called in the corpus.
        agent: What answers, in this conversation.
        seed: Of their answers.
    """

    label: str
    agent: Agent = field(repr=False)
    seed: int

    @classmethod
    def of(cls, opened: OpenAgent, number: int, seed: int) -> "Side":
        """An agent in the n-th conversation."""
        numbered = getattr(opened.agent, "numbered", None)
        own = numbered(number) if callable(numbered) else opened.agent
        return cls(opened.label, own, seed)


@dataclass(frozen=True)
class OpenPlan:
    """The agents of a plan, opened once each, and their conversations."""

    agents: tuple[OpenAgent, ...]
    partners: tuple[OpenAgent, ...]
    conversations: tuple[PlannedConversation, ...]

    @property
    def models(self) -> list[OpenAgent]:
        """Those who are asked for replies and may take something for it, each once."""
        return list({id(w): w for w in (*self.agents, *self.partners) if w.is_model}.values())

    def close(self) -> None:
        """End processes and close connections."""
        for agent in {id(agent.agent): agent for agent in (*self.agents, *self.partners)}.values():
            close = getattr(agent.agent, "close", None)
            if callable(close):
                close()


def open_plan(plan: CollectionPlan) -> OpenPlan:
    """Open the agents of a plan, and lay out its conversations.

    The same agents are opened once. Adding agents, partners or dialogues to a plan leaves those
    that were there as they are, seeds included.
    """
    opened: dict[str, OpenAgent] = {}

    def open_once(spec: AgentSpec) -> OpenAgent:
        key = repr(spec)
        if key not in opened:
            agent = make_agent(spec)
            label = label_of(agent.system, agent.name)
            opened[key] = OpenAgent(spec, agent, label, str(getattr(agent, "identity", "")))
        return opened[key]

    agents = tuple(open_once(spec) for spec in plan.agents)
    _refuse_namesakes(agents)
    if plan.contexts:
        return _answering(plan, agents)
    if isinstance(plan.partners, tuple):
        partners = tuple(open_once(_as_partner(spec)) for spec in plan.partners)
        _refuse_namesakes(partners)
        pairs = [(agent, partner) for agent in agents for partner in partners]
    elif plan.partners == "themselves" or len(agents) == 1:
        partners = agents
        pairs = [(agent, agent) for agent in agents]
    else:
        partners = agents
        pairs = [(agent, other) for agent in agents for other in agents if agent is not other]
    if len(pairs) * plan.dialogues > _MOST:
        raise DialensError(
            f"The plan asks for {len(pairs) * plan.dialogues:,} conversations; "
            f"{_MOST:,} are the most."
        )
    conversations = [
        _planned(plan, agent, partner, number)
        for number in range(plan.dialogues)
        for agent, partner in pairs
    ]
    return OpenPlan(agents, partners, tuple(conversations))


def _refuse_namesakes(agents: Iterable[OpenAgent]) -> None:
    seen: set[tuple[str, str]] = set()
    for agent in agents:
        key = (agent.agent.system, agent.agent.name)
        if key in seen:
            raise DialensError(
                f"Two agents are called {agent.label!r}. Give one another `name`, or another "
                "`system`."
            )
        seen.add(key)


def _planned(
    plan: CollectionPlan, agent: OpenAgent, partner: OpenAgent, number: int
) -> PlannedConversation:
    dialog = f"{agent.label}+{partner.label}-{number + 1:03d}"
    starter = partner if plan.first == "partner" else agent
    openings = plan.openings
    if openings is None:
        openings = () if starter.spec.kind in _BEGIN_THEMSELVES else OPENINGS
    opening = openings[number % len(openings)] if openings else None
    talking = Side.of(partner, number, 0).agent
    opening = opening or getattr(talking, "opening", "") or None
    given = () if opening is None else (Message(plan.first, opening),)
    seeds = _seed(plan.seed, dialog), _seed(plan.seed, partner.label, number)
    facts = [
        _facts(agent),
        _facts(replace(partner, agent=talking)),
        opening,
        plan.turns,
        plan.first,
        seeds,
    ]
    return PlannedConversation(
        dialog, number, agent, partner, given, (), plan.turns, *seeds, _hash(facts)[:32]
    )


def _answering(plan: CollectionPlan, agents: tuple[OpenAgent, ...]) -> OpenPlan:
    """Every agent answers every context once."""
    partner = OpenAgent(
        AgentSpec(_CONTEXTS, ""), ContextPartner(plan.contexts), "contexts", "contexts"
    )
    conversations = [
        _answer(plan, agent, partner, number)
        for number in range(len(plan.contexts))
        for agent in agents
    ]
    return OpenPlan(agents, (partner,), tuple(conversations))


def _answer(
    plan: CollectionPlan, agent: OpenAgent, partner: OpenAgent, number: int
) -> PlannedConversation:
    context = plan.contexts[number]
    dialog = f"{agent.label}+{context.id}"
    seeds = _seed(plan.seed, dialog), _seed(plan.seed, context.id)
    facts = [_facts(agent), [[one.role, one.text] for one in context.said], seeds]
    said, speakers = context.said, context.speakers
    return PlannedConversation(
        dialog, number, agent, partner, said, speakers, len(said) + 1, *seeds, _hash(facts)[:32]
    )


def _as_partner(spec: AgentSpec) -> AgentSpec:
    """Who replays a corpus as a partner says what partners said there, unless told otherwise."""
    if spec.kind != "replay" or "role" in spec.parameters:
        return spec
    return replace(spec, parameters={**spec.parameters, "role": "partner"})


def _seed(*parts: object) -> int:
    """31 bits: some endpoints take no more."""
    return int(_hash(*parts)[:8], 16) >> 1


def _facts(agent: OpenAgent) -> list[object]:
    """What makes an agent's words: not where its files are, nor how it is reached."""
    spec = agent.spec
    known = kind_named(spec.kind).declared
    hidden = {one.name for one in known if one.connection or one.file}
    hidden |= set(getattr(agent.agent, "unsaid", ()))
    own = sorted((name, value) for name, value in spec.parameters.items() if name not in hidden)
    identity = str(getattr(agent.agent, "identity", ""))
    maker = str(getattr(agent.agent, "maker", "")) or identity or spec.target
    return [agent.label, spec.kind, own, maker]


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
