"""Agents that play the people of a scenario file, each conversation another one."""

import hashlib
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from dialens.agents._agent import ENDED, Agent, AgentError, AgentSpec, Message, Parameters, Reply
from dialens.agents._registry import kind_named, make_agent, parse_agent
from dialens.agents._settings import read_open_settings, setting
from dialens.agents.users._endings import GAVE_UP, GOAL_REACHED, MOST_TURNS
from dialens.agents.users._prompt import as_tasks, as_turns
from dialens.agents.users._replies import CUT, EMPTY, Written, read_written, satisfied
from dialens.agents.users._scenarios import Pack, Scenario, read_pack
from dialens.base import DialensError

_READ_NO_TASK = ("script", "replay")
_DRAWN_AGAIN = 1_000_003  # added to the seed


@dataclass(frozen=True)
class UserSettings:
    """Who plays the users, and how it is asked; all other settings are those of that agent."""

    by: str = setting("", "The agent that plays them: openai:MODEL, llama:FILE …")
    form: str = setting(
        "auto",
        "How it is asked: with a task and a transcript (tasks), or in exchanged roles (turns); "
        "auto takes turns for scripts.",
        choices=("auto", "tasks", "turns"),
    )


@dataclass(frozen=True)
class SimulatedUser:
    """A language model that plays the users of a pack.

    In a collection the n-th conversation takes the n-th scenario, the same with everybody; all of
    them once before any again. By itself the seed chooses.

    Attributes:
        system: `user`.
        name: The pack, unless it was given another.
        parameters: What was set.
        pack: Who is played.
        by: Who plays.
        form: How it is asked, `tasks` or `turns`.
        unsaid: Those of the parameters that change no words: how who plays is reached.
        number: Which conversation of a collection it is.

    Examples:
        >>> from dialens.agents.kinds import ScriptAgent
        >>> lines = ScriptAgent("s", "a", {}, (("No parcel yet. [GOES ON]",),))
        >>> user = SimulatedUser("user", "complaint", {}, read_pack("complaint"), lines, "turns")
        >>> [user.numbered(number).speaker for number in (0, 1)]
        ['Amina (late_parcel)', 'Oskar (double_charge)']
        >>> said = [Message("agent", "Where is it?"), Message("partner", "Wait, please.")]
        >>> user.reply(said).text
        'No parcel yet.'
    """

    system: str
    name: str
    parameters: Parameters
    pack: Pack = field(repr=False)
    by: Agent = field(repr=False)
    form: str = "tasks"
    unsaid: tuple[str, ...] = ()
    number: int | None = None

    @property
    def identity(self) -> str:
        """The hash of the scenario's words, of the form they are asked in, and of who plays."""
        player = (
            getattr(self.by, "maker", "")
            or getattr(self.by, "identity", "")
            or self.parameters.get("by", "")
        )
        scenarios = self.pack.scenarios if self.number is None else [self.scenario()]
        ask = as_tasks if self.form == "tasks" else as_turns
        asked = [[one.text for one in ask(scenario, [])] for scenario in scenarios]
        words = [[scenario.words for scenario in scenarios], asked, str(player)]
        return hashlib.sha256(msgspec.json.encode(words)).hexdigest()

    @property
    def prices(self) -> Any:
        """Those of who plays, where it has any."""
        return self.by.prices  # type: ignore[attr-defined]

    @property
    def host(self) -> Any:
        """Where what is said to who plays is sent, where it is."""
        return self.by.host  # type: ignore[attr-defined]

    @property
    def keys_sent(self) -> Any:
        """What who plays is sent of the environment, where it is."""
        return self.by.keys_sent  # type: ignore[attr-defined]

    @property
    def limit(self) -> Any:
        """The limits that who plays keeps to, where it has any."""
        return self.by.limit  # type: ignore[attr-defined]

    @property
    def count(self) -> Any:
        """Counts tokens as who plays does, where it can."""
        return self.by.count  # type: ignore[attr-defined]

    @property
    def task(self) -> str:
        """What who plays is told before anything was said."""
        ask = as_tasks if self.form == "tasks" else as_turns
        return "\n".join(message.text for message in ask(self.scenario(), []))

    def scenario(self, seed: int = 0) -> Scenario:
        """Who is played: by the number of the conversation, or by a seed."""
        place = seed if self.number is None else self.number
        return self.pack.scenarios[place % len(self.pack.scenarios)]

    @property
    def opening(self) -> str:
        """The first words of this conversation, where the scenario has them."""
        return self.scenario().opening

    @property
    def speaker(self) -> str:
        """What the user of this conversation is called in a corpus."""
        scenario = self.scenario()
        return f"{scenario.user} ({scenario.name})"

    @property
    def about(self) -> Mapping[str, object]:
        """What a corpus keeps of the scenario."""
        scenario = self.scenario()
        told = {
            "scenario": f"{self.pack.name}/{scenario.name}",
            "user": scenario.user,
            "persona": scenario.persona,
            "goal": scenario.goal,
            "mood": scenario.mood,
            "knowledge": list(scenario.knowledge),
        }
        return {name: value for name, value in told.items() if value}

    def numbered(self, number: int) -> "SimulatedUser":
        """Itself in the n-th conversation of a collection."""
        own = getattr(self.by, "numbered", None)
        return replace(self, number=number, by=own(number) if callable(own) else self.by)

    def close(self) -> None:
        """End what plays the users."""
        with _OPENING:
            for key in [key for key, one in _PLAYERS.items() if one is self.by]:
                del _PLAYERS[key]
        close = getattr(self.by, "close", None)
        if callable(close):
            close()

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Say what the user would say; ends the conversation when they are done with it."""
        scenario = self.scenario(seed)
        turns = sum(message.role == "agent" for message in history)
        if scenario.opening and not turns:
            return Reply(scenario.opening)
        if satisfied(scenario, history):
            raise AgentError(GOAL_REACHED, ENDED, attempts=0)
        if scenario.turns is not None and turns >= scenario.turns:
            raise AgentError(MOST_TURNS, ENDED, attempts=0)
        leaving = scenario.patience is not None and turns >= scenario.patience
        ask = as_tasks if self.form == "tasks" else as_turns
        asked = ask(scenario, history, leaving=leaving)

        def draw(seed: int) -> tuple[Reply, Written]:
            drawn = _asked(lambda: self.by.reply(asked, seed=seed))
            return drawn, read_written(drawn.text, scenario, history)

        first, written = draw(seed)
        reply = first
        if written.faults:
            second, other = draw(seed + _DRAWN_AGAIN)
            reply = _added(first, second)
            if len(other.faults) <= len(written.faults):
                written = other
        if EMPTY in written.faults:
            kind = ENDED if written.ends else "empty"
            why = f"Who plays {self.system} {self.name} said nothing, twice."
            error = AgentError(written.ends or why, kind, attempts=reply.attempts)
            error.spent = reply
            raise error
        notes = [*written.faults, *((CUT,) if written.cut else ())]
        return replace(
            reply,
            text=written.text,
            ends=GAVE_UP if leaving else written.ends,
            note="; ".join([*([reply.note] if reply.note else []), *notes]),
        )

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, Reply]:
        """Say it in one piece: what has to be drawn again cannot be taken back."""
        reply = self.reply(history, seed=seed)
        yield reply.text
        return reply


def _asked(ask: Callable[[], Reply]) -> Reply:
    """What was drawn; nothing at all is drawn again like everything that is no message."""
    try:
        return ask()
    except AgentError as error:
        if error.kind != "empty":
            raise
        return replace(error.spent or Reply(""), text="", attempts=error.attempts)


def _added(first: Reply, second: Reply) -> Reply:
    """The second of two replies, with what both took."""

    def both(one: Any, other: Any) -> Any:
        return other if one is None else one if other is None else one + other

    return replace(
        second,
        seconds=first.seconds + second.seconds,
        attempts=first.attempts + second.attempts,
        tokens_in=both(first.tokens_in, second.tokens_in),
        tokens_out=both(first.tokens_out, second.tokens_out),
        cost=both(first.cost, second.cost),
        tokens_cached=both(first.tokens_cached, second.tokens_cached),
    )


_OPENING = threading.Lock()
_PLAYERS: WeakValueDictionary[str, Agent] = WeakValueDictionary()


def _opened(player: AgentSpec) -> Agent:
    """Who plays: one for all packs that it plays at the same time, since a model is large."""
    with _OPENING:
        found = _PLAYERS.get(repr(player))
        if found is None:
            found = _PLAYERS[repr(player)] = make_agent(player)
        return found


def open_agent(spec: AgentSpec) -> SimulatedUser:
    """A simulated user of a pack that ships, or of a file."""
    settings, own = read_open_settings(UserSettings, spec)
    if not spec.target:
        raise DialensError(
            "Simulated users need scenarios: user:PACK or user:FILE; `dialens agents scenarios` "
            "lists the packs that ship."
        )
    if not settings.by:
        raise DialensError(
            f"{spec}: who plays the users? Name a language model: by=openai:MODEL, by=llama:FILE …"
        )
    pack = read_pack(spec.target)
    player = replace(parse_agent(settings.by, own), typed=spec.typed)
    if player.kind in ("human", "user"):
        raise DialensError(f"{spec}: a {player.kind} cannot play simulated users. Name a model.")
    form = settings.form
    if form == "auto":
        form = "turns" if player.kind in _READ_NO_TASK else "tasks"
    hidden = {one.name for one in kind_named(player.kind).declared if one.connection or one.file}
    return SimulatedUser(
        spec.system or "user",
        spec.name or pack.name,
        dict(spec.parameters),
        pack,
        _opened(player),
        form,
        ("by", *sorted(hidden)),
    )
