"""Conversations in the plan of a participation, and what the plan cannot know: what was said.

The plan has a screen for the conversation, one for each reply that may come, and one for the
whole. Where replies are judged as they come, each message has a screen of its own, and the replies
to it are judged on the next. The plan stays a pure function of study, cell and seed; `filled` puts
in what was said when a page is made, and `is_absent` tells replies that never came.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from dialens.studies import _factors as factors
from dialens.studies._exchange import ANSWERED, GIVEN_UP, Exchange, Side, Talk, spoken
from dialens.studies._factors import Condition
from dialens.studies._items import Candidate, Item
from dialens.studies._types import JSON, Cell, Screen
from dialens.studies.design import Conversations, Design, TalkingAgent, texts_of
from dialens.studies.plan import (
    ScreenMaker,
    arranged,
    judged_screens,
    latin_square,
    rendering,
    response_label,
)

EACH_REPLY = "each_reply"
"""The setting by which each reply is judged as it comes."""

Digit = Callable[[int], int]
"""Gives the next digit of a participant's seed, to a base."""


def line_ups(
    talks: Conversations, cell: Cell, digit: Digit
) -> list[tuple[str, tuple[TalkingAgent, ...]]]:
    """Who answers in each conversation of a participant, in order, by level of the factor.

    All of them stand in a Latin square; of a pair each is first equally often.
    """
    turn = digit(2) if talks.side_by_side else 0
    every = list(talks.line_ups.items())
    if talks.assign == "between":
        level = cell.levels[talks.factor]
        own = [(level, talks.line_ups[level])]
    else:
        own = arranged(every, "latin_square", digit(len(latin_square(len(every)))))
    return [
        (level, agents[::-1] if (turn + place) % 2 and talks.side_by_side else agents)
        for place, (level, agents) in enumerate(own)
    ]


