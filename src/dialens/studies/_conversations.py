"""Conversations in the plan of a participation, and what the plan cannot know: what was said.

The plan has a screen for the conversation, one for each reply that may come, and one for the
whole. It stays a pure function of study, cell and seed; `filled` puts in what was said when a page
is made, and `is_absent` tells replies that never came.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from dialens.studies import _factors as factors
from dialens.studies._exchange import ANSWERED, Exchange, spoken
from dialens.studies._factors import Condition
from dialens.studies._items import Candidate, Item
from dialens.studies._types import JSON, Cell, Screen
from dialens.studies.design import AGENT, Conversations, Design, TalkingAgent, texts_of
from dialens.studies.plan import ScreenMaker, arranged, judged_screens, latin_square

Digit = Callable[[int], int]
"""Gives the next digit of a participant's seed, to a base."""


def agents_of(study: Conversations, cell: Cell, digit: Digit) -> list[TalkingAgent]:
    """Whom a participant talks with, in order; all of them stand in a Latin square."""
    if study.assign == "between":
        return [study.named(cell.levels[AGENT])]
    return arranged(study.agents, "latin_square", digit(len(latin_square(len(study.agents)))))


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
    agents = agents_of(talks, cell, digit)
    turn_of_topics = digit(len(talks.topics))
    by_conversation = []
    for place, agent in enumerate(agents):
        shown = _condition(design, cell, agent)
        topic = talks.topics[(turn_of_topics + place) % len(talks.topics)] if talks.topics else ""
        chat = _chat(design, talks, agent, shown, topic, place)
        judged = _judged(maker, talks, agent, shown, qualities, chat, place)
        by_conversation.append([chat, *judged])
    return by_conversation


def _condition(design: Design, cell: Cell, agent: TalkingAgent) -> Condition:
    shown = factors.condition(design, cell.levels)
    own = {name: cell.levels[name] for name in design.factors if name in cell.levels}
    named = Cell.of({**own, AGENT: agent.name}).name
    return replace(shown, name=named, levels={**shown.levels, AGENT: agent.name})


def _chat(
    design: Design,
    talks: Conversations,
    agent: TalkingAgent,
    shown: Condition,
    topic: str,
    place: int,
) -> Screen:
    name = f"chat-{place + 1:03d}"
    body: list[dict[str, JSON]] = [{"kind": "text", "text": note} for note in shown.notes]
    if topic:
        body.append({"kind": "text", "text": topic})
    body.append(_block(design, talks, name) | {"exchanges": talks.exchanges})
    state: dict[str, str | int | float | None] = {
        "condition": shown.name,
        "order": place,
        "item": name,
        "talk": name,
        "agent": agent.name,
        "system": agent.of_system,
        "topic": topic or None,
    }
    state |= {f"factor.{factor}": level for factor, level in shown.levels.items()}
    return Screen(name, "chat", design.title, tuple(body), state=state)


def _block(design: Design, talks: Conversations, name: str) -> dict[str, JSON]:
    texts = texts_of(design)
    return {
        "kind": "talk",
        "talk": name,
        "called": talks.called or texts.say("chat_called"),
        "you": texts.say("chat_you"),
        "greeting": talks.greeting,
    }


def _judged(
    maker: ScreenMaker,
    talks: Conversations,
    agent: TalkingAgent,
    shown: Condition,
    qualities: Sequence[str],
    chat: Screen,
    place: int,
) -> list[Screen]:
    declared = maker.design.qualities
    by_level = {
        level: [name for name in qualities if declared[name].level == level]
        for level in ("turn", "dialogue")
    }
    prefix, first = f"rate-{place + 1:03d}", 1 + bool(talks.greeting)
    moments: list[tuple[str, int | None, list[str]]] = [
        (f"{prefix}-t{number:02d}", number, by_level["turn"])
        for number in range(1, talks.exchanges + 1)
    ]
    moments.append((f"{prefix}-dialogue", None, by_level["dialogue"]))
    made: list[Screen] = []
    for name, number, asked in moments:
        turn = None if number is None else first + 2 * (number - 1)
        one = Candidate(
            "dialogue" if turn is None else f"turn-{turn}",
            "",
            agent.of_system,
            agent.name,
            chat.id,
            turn,
        )
        position = 0 if number is None else number - 1
        for screen in judged_screens(
            maker, Item(chat.id, (), (one,)), shown, asked, [one], "rating", name, place, position
        ):
            made.append(_with_talk(screen, maker.design, talks, chat.id, number))
    return made


def _with_talk(
    screen: Screen, design: Design, talks: Conversations, talk: str, number: int | None
) -> Screen:
    """The screen with the conversation before what is judged of it."""
    block = _block(design, talks, talk) | {"number": number}
    body: list[dict[str, JSON]] = []
    for one in screen.body:
        if one["kind"] == "response":
            body.append(block)
            if number is not None:
                body.append({**one, "talk": talk, "number": number})
        else:
            body.append(dict(one))
    state = {**screen.state, "talk": talk, "exchange": number}
    return replace(screen, body=tuple(body), state=state)


def talk_of(screen: Screen) -> str | None:
    """The conversation that a screen is about; none for other screens."""
    name = screen.state.get("talk")
    return None if name is None else str(name)


def is_absent(screen: Screen, exchanges: Sequence[Exchange]) -> bool:
    """Whether a screen asks about something that was never said.

    Args:
        screen: Of the plan.
        exchanges: Of the participation, all conversations together.
    """
    talk = talk_of(screen)
    if talk is None or screen.kind != "rating":
        return False
    number = screen.state.get("exchange")
    return not any(
        one.talk == talk and one.state == ANSWERED and number in (None, one.number)
        for one in exchanges
    )


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
    if "talk" not in block:
        return block
    own = [one for one in exchanges if one.talk == block["talk"]]
    number = block.get("number")
    if block["kind"] == "response":
        reply = next((one.reply for one in own if one.number == number), None)
        return {name: value for name, value in block.items() if name not in ("talk", "number")} | {
            "text": reply or ""
        }
    if number is not None:
        own = [replace(one, reply=None) if one.number == number else one for one in own]
        own = [one for one in own if one.number <= number]
    names = {"agent": block["called"], "partner": block["you"]}
    turns = [
        {"speaker": names[role], "text": text}
        for role, text in spoken(own, greeting=block["greeting"])
    ]
    return {"kind": "dialogue", "turns": turns, "own": block["you"]}
