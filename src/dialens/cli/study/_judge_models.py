"""Agents as models that judge: what `judges.yaml` names, opened, and held to allowed hosts."""

import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialens.agents import (
    Agent,
    AgentError,
    AgentSpec,
    Message,
    Reply,
    Wish,
    clean_reply,
    kind_named,
    make_agent,
    prices_of,
    seen_from,
    tokens_of,
)
from dialens.agents.kinds import from_first_token
from dialens.base import DialensError
from dialens.studies import JSON
from dialens.studies.judges import Judge, Judges, ModelError, ModelReply, Said, Weighed

_MOST_LIKELIEST = 20  # what OpenAI gives
_TOKENS_WEIGHED = 4  # white space may come first
_TELL_TOKENS = ("openai",)


@dataclass(frozen=True)
class AgentModel:
    """An agent that judges.

    Attributes:
        judge: As it stands in the file.
        agents: One for all temperatures (`None`), or one for each.
        sent_to: Where what is said to it goes; empty for this machine.
    """

    judge: Judge
    agents: Mapping[float | None, Agent] = field(repr=False)
    sent_to: str = ""

    @property
    def _any(self) -> Agent:
        return next(iter(self.agents.values()))

    @property
    def identity(self) -> str:
        """Kind, model and weights, and what was set of how it writes."""
        hidden = {one.name for one in kind_named(self.judge.kind).declared if one.connection}
        own = {name: value for name, value in self.judge.set.items() if name not in hidden}
        known = getattr(self._any, "identity", "") or self.judge.target
        return json.dumps([self.judge.kind, known, own], ensure_ascii=False, sort_keys=True)

    @property
    def weighs(self) -> bool:
        """Whether it says how likely answers are."""
        return hasattr(self._any, "likelihoods") or self.judge.kind in _TELL_TOKENS

    @property
    def prices(self) -> tuple[float, float] | None:
        """Of a million tokens, where they are known."""
        return prices_of(self._any, self.judge.kind)

    def tokens(self, text: str) -> int:
        """Tokens of a text, counted or about."""
        return tokens_of(self._any, text)

    def ask(
        self,
        said: Sequence[Said],
        *,
        seed: int,
        temperature: float | None,
        schema: Mapping[str, JSON] | None,
    ) -> ModelReply:
        """Go on with a conversation."""
        wish = Wish(temperature=temperature, schema=schema)
        try:
            return _reply(self._asked(said, wish, seed))
        except AgentError as error:
            if error.kind == "empty":  # an answer, if a poor one: it can be mended
                return ModelReply("", requests=error.attempts)
            raise _model_error(error) from error

    def weigh(
        self, said: Sequence[Said], answers: Sequence[str], *, seed: int, temperature: float | None
    ) -> Weighed:
        """Say how likely each answer would come next."""
        likelihoods = getattr(self._any, "likelihoods", None)
        try:
            if callable(likelihoods):
                chances = likelihoods(_history(said), answers)
                read = sum(self.tokens(one.text) for one in said)
                reply = ModelReply("", tokens_in=read, tokens_out=0, cost=0.0)
                return Weighed(dict(zip(answers, chances, strict=True)), "continuation", reply)
            wish = Wish(temperature, likeliest=_MOST_LIKELIEST, max_tokens=_TOKENS_WEIGHED)
            answer = self._asked(said, wish, seed)
        except AgentError as error:
            raise _model_error(error) from error
        if not answer.likeliest:
            raise ModelError(
                f"{self.judge.name} gave no log-probabilities, without which answers cannot be "
                "weighed. Use answer: json or text.",
                requests=answer.attempts,
                lasting=True,
            )
        found = from_first_token(answer.likeliest, answers)
        if found is None:
            raise ModelError(
                f"{self.judge.name} gives the first word of an answer alone, and it does not tell "
                f"these apart: {', '.join(answers)}. Use answer: json, or a model that runs here.",
                requests=answer.attempts,
            )
        return Weighed(found, "first_token", _reply(answer))

    def close(self) -> None:
        """Close connections and processes."""
        for agent in self.agents.values():
            close = getattr(agent, "close", None)
            if callable(close):
                close()

    def _asked(self, said: Sequence[Said], wish: Wish, seed: int) -> Reply:
        agent = self.agents.get(wish.temperature, self.agents.get(None)) or self._any
        answer: Any = getattr(agent, "answer", None)
        try:
            if callable(answer):
                reply: Reply = answer(_history(said), wish, seed=seed)
                return clean_reply(reply)
            return clean_reply(agent.reply(_history(said), seed=seed))
        except AgentError:
            raise
        except Exception as error:  # one judge's mistake must not end everybody's work
            why = str(error) if isinstance(error, DialensError) else repr(error)
            raise AgentError(f"{self.judge.name} failed: {why}", "failed") from error