@dataclass(frozen=True)
class _Conversation:
    """One conversation of a participant, as its screens are made."""

    maker: ScreenMaker
    talks: Conversations
    agents: tuple[TalkingAgent, ...]
    shown: Condition
    topic: str
    place: int

    @property
    def design(self) -> Design:
        return self.maker.design

    @property
    def name(self) -> str:
        return f"chat-{self.place + 1:03d}"

    @property
    def sides(self) -> list[str]:
        """Under which names what is said on each side is kept."""
        return _sides(self.name, len(self.agents))

    @property
    def state(self) -> dict[str, str | int | float | None]:
        state: dict[str, str | int | float | None] = {
            "condition": self.shown.name,
            "order": self.place,
            "item": self.name,
            "talk": self.name,
            "topic": self.topic or None,
        }
        if self.talks.side_by_side:
            state["sides"] = len(self.agents)
        for number, agent in enumerate(self.agents, start=1):
            side = f"-{number}" if self.talks.side_by_side else ""
            state |= {f"agent{side}": agent.name, f"system{side}": agent.of_system}
        return state | {f"factor.{name}": level for name, level in self.shown.levels.items()}

    def block(self) -> dict[str, JSON]:
        """The place of what was said, which `filled` puts in."""
        texts = texts_of(self.design)
        own = self.talks.called or texts.say("chat_called")
        label = response_label(self.design)
        called = [own]
        if self.talks.side_by_side:
            called = [f"{label} {number}" for number in range(1, len(self.agents) + 1)]
        return {
            "kind": "talk",
            "talks": self.sides,
            "called": called,
            "you": texts.say("chat_you"),
            "greeting": self.talks.greeting,
            **rendering(self.shown),
        }

    def chat(self, number: int | None) -> Screen:
        """The screen of the conversation, or of one exchange of it."""
        body: list[dict[str, JSON]] = [{"kind": "text", "text": text} for text in self._above]
        wanted = self.talks.exchanges if number is None else 1
        body.append(self.block() | {"exchanges": wanted, "until": number})
        name = self.name if number is None else f"{self.name}-t{number:02d}"
        state = self.state | ({} if number is None else {"exchange": number})
        return Screen(name, "chat", self.design.title, tuple(body), state=state)

    @property
    def _above(self) -> list[str]:
        return [*self.shown.notes, *filter(None, [self.topic])]

    def judged(self, number: int | None, asked: Sequence[str]) -> list[Screen]:
        """The screens that ask about the replies of an exchange, or about the whole."""
        turn = None
        if number is not None:
            turn = 1 + bool(self.talks.greeting) + 2 * (number - 1)
        key = "dialogue" if turn is None else f"turn-{turn}"
        candidates = [
            Candidate(key, "", agent.of_system, agent.name, side, turn)
            for agent, side in zip(self.agents, self.sides, strict=True)
        ]
        if len(candidates) > 1:
            candidates = [
                replace(one, key=f"{key}-{slot}") for slot, one in enumerate(candidates, start=1)
            ]
        prefix = f"rate-{self.place + 1:03d}-"
        prefix += "dialogue" if number is None else f"t{number:02d}"
        # Side by side, the position is the place on the screen; else the reply's in the talk.
        first = 0 if number is None or self.talks.side_by_side else number - 1
        made = judged_screens(
            self.maker, Item(self.name, (), tuple(candidates)), self.shown, asked, candidates,
            "rating", prefix, self.place, first,
        )  # fmt: skip
        return [self._with_talk(screen, number) for screen in made]

    def _with_talk(self, screen: Screen, number: int | None) -> Screen:
        """The screen with the conversation before what is judged of it."""
        before = [dict(one) for one in screen.body if one["kind"] == "text"]
        if self.topic and number is not None and self.talks.rate == EACH_REPLY:
            before.append({"kind": "text", "text": self.topic})
        by_side = any(one.response is not None for one in screen.fields)
        replies = [
            {**one, "talks": self.sides, "number": number}
            for one in screen.body
            if one["kind"] == "response"
        ]
        if number is None and not (by_side and self.talks.side_by_side):
            replies = []  # it stands above
        rest = [dict(one) for one in screen.body if one["kind"] not in ("text", "response")]
        state = {**screen.state, "talk": self.name, "exchange": number}
        if self.talks.side_by_side:
            state["sides"] = len(self.agents)
        if self.talks.rate == EACH_REPLY and number is not None:
            state["as_it_comes"] = 1
        body = (*before, self.block() | {"number": number}, *replies, *rest)
        return replace(screen, body=body, state=state)


def talk_screens(
    design: Design, cell: Cell, qualities: Sequence[str], digit: Digit
) -> list[list[Screen]]:
    """The screens of each conversation: having it, judging its replies, judging the whole.

    Args:
        design: A study with conversations.
        cell: The participant's condition.
        qualities: In the order in which they are asked.
        digit: Of the participant's seed.
    """
    talks = design.conversations
    assert talks is not None
    maker = ScreenMaker(design)
    own = line_ups(talks, cell, digit)
    turn_of_topics = digit(len(talks.topics))
    of_turns, of_whole = (
        [name for name in qualities if design.qualities[name].level == level]
        for level in ("turn", "dialogue")
    )
    by_conversation = []
    for place, (level, agents) in enumerate(own):
        topic = talks.topics[(turn_of_topics + place) % len(talks.topics)] if talks.topics else ""
        shown = _condition(design, cell, talks.factor, level)
        one = _Conversation(maker, talks, agents, shown, topic, place)
        numbers = range(1, talks.exchanges + 1)
        if talks.rate == EACH_REPLY:
            screens = [s for n in numbers for s in (one.chat(n), *one.judged(n, of_turns))]
        else:
            screens = [one.chat(None), *(s for n in numbers for s in one.judged(n, of_turns))]
        by_conversation.append([*screens, *one.judged(None, of_whole)])
    return by_conversation


def _condition(design: Design, cell: Cell, factor: str, level: str) -> Condition:
    shown = factors.condition(design, cell.levels)
    own = {name: cell.levels[name] for name in design.factors if name in cell.levels}
    named = Cell.of({**own, factor: level}).name
    return replace(shown, name=named, levels={**shown.levels, factor: level})


