"""The part of a study file by which participants talk with agents, and judge what they said."""

import math
from itertools import combinations
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator
from pydantic import Field as Setting

from dialens.studies._words import WORDS
from dialens.studies.design._items import ChosenAgent, Section

AGENT, PAIR = "agent", "pair"
"""The factor that `conversations.agents` makes: one agent, or a pair side by side."""


class TalkingAgent(ChosenAgent):
    """Somebody to talk with. Participants never learn who it is; the data say so."""

    name: str = Setting(pattern=r"^[^,=\s][^,=]*$", max_length=60)
    """What it is called in the data."""
    system: str | None = Setting(default=None, min_length=1, max_length=200)
    """What it is a setting of; the target's name, or else the kind, if not given."""

    @property
    def of_system(self) -> str:
        """The system, in the columns of a corpus.

        Examples:
            >>> TalkingAgent(name="a", agent="script:bots/warm.txt").of_system
            'warm'
            >>> TalkingAgent(name="a", agent="hred").of_system
            'hred'
        """
        return self.system or PurePath(self.target).stem or self.kind


def _topics(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Text = Annotated[str, Setting(min_length=1, max_length=2_000)]


AS_IT_COMES = "as_it_comes"
"""The setting by which replies are shown as fast as their agent is."""


class Pace(Section):
    """How long a reply takes, whichever agent it comes from: it is held back until then."""

    seconds: float = Setting(default=1.0, ge=0, le=60)
    """Before the first character."""
    characters_per_second: float = Setting(default=40.0, gt=0, le=10_000)
    """How fast the rest is written."""
    spread: float = Setting(default=0.2, ge=0, le=1)
    """How much that varies from reply to reply, as people do: the standard deviation of the
    logarithm; 0 for no variation."""
    at_most: float = Setting(default=15.0, gt=0, le=300)
    """Seconds that no reply is held back longer than."""

    def delay(self, reply: str, draw: float = 0.0) -> float:
        """Seconds from the message until a reply to it is shown.

        Args:
            reply: What is said.
            draw: A standard normal number, of the exchange and not of the agent.

        Examples:
            >>> pace = Pace(seconds=1, characters_per_second=40, spread=0.5)
            >>> pace.delay("x" * 100), round(pace.delay("x" * 100, 1.0), 2)
            (3.5, 5.77)
        """
        written = self.seconds + len(reply) / self.characters_per_second
        return min(written * math.exp(self.spread * draw), self.at_most)


def _pace(value: Any) -> Any:
    if isinstance(value, str) and value != AS_IT_COMES:
        raise ValueError(f"`{AS_IT_COMES}`, or settings like `{{seconds: 2}}`; seen: {value!r}")
    return value


class Conversations(Section):
    """Conversations that participants have with agents, and judge."""

    agents: list[TalkingAgent] = Setting(min_length=1, max_length=100)
    """Whom participants talk with."""
    assign: Literal["between", "within"] = "between"
    """`between`: a participant talks with one agent; `within`: with all, one after the other. Side
    by side, the same holds for pairs of agents."""
    side_by_side: bool = False
    """Whether two agents answer each message side by side: each pair of agents, each in either
    place equally often."""
    rate: Literal["after", "each_reply"] = "after"
    """When replies are judged (qualities with `level: turn`): after the conversation, or each as it
    comes, before the next message is written."""
    exchanges: int = Setting(default=6, ge=1, le=50)
    """Messages that a participant writes in a conversation at most; each is answered."""
    least_exchanges: int | None = Setting(default=None, ge=1, le=49)
    """Messages after which a participant may end the conversation; all are written if not given."""
    minutes: float | None = Setting(default=None, gt=0, le=240)
    """After the first message, when the conversation ends; a reply under way is still shown."""
    pace: Annotated[Pace | Literal["as_it_comes"] | None, BeforeValidator(_pace)] = None
    """How long replies take, the same for all agents, so that speed tells nobody apart: they are
    shown whole, and not before. `as_it_comes` shows each as fast as its agent is. If not given,
    several agents have the usual pace, and a single one is shown as it comes."""
    topics: Annotated[
        list[_Text], BeforeValidator(_topics, json_schema_input_type=str | list[_Text]), WORDS
    ] = Setting(default_factory=list)
    """What to talk about: a text, or several, of which each conversation gets one in turn."""
    greeting: Annotated[str, WORDS] = Setting(default="", max_length=2_000)
    """What every agent is said to have said first; nothing if the participant is to begin."""
    called: Annotated[str | None, WORDS] = Setting(default=None, min_length=1, max_length=40)
    """What participants read above what an agent says, the same for all of them; “Chatbot” in the
    study's language if not given."""
    max_characters: int = Setting(default=1_000, ge=1, le=20_000)
    """Of a participant's message."""
    max_reply_characters: int = Setting(default=8_000, ge=1, le=200_000)
    """Of an agent's reply; one that says more has failed."""
    reply_seconds: float = Setting(default=120.0, gt=0, le=3_600)
    """In which an agent has to reply; one that takes longer has failed."""
    tries: int = Setting(default=3, ge=1, le=10)
    """How often an agent that fails is asked for one reply before the conversation ends."""

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [agent.name for agent in self.agents]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two agents are called {name}")
        return self

    @model_validator(mode="after")
    def _can_be_had(self) -> Self:
        if self.least_exchanges is not None and self.least_exchanges >= self.exchanges:
            raise ValueError(
                f"least_exchanges is {self.least_exchanges}, but after {self.exchanges} "
                "(exchanges) the conversation is over anyway; give a smaller number"
            )
        if self.side_by_side and len(self.agents) < 2:
            raise ValueError("side_by_side needs at least two agents")
        return self

    @property
    def common_pace(self) -> Pace | None:
        """The pace that holds for all agents; none if replies are shown as they come.

        Examples:
            >>> agents = [TalkingAgent(name=name, agent="hred") for name in "ab"]
            >>> Conversations(agents=agents).common_pace.seconds
            1.0
            >>> Conversations(agents=agents[:1]).common_pace
            >>> Conversations(agents=agents, pace="as_it_comes").common_pace
        """
        if isinstance(self.pace, Pace):
            return self.pace
        return Pace() if self.pace is None and len(self.agents) > 1 else None

    @property
    def factor(self) -> str:
        """What is varied: the agent, or the pair of agents."""
        return PAIR if self.side_by_side else AGENT

    @property
    def line_ups(self) -> dict[str, tuple[TalkingAgent, ...]]:
        """Who answers in a conversation, by level of the factor: one agent, or a pair.

        Examples:
            >>> agents = [TalkingAgent(name=name, agent="hred") for name in "abc"]
            >>> list(Conversations(agents=agents, side_by_side=True).line_ups)
            ['a-vs-b', 'a-vs-c', 'b-vs-c']
        """
        together = combinations(self.agents, 2 if self.side_by_side else 1)
        return {"-vs-".join(agent.name for agent in own): own for own in together}
