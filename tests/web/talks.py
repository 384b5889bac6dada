"""A small study in which people talk with agents, and what they do on its pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import polars as pl
from starlette.testclient import TestClient

from dialens.agents import Message, Reply
from dialens.studies.store import ConversationStore
from dialens.web import Site
from tests.web.people import Page

LIKERT = {"kind": "likert", "points": 5}
SCRIPT = {"accept": "application/json"}


def talk(url: str, *models: str, **changes: Any) -> dict[str, Any]:
    """A study as a file would hold it; agents are scenarios of the stand-in endpoint.

    Args:
        url: Of the endpoint.
        models: Its scenarios; the agents are called bot-1, bot-2, …
        changes: In the section `conversations`, where replies are shown as they come.
    """
    settings = {"endpoint": url, "attempts": 1, "send_seed": False}
    agents = [
        {"name": f"bot-{number}", "agent": f"openai:{model}", "set": settings}
        for number, model in enumerate(models, start=1)
    ]
    return {
        "study": "talk",
        "title": "A conversation with a chatbot",
        "conversations": {
            "agents": agents,
            "exchanges": 2,
            "topics": ["Talk about the weather."],
            "pace": "as_it_comes",
        }
        | changes,
        "qualities": {
            "relevance": {
                "level": "turn",
                "definition": "It is about what you said.",
                "instrument": LIKERT,
            },
            "overall": {
                "level": "dialogue",
                "definition": "All things considered.",
                "instrument": LIKERT,
            },
        },
        "consent": {"text": "We store what you write. Contact: a@example.org"},
        "instructions": {"text": "Talk with the chatbot, then judge it."},
        "targets": 50,
    }


PAIRWISE = {"kind": "pairwise", "ties": True}


def arena(url: str, *models: str, **changes: Any) -> dict[str, Any]:
    """A study in which two agents answer side by side, and the better one is chosen each time."""
    study = talk(url, *models, **{"side_by_side": True, "rate": "each_reply"} | changes)
    study["qualities"] = {
        "reply": {
            "level": "turn",
            "question": "Which answer is better?",
            "definition": "The one you would rather get.",
            "instrument": PAIRWISE,
        },
        "better": {
            "level": "dialogue",
            "question": "Which chatbot was better?",
            "definition": "The one you would rather talk with again.",
            "instrument": PAIRWISE,
        },
    }
    return study


class Talker:
    """Somebody whose browser has no window; with or without script."""

    def __init__(self, client: TestClient | httpx.Client) -> None:
        self.client = client

    def begin(self, address: str = "/") -> Page:
        """Up to the first conversation."""
        page = Page(self.client.get(address).text)
        page = Page(self.client.post("/begin", data=page.hidden).text)
        page = self.onward(page, **{"a:consent": "yes"})
        return self.onward(page)

    def onward(self, page: Page, **answers: str) -> Page:
        """Send a screen's form."""
        sent = self.client.post("/study", data=page.hidden | answers)
        assert sent.status_code == 200, sent.text
        return Page(sent.text)

    def say(self, page: Page, text: str, **changes: str) -> list[dict[str, Any]]:
        """Send a message as the page's script does; gives the lines that come back."""
        form = page.hidden | {"do": "say", "text": text} | changes
        return lines(self.client.post("/chat", data=form, headers=SCRIPT))

    def again(self, page: Page, do: str = "again") -> list[dict[str, Any]]:
        """Try again, or look."""
        return lines(self.client.post("/chat", data=page.hidden | {"do": do}, headers=SCRIPT))

    def write(self, page: Page, text: str) -> Page:
        """Send a message without a script."""
        sent = self.client.post("/chat", data=page.hidden | {"do": "say", "text": text})
        return Page(sent.text)

    def here(self) -> Page:
        """The page where they are."""
        return Page(self.client.get("/study").text)

    def rate(self, page: Page, value: str = "4") -> Page:
        """Give the same answer to everything on a screen."""
        return self.onward(page, **dict.fromkeys(page.inputs, value))


def lines(answer: Any) -> list[dict[str, Any]]:
    """What a stream told, line by line."""
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines() if line]


def said(told: list[dict[str, Any]]) -> str:
    """The pieces of a stream, joined."""
    return "".join(line["piece"] for line in told if "piece" in line)


Visiting = Callable[[Site], Talker]


@dataclass
class Scripted:
    """An agent that does what the test says, and counts how often it is asked.

    Attributes:
        replies: What it says, one after the other; the last for ever after.
        wait: What it waits for before it says anything.
    """

    replies: Sequence[str | Exception] = ("Yes.",)
    wait: threading.Event | None = None
    system: str = "test"
    name: str = "scripted"
    parameters: dict[str, str] = field(default_factory=dict)
    asked: list[list[Message]] = field(default_factory=list)

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        return Reply("".join(self.stream(history, seed=seed)))

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, None]:
        self.asked.append(list(history))
        answer = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if self.wait is not None:
            assert self.wait.wait(60)
        if isinstance(answer, Exception):
            raise answer
        yield from answer.partition(" ")


def exchanges(site: Site) -> pl.DataFrame:
    """What was said and replied, as stored."""
    return ConversationStore(site.store.database).exchanges_frame(site.study.hash)


def failures(site: Site) -> pl.DataFrame:
    """The replies that failed, as stored."""
    return ConversationStore(site.store.database).failures_frame(site.study.hash)