def _sides(talk: str, count: int) -> list[str]:
    """Under which names the sides of a conversation are kept."""
    return [talk] if count == 1 else [f"{talk}-{number}" for number in range(1, count + 1)]


def talk_of(screen: Screen) -> str | None:
    """The conversation that a screen is about; none for other screens."""
    name = screen.state.get("talk")
    return None if name is None else str(name)


def talk_names(screen: Screen) -> list[str]:
    """Under which names what was said is kept; empty for screens about no conversation."""
    talk = talk_of(screen)
    return [] if talk is None else _sides(talk, int(screen.state.get("sides") or 1))


def talk_at(screen: Screen, talks: Conversations) -> Talk:
    """The conversation that is had on a screen.

    Args:
        screen: Of kind `chat`.
        talks: The settings of the study.
    """
    names, state = talk_names(screen), screen.state
    ends = [f"-{number}" for number in range(1, len(names) + 1)] if len(names) > 1 else [""]
    sides = tuple(
        Side(name, str(state[f"system{end}"]), str(state[f"agent{end}"]))
        for name, end in zip(names, ends, strict=True)
    )
    seconds = None if talks.minutes is None else talks.minutes * 60
    return Talk(sides, talks.exchanges, talks.least_exchanges, seconds)


def is_absent(screen: Screen, exchanges: Sequence[Exchange]) -> bool:
    """Whether a screen asks about, or for, something that was never said.

    Args:
        screen: Of the plan.
        exchanges: Of the participation, all conversations together.
    """
    names, number = talk_names(screen), screen.state.get("exchange")
    own = [one for one in exchanges if one.talk in names]
    if screen.kind == "chat":
        over = any(one.ended or one.state == GIVEN_UP for one in own)
        return number is not None and over and not any(one.number == number for one in own)
    if not names or screen.kind != "rating":
        return False
    replies = [(one.talk, one.number) for one in own if one.state == ANSWERED]
    answered = set.intersection(*({n for talk, n in replies if talk == name} for name in names))
    return number not in answered if number is not None else not answered


def filled(screen: Screen, exchanges: Sequence[Exchange]) -> Screen:
    """A screen with what was said in the conversation it is about.

    Args:
        screen: Of the plan.
        exchanges: Of the participation, all conversations together.
    """
    if talk_of(screen) is None:
        return screen
    return replace(screen, body=tuple(_filled(block, exchanges) for block in screen.body))


def _filled(block: JSON, exchanges: Sequence[Exchange]) -> JSON:
    if "talks" not in block:
        return block
    sides = [[one for one in exchanges if one.talk == name] for name in block["talks"]]
    number = block.get("number")
    if block["kind"] == "response":
        own = sides[int(block["slot"]) - 1]
        reply = next((one.reply or "" for one in own if one.number == number), None)
        plain = {name: value for name, value in block.items() if name not in ("talks", "number")}
        return plain | {"text": "" if number is not None and reply is None else reply}
    if number is not None:
        sides = [
            [replace(one, reply=None) if one.number == number else one for one in own]
            for own in sides
        ]
    last = number or block.get("until")
    sides = [[one for one in own if last is None or one.number <= last] for own in sides]
    return {
        "kind": "dialogue",
        "turns": _turns(block, sides),
        "own": block["you"],
        "called": block["called"],
    }


def _turns(block: JSON, sides: Sequence[Sequence[Exchange]]) -> list[dict[str, JSON]]:
    """What was said, in order; side by side, each reply says on which side it stands."""
    shown = {"render": block["render"]} if "render" in block else {}
    by_side = [spoken(own, greeting=block["greeting"]) for own in sides]
    turns: list[dict[str, JSON]] = []
    for moment in zip_longest(*by_side):
        told = [one for one in moment if one is not None]
        if told[0][0] == "partner":
            turns.append({"speaker": block["you"], "text": told[0][1]})
            continue
        for slot, one in enumerate(moment, start=1):
            if one is not None:
                side = {"slot": str(slot)} if len(sides) > 1 else {}
                said = {"speaker": block["called"][slot - 1], "text": one[1]}
                turns.append({**said, **side, **shown})
    return turns