def open_models(judges: Judges, folder: Path) -> dict[str, AgentModel]:
    """Every judge's model; nothing is said to any of them (see `forbidden`).

    Args:
        judges: The file.
        folder: Where it lies; paths of agents start there.

    Raises:
        DialensError: If one cannot be opened.
    """
    opened: dict[str, AgentModel] = {}
    try:
        for judge in judges.judges:
            opened[judge.name] = _opened(judges, judge, folder)
    except BaseException:
        for model in opened.values():
            model.close()
        raise
    return opened


def _opened(judges: Judges, judge: Judge, folder: Path) -> AgentModel:
    try:
        if kind_named(judge.kind).name == "human":
            raise DialensError("A human at the terminal is no judge: people take the study itself.")
        agents: dict[float | None, Agent] = {None: _agent(judge, folder, {})}
        temperatures = {rater.temperature for rater in judges.raters(judge)} - {None}
        if temperatures and not hasattr(agents[None], "answer"):
            agents = {
                one: _agent(judge, folder, {"temperature": one})
                for one in temperatures
                if one is not None
            }
    except DialensError as error:
        raise DialensError(f"judges: {judge.name} ({judge.agent}): {error}") from error
    return AgentModel(judge, agents, _place_of(judge, next(iter(agents.values()))))


def _agent(judge: Judge, folder: Path, more: Mapping[str, float]) -> Agent:
    parameters = {**judge.set, **more}
    return make_agent(
        seen_from(
            AgentSpec(judge.kind, judge.target, name=judge.name, parameters=parameters), folder
        )
    )


def _place_of(judge: Judge, agent: Agent) -> str:
    """Where texts go: a host, the kind where nobody knows, or nothing for this machine."""
    host = getattr(agent, "host", None)
    if host is None:
        return judge.kind if kind_named(judge.kind).entry is not None else ""
    return "" if is_loopback(str(host)) else str(host)


def forbidden(judges: Judges, models: Mapping[str, AgentModel]) -> str:
    """Where texts would be sent without leave, in words; empty if nowhere."""
    allowed = {name.strip().lower() for name in judges.send_to}
    for name, model in models.items():
        place = model.sent_to
        if place and place.lower() not in allowed:
            return (
                f"The texts of this study would be sent to {place} ({name}), and judges.yaml does "
                f"not allow that. If they may be: send_to: [{place}] there, or --send-to {place} "
                "with --agent."
            )
    return ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine.

    Examples:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("api.openai.com")
        (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _history(said: Sequence[Said]) -> list[Message]:
    return [Message("partner" if one.who == "study" else "agent", one.text or "…") for one in said]


def _reply(reply: Reply) -> ModelReply:
    return ModelReply(
        reply.text,
        reply.declined,
        reply.attempts,
        reply.tokens_in,
        reply.tokens_out,
        reply.tokens_cached,
        reply.cost,
        reply.seconds,
        reply.fingerprint,
        reply.note,
    )


def _model_error(error: AgentError) -> ModelError:
    return ModelError(str(error), requests=error.attempts, lasting=error.lasting)
