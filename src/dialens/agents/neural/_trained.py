"""A trained agent that talks: reads a folder, needs no PyTorch."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

import polars as pl

from dialens.agents._agent import AgentError, AgentSpec, Message, Parameters, Reply
from dialens.agents._settings import Named, read_settings, setting
from dialens.agents.neural._conversations import clean
from dialens.agents.neural._decoding import Decoding, Taboo, decode
from dialens.agents.neural._folder import CARD, SHIPPED, AgentFolder, read_agent
from dialens.agents.neural._guard import blocked_spellings, says_blocked, toxicity
from dialens.agents.neural._prepare import strongest_topics
from dialens.agents.neural._subwords import recase
from dialens.base import DialensError, one_thread
from dialens.models.topics import TopicTable

_TRIES: Final = 4
_EARLIER: Final = 12


@dataclass(frozen=True)
class TalkingSettings:
    """How a trained agent chooses its words."""

    method: str = setting(
        "nucleus", "Draw replies (nucleus) or search for one (beam).", choices=("nucleus", "beam")
    )
    temperature: float = setting(0.7, "Of the draw; 0 takes the likeliest.", low=0.0, high=5.0)
    top_p: float = setting(0.9, "Nucleus of the draw.", low=0.0, high=1.0)
    candidates: int = setting(6, "Replies drawn, of which the best is said.", low=1, high=64)
    beam: int = setting(6, "Replies that beam search keeps.", low=1, high=64)
    max_tokens: int = setting(40, "The most subwords of a reply.", low=1, high=400)
    min_tokens: int = setting(4, "The fewest subwords of a reply.", low=0, high=400)
    length_power: float = setting(0.8, "How much length is made up for.", low=0.0, high=3.0)
    no_repeat: int = setting(3, "N-grams never said twice in a reply; 0: allowed.", low=0)
    no_echo: int = setting(4, "N-grams never taken from earlier turns; 0: allowed.", low=0)
    contrast: float = setting(
        0.3, "How much a reply must differ from one to nobody (MMI).", low=0.0, high=1.0
    )
    guard: str = setting(
        "words",
        "Against offence: words (blocked words), toxicity (the toxicity model reads replies as "
        "well), or none.",
        choices=("words", "toxicity", "none"),
    )
    toxicity_threshold: float = setting(0.5, "From which a reply is held back.", low=0.0, high=1.0)


@dataclass(frozen=True)
class TrainedAgent:
    """A Seq2Seq, HRED or THRED that was trained by `dialens agents train`.

    The same history and seed give the same answer. Safe to ask from several threads.
    """

    system: str
    name: str
    parameters: Parameters
    settings: TalkingSettings
    folder: AgentFolder = field(repr=False)

    @property
    def identity(self) -> str:
        """Hash of the weights."""
        return self.folder.identity

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Write an answer.

        Raises:
            AgentError: `refused` where nothing but what the guard holds back was found.
        """
        began = time.monotonic()
        turns = [
            text
            for text in clean(pl.Series([said.text for said in history], dtype=pl.String))
            if text
        ]
        context = self.folder.subwords.ids(turns)
        text, written = self._answer(context, turns, (seed % 2**63, len(history)))
        read = sum(len(turn) + 1 for turn in context[-self.folder.shape.context_turns :])
        return Reply(text, time.monotonic() - began, tokens_in=read, tokens_out=written)

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, Reply]:
        """Write an answer and pass it on word by word; the best of several is known only whole."""
        reply = self.reply(history, seed=seed)
        for place, word in enumerate(reply.text.split(" ")):
            yield word if place == 0 else f" {word}"
        return reply

    def _answer(
        self, context: list[list[int]], turns: list[str], seed: tuple[int, int]
    ) -> tuple[str, int]:
        earlier = tuple(tuple(turn) for turn in context[-_EARLIER:])
        taboo = Taboo(earlier, self._spellings if self.settings.guard != "none" else ())
        topics = self._topic_words(turns)
        for attempt in range(_TRIES):
            # Searching gives the same each time: after it, and after some draws, draw more freely.
            decoding = self._decoding(sample=attempt > 0 or self.settings.method == "nucleus")
            with one_thread():
                candidates = decode(
                    self.folder.writer,
                    context,
                    topics,
                    decoding,
                    taboo=taboo,
                    seed=(*seed, attempt),
                )
            for one in candidates:
                text = recase(self.folder.subwords.text(one.ids))
                if text and self._passes(text):
                    return text, len(one.ids)
        raise AgentError(
            f"{self.system} found nothing to say that its guard lets pass. Ask again with another "
            "seed, or set guard=none.",
            "refused",
        )

    def _decoding(self, *, sample: bool) -> Decoding:
        own = self.settings
        return Decoding(
            beam=own.beam,
            sample=sample,
            candidates=own.candidates,
            top_p=own.top_p,
            temperature=own.temperature,
            longest=own.max_tokens,
            shortest=min(own.min_tokens, own.max_tokens),
            length_power=own.length_power,
            no_repeat=own.no_repeat,
            no_echo=own.no_echo,
            contrast=own.contrast,
        )

    def _passes(self, text: str) -> bool:
        if self.settings.guard == "none":
            return True
        if says_blocked(text, self._blocked):
            return False
        if self.settings.guard == "words":
            return True
        return bool(toxicity([text])[0] < self.settings.toxicity_threshold)

    def _topic_words(self, turns: list[str]) -> list[int]:
        shape = self.folder.shape
        if shape.kind != "thred" or not turns:
            return []
        text = " \n ".join(turns[-shape.context_turns :])
        rows = strongest_topics(self._topics.loadings([text]), shape.topics)[0]
        return [int(one) for row in rows for one in self.folder.topic_table[row]]

    @cached_property
    def _topics(self) -> TopicTable:
        return self.folder.topics()

    @cached_property
    def _blocked(self) -> frozenset[str]:
        return frozenset(self.folder.blocked)

    @cached_property
    def _spellings(self) -> tuple[tuple[int, ...], ...]:
        return blocked_spellings(self.folder.blocked, self.folder.subwords)


def open_agent(spec: AgentSpec) -> TrainedAgent:
    """A trained agent from its folder; without one, the agent of that kind that ships.

    Raises:
        DialensError: The folder is not an agent's, is damaged, or holds another kind.
    """
    settings = read_settings(TalkingSettings, spec)
    folder = Path(spec.target) if spec.target else SHIPPED / spec.kind
    if not spec.target and not folder.is_dir():
        raise DialensError(
            f"No {spec.kind} ships with this installation: name the folder of one, "
            f"{spec.kind}:FOLDER (`dialens agents train {spec.kind}` makes it)."
        )
    system = "" if spec.target else spec.kind
    named = Named.of(spec, TalkingSettings, system=system)
    card = folder / CARD
    read = _read(folder, spec.kind, card.stat().st_mtime_ns if card.exists() else 0)
    return TrainedAgent(named.system, named.name, named.parameters, settings, read)


@lru_cache(maxsize=8)
def _read(folder: Path, kind: str, changed: int) -> AgentFolder:
    """Several agents of one system share what was read, until the folder is changed."""
    return read_agent(folder, kind=kind)
