"""What simulated people say to an agent, and what stands in for the agent's replies.

In process nobody is asked: agents may cost money, and a simulation is there to try a design before
anybody is paid. Through the pages of a server simulated people talk with its real agents.
"""

from collections.abc import Callable, Generator
from datetime import datetime

from dialens.studies._conversations import talk_of
from dialens.studies._exchange import ANSWERED
from dialens.studies._types import Screen
from dialens.studies.design import Conversations
from dialens.studies.simulation._small_talk import line, stand_in
from dialens.studies.store import Given, Message, Session, Store, Talking

_TYPING_S = 14.0
_REPLY_S = 2.0


def converse(
    store: Store, session: Session, index: int, screen: Screen, who: str, talks: Conversations,
    clock: Callable[[], datetime],
) -> Generator[float, None, None]:  # fmt: skip
    """Have a conversation in process, from wherever it was interrupted; gives the waits."""
    talking, talk = Talking(store.database), str(talk_of(screen))
    system, agent = str(screen.state["system"]), str(screen.state["agent"])
    done = {one.number for one in talking.exchanges(session.token) if one.state == ANSWERED}
    for number in range(1, talks.exchanges + 1):
        yield _TYPING_S
        if number in done or session.index > index:
            continue
        text = line(who, talk, number)
        message = Message(talk, index, number, text, f"{number}", system, agent, talks.exchanges)
        _, held = talking.say(session.token, message, server=who, now=clock())
        if held is None:  # interrupted between the two
            held = talking.take(session.token, talk, number, server=who, now=clock())
        yield _REPLY_S
        if held is not None:
            talking.answered(held, Given(stand_in(agent, number), _REPLY_S), now=clock())
