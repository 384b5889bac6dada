"""Participants without a browser: they read forms, fill them in and send them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
from httpx import Client
from starlette.testclient import TestClient

from dialens.studies import JSON, Field
from dialens.studies.instruments import simulate
from dialens.studies.store import Session
from dialens.web import Site
from dialens.web._forms import input_name


def form_fields(asked: Field, value: JSON) -> dict[str, str]:
    """The inputs of a page with an answer entered.

    Examples:
        >>> choices = [{"value": name, "label": name} for name in "ab"]
        >>> form_fields(Field("taste", "ranking", options={"choices": choices}), ["b", "a"])
        {'a:taste:b': '1', 'a:taste:a': '2'}
        >>> form_fields(Field("sweet", "magnitude"), 12.5)
        {'a:sweet': '12.5'}
    """
    if value is None:
        return {}
    other = str(value).removeprefix("other: ") if asked.options.get("other") else None
    if asked.instrument == "check_boxes":
        named = [one for one in value if not one.startswith("other: ")]
        own = [one.removeprefix("other: ") for one in value if one not in named]
        made = {input_name(asked.name, one): "1" for one in named}
        return made | {input_name(asked.name, "other"): one for one in own}
    if other is not None:
        chosen = "other" if other != value else str(value)
        made = {input_name(asked.name, "choice"): chosen}
        return made | ({input_name(asked.name, "other"): other} if other != value else {})
    if isinstance(value, dict):
        return {input_name(asked.name, part): str(chosen) for part, chosen in value.items()}
    if isinstance(value, list):
        ranks = enumerate(value, start=1)
        return {input_name(asked.name, str(thing)): str(rank) for rank, thing in ranks}
    return {input_name(asked.name): str(value)}


@dataclass
class Page(HTMLParser):
    """The first form of a page, and the text of its headings."""

    html: str
    hidden: dict[str, str] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    action: str = ""
    text: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form" and not self.action:
            self.action = told["action"]
        if tag in ("input", "textarea", "select") and "name" in told:
            if told.get("type") == "hidden":
                self.hidden.setdefault(told["name"], told.get("value", ""))
            elif told["name"] not in self.inputs:
                self.inputs.append(told["name"])

    def handle_data(self, data: str) -> None:
        self.text.append(data)


class Person:
    """Somebody with a browser that has cookies but no scripts."""

    def __init__(self, site: Site, client: TestClient | Client, seed: int = 0) -> None:
        self.site = site
        self.client = client
        self.draw = np.random.default_rng(seed)

    def come(self, address: str = "/") -> Page:
        """Open the first page."""
        return Page(self.client.get(address).text)

    def begin(self, address: str = "/") -> Page:
        """Open the first page and begin."""
        welcome = self.come(address)
        return Page(self.client.post("/begin", data=welcome.hidden).text)

    @property
    def session(self) -> Session:
        """Where the store thinks they are."""
        value = self.client.cookies[self.site.cookies.name]
        told = self.site.cookies._visits.loads(value)
        return self.site.store.session(told["t"])

    def filled(self, page: Page) -> dict[str, str]:
        """The form of the current screen with plausible answers."""
        session = self.session
        screen = self.site.screens(session)[session.index]
        assert page.hidden["screen"] == screen.id
        made = dict(page.hidden)
        for asked in screen.fields:
            answer = "yes" if screen.kind == "consent" else simulate(self.draw, asked)
            made |= form_fields(asked, answer)
        assert {name for name in made if name.startswith("a:")} <= set(page.inputs)
        return made

    def answer(self, page: Page) -> Page:
        """Fill in a screen, or say something, send it, and see the next."""
        if page.action == "/chat":
            said = self.client.post("/chat", data=page.hidden | {"do": "say", "text": "Hello!"})
            assert said.status_code == 200, said.text
            return Page(said.text)
        sent = self.client.post("/study", data=self.filled(page))
        assert sent.status_code == 200, sent.text
        return Page(sent.text)

    def finish(self, page: Page) -> str:
        """Answer everything until the code is there."""
        for _ in range(500):
            if "the-code" in page.html:
                return page.html.split('the-code">')[1].split("<")[0]
            page = self.answer(page)
        raise AssertionError("the study does not end")
