"""How far a conversation is, in words: what its page shows, and what its script is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dialens.studies import (
    ANSWERED,
    BY_TIME,
    FAILED,
    GIVEN_UP,
    WAITING,
    Exchange,
    Screen,
    Talk,
    TalkState,
)
from dialens.studies.design import Conversations
from dialens.studies.texts import Texts
from dialens.web._markup import reply_markdown

MARKDOWN = "markdown"
_FULL_STOP = "\u3002"  # of Chinese and Japanese, after which no space comes

FAILURES = frozenset(
    {"timeout", "unreachable", "refused", "busy", "malformed", "empty", "too_long", "ended"}
)
"""Reasons that have a text of their own; nothing in it tells which agent it was."""


@dataclass(frozen=True)
class ChatState(TalkState):
    """A conversation as a page shows it, in the participant's language.

    Attributes:
        texts: What the page says by itself.
        render: How replies are shown; as they were written if none.
    """

    texts: Texts = field(default_factory=lambda: Texts.of("en"))
    render: str | None = None

    @property
    def waiting(self) -> bool:
        """Whether a reply is under way."""
        return self.state == WAITING

    @property
    def failed(self) -> bool:
        """Whether the last reply failed and may be asked for again."""
        return self.state == FAILED and not self.over

    def announced(self, settings: Conversations) -> str:
        """What participants read about the conversation before it begins."""
        say, talk = self.texts.say, self.talk
        told = [say("chat_start_sides")] if len(talk.sides) > 1 else []
        if talk.least is None:
            told.append(say("chat_length", count=talk.most))
        else:
            told.append(say("chat_length_from", least=talk.least, count=talk.most))
        if settings.minutes is not None:
            told.append(say("chat_minutes", minutes=settings.minutes))
        told.append(say("chat_judge_each" if settings.rate == "each_reply" else "chat_judge_after"))
        return " ".join(told).replace(f"{_FULL_STOP} ", _FULL_STOP)

    @property
    def pending(self) -> list[int]:
        """The sides, from 1, that have not answered the newest message."""
        return [place for place, one in enumerate(self.last, start=1) if one.state != ANSWERED]

    @property
    def sorry(self) -> str:
        """Why the conversation does not go on as it should; empty if it does."""
        say = self.texts.say
        if self.ended == BY_TIME:
            return say("chat_time_over")
        found = (one for one in self.last if one.state == self.state)
        last = next(found, None)
        if last is None or last.state not in (FAILED, GIVEN_UP):
            return ""
        why = say(f"chat_{last.reason}" if last.reason in FAILURES else "chat_failed")
        if last.state == FAILED:
            return f"{why} {say('chat_saved')}" if not self.over else ""
        return f"{why} {say('chat_go_on' if last.reason == 'ended' else 'chat_given_up')}"

    def as_json(self) -> dict[str, Any]:
        """For programs, the page's script among them."""
        replies = [
            {"text": one.reply, "html": self._html(one.reply), "state": one.state}
            for one in self.last
        ]
        return {
            "talk": self.talk.names[0],
            "state": self.state,
            "number": self.number,
            "text": replies[0]["text"] if replies else None,
            "replies": replies,
            "sorry": self.sorry,
            "over": self.over,
            "ended": self.ended,
            "done": self.done,
            "left": self.talk.most - self.answered,
            "least": self.talk.least,
            "most": self.talk.most,
            "may_end": self.may_end,
            "seconds_left": self.seconds_left,
        }

    def _html(self, reply: str | None) -> str | None:
        return None if reply is None or self.render != MARKDOWN else str(reply_markdown(reply))


def chat_state(
    screen: Screen, talk: Talk, exchanges: Sequence[Exchange], now: datetime, texts: Texts
) -> ChatState:
    """How far the conversation of a screen is, as its page shows it.

    Args:
        screen: Of kind `chat`.
        talk: The conversation that is had there.
        exchanges: Of the participation.
        now: The time.
        texts: In the participant's language.
    """
    part = screen.state.get("exchange")
    render = next((one["render"] for one in screen.body if "render" in one), None)
    until = None if part is None else int(part)
    return ChatState(talk, exchanges, now, until, texts=texts, render=render)
