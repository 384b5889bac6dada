"""What an agent is: something that answers a conversation so far."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from dialens.base import DialensError

Role = Literal["agent", "partner"]
Parameters = Mapping[str, str | float | int | bool]
"""What makes an agent of its system: persona, temperature …"""

ENDED = "ended"
"""Kind of the error by which an agent says that it has nothing more to say: no failure."""

KINDS = {
    "timeout": "took too long",
    "unreachable": "could not be reached, or the connection broke",
    "refused": "refused: key, model or request are not accepted",
    "busy": "had too much to do, even after waiting",
    "malformed": "answered in a form that cannot be read",
    "empty": "said nothing",
    "too_long": "said more than the limit allows",
    "tools": "called a tool that it does not have, or did not stop calling",
    "failed": "failed in another way",
    ENDED: "has nothing more to say",
}
"""Every kind of `AgentError`, in words for a table."""


@dataclass(frozen=True)
class Message:
    """A turn of a conversation, seen by the agent that is to go on with it.

    Attributes:
        role: Who said it: the `agent` itself, or its `partner`.
        text: What was said.
        before: Of a turn of the agent's own, its calls of tools and their results, as `Reply` has
            them.
    """

    role: Role
    text: str
    before: Sequence[Mapping[str, Any]] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Reply:
    """What an agent answered, and what that took.

    Attributes:
        text: The answer.
        seconds: From the question to the last piece.
        attempts: Requests that were made, failed ones included.
        tokens_in: Read by the model, where it says so.
        tokens_out: Written by the model, where it says so.
        cost: In the currency of the agent's prices, where they are known.
        tokens_cached: Of those read, known to the server from before, where it says so.
        fingerprint: Of what the server ran, where it says so.
        declined: Whether it is a refusal, by the model's own account.
        likeliest: For each token that was written, the likeliest ones with their log-probability,
            where that was wished for and the source gives it.
        note: What else has to be known of the answer.
        finish: Why it ended there: `stop`, `length` (cut off at the most tokens), `content_filter`
            …, where the source says so.
        model: What answered, by the server's own account.
        thought: What the model wrote before it spoke: nobody hears it, and it is not scored.
        before: Messages that led to it and that nobody hears: calls of tools and their results, in
            the form of chat completions, which is also how corpora keep those of other logs.
        ends: Why the conversation ends with it; empty if it goes on.
    """

    text: str
    seconds: float = 0.0
    attempts: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    tokens_cached: int | None = None
    fingerprint: str | None = None
    declined: bool = False
    likeliest: Sequence[Mapping[str, float]] = ()
    note: str = ""
    finish: str = ""
    model: str = ""
    thought: str = ""
    before: Sequence[Mapping[str, Any]] = ()
    ends: str = ""

    @property
    def called(self) -> list[str]:
        """The tools that were called for it, in order."""
        return calls_in(self.before)


def calls_in(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names of the tools that were called in some messages.

    Examples:
        >>> call = {"function": {"name": "weather", "arguments": "{}"}}
        >>> calls_in([{"role": "assistant", "tool_calls": [call]}, {"role": "tool"}])
        ['weather']
    """
    return [
        str(call["function"]["name"])
        for message in messages
        for call in message.get("tool_calls") or ()
    ]


@dataclass(frozen=True)
class Wish:
    """What is wished for one answer, beside what the agent is set to.

    Attributes:
        temperature: Of sampling; the agent's own if none.
        schema: JSON Schema that the answer is to keep to.
        likeliest: How many of the likeliest tokens are to be told for each that is written.
        max_tokens: The most tokens of the answer; 0 for the agent's own setting.
    """

    temperature: float | None = None
    schema: Mapping[str, Any] | None = None
    likeliest: int = 0
    max_tokens: int = 0


class AgentError(DialensError):
    """An agent did not answer; says what went wrong, and what to do.

    Attributes:
        kind: A word for tables, one of `KINDS`.
        attempts: Requests that were made in vain.
        lasting: Whether asking again is no use until something is mended (a wrong key).
        spent: What requests took that were answered before, or whose answer was of no use.

    Examples:
        >>> AgentError("No answer within 60 s.", "timeout").kind
        'timeout'
    """

    def __init__(
        self, message: str, kind: str = "failed", *, attempts: int = 1, lasting: bool = False
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.attempts = attempts
        self.lasting = lasting
        self.spent: Reply | None = None


@runtime_checkable
class Agent(Protocol):
    """Answers conversations. Safe to ask from several threads at once.

    An agent may also have `identity`, a string that changes when its answers may (the hash of its
    weights or of its script), `maker`, the same wherever the agent is reached, `address`, host and
    port of the service that it asks, `keys_sent`, pairs of an environment variable and the host
    that its value is sent to, `close()`, called when it is no longer needed, `ended(history)`,
    called when a conversation with it is over, `numbered(number)`, the agent as it talks in the
    n-th conversation of a collection (the same for everybody it talks with), as a partner in
    collections `opening` (its first words), `speaker` (what it is called in the corpus), `about`
    (what the corpus keeps of it) and `unsaid` (its parameters that change no words), and,
    as a judge of studies,

    - `host`, where what is said to it is sent,
    - `prices` of a million tokens read and written, or none, and `count(text)`, its tokens,
    - `answer(history, wish, *, seed)`, a reply that follows a `Wish`,
    - `likelihoods(history, answers)`, how likely each of some answers would come next.
    """

    @property
    def system(self) -> str:
        """What it is a setting of."""
        ...

    @property
    def name(self) -> str:
        """Which setting."""
        ...

    @property
    def parameters(self) -> Parameters:
        """Persona, temperature and whatever else makes this agent of the system."""
        ...

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Answer; the same history and seed give the same answer where the agent can promise it.

        Args:
            history: What was said; empty if the agent is to begin.
            seed: Of the conversation: the same in all its turns.

        Raises:
            AgentError: If there is no answer.
        """
        ...

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Iterator[str]:
        """Answer piece by piece; the pieces joined are the text of the reply.

        A generator may return a `Reply` at its end, so that cost and tokens are known; see
        `streamed`.
        """
        ...


@dataclass(frozen=True)
class AgentSpec:
    """An agent as it is written in a plan or on the command line.

    Attributes:
        kind: Of the registry: `seq2seq`, `hred`, `thred`, `openai`, `transformers`, `gguf`,
            `command`, `python`, `script`, `replay`, or one that another package brings.
        target: Folder, file, model or command; what it is depends on the kind. Empty for what
            ships with dialens.
        system: What it is a setting of; the target's name by default.
        name: Which setting; made of the parameters by default, or the system's name.
        parameters: Persona, temperature …
        function: What answers, where it was given in Python and not by its name (`agent_of`).
        typed: Whether the user wrote it here and now, on the command line, and no file did: it may
            then name a key for any host.
        common: Settings that it shares with all agents of its plan: they make no name.
    """

    kind: str
    target: str
    system: str | None = None
    name: str | None = None
    parameters: Parameters = field(default_factory=dict)
    function: Callable[..., Any] | None = field(default=None, repr=False)
    typed: bool = field(default=False, repr=False, compare=False)
    common: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def __str__(self) -> str:
        """As it is written on the command line, without parameters."""
        return f"{self.kind}:{self.target}" if self.target else self.kind
