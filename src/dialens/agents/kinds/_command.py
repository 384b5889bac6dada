"""Agents that are programs: the conversation goes in as JSON, the answer comes out.

One line goes in: `{"id": 1, "history": [{"role": "partner", "text": "Hi"}], "seed": 0,
"parameters": {}}`. Out comes a line `{"text": "Hello."}`, or lines `{"piece": "Hel"}` one by one
and then `{"done": true}`, or `{"error": "why"}`. Tokens may be told beside the text or the end:
`tokens_in`, `tokens_out`, `cost`.
"""

import shlex
import shutil
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from dialens.agents._agent import ENDED, AgentError, AgentSpec, Message, Parameters, Reply
from dialens.agents._pieces import LONGEST, tidy, whole
from dialens.agents._settings import Named, read_open_settings, setting
from dialens.agents.kinds._command_process import CommandProcess
from dialens.base import DialensError

_BYTES_A_CHARACTER = 12  # of JSON, which may write a character as two escapes


@dataclass(frozen=True)
class CommandSettings:
    """How a program is run; whatever else is set is given to it among the parameters."""

    keep: bool = setting(
        False, "Keep one process for all replies, instead of one for each.", connection=True
    )
    speaks: str = setting(
        "json",
        "json, or text: the last message goes in, all that comes out is the answer.",
        choices=("json", "text"),
        connection=True,
    )
    timeout: float = setting(60.0, "Seconds for an answer.", low=0.01, connection=True)
    longest_reply: int = setting(
        LONGEST, "Characters of the longest answer accepted.", low=1, connection=True
    )


class _Line(msgspec.Struct):
    piece: str | None = None
    text: str | None = None
    done: bool = False
    error: str | None = None
    id: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


_DECODER = msgspec.json.Decoder(_Line)


@dataclass
class _Kept:
    """The one process of an agent that keeps it, and whose turn it is."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    process: CommandProcess | None = None
    asked: int = 0


@dataclass(frozen=True)
class CommandAgent:
    """A program that answers.

    Examples:
        >>> settings = CommandSettings(speaks="text")
        >>> agent = CommandAgent("cat", "cat", {}, ("cat",), settings)
        >>> agent.reply([Message("partner", "Is anybody there?")]).text
        'Is anybody there?'
    """

    system: str
    name: str
    parameters: Parameters
    words: tuple[str, ...]
    settings: CommandSettings = CommandSettings()
    _kept: _Kept = field(default_factory=_Kept, repr=False, compare=False)

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Ask the program and wait for the whole answer."""
        return whole(self.stream(history, seed=seed))

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, Reply]:
        """Ask the program and pass on what it writes."""
        began = time.monotonic()
        usage: dict[str, float | int | None] = {}
        answer = (
            self._kept_answer(history, seed, usage)
            if self.settings.keep
            else self._fresh_answer(history, seed, usage)
        )
        pieces = tidy(answer, longest=self.settings.longest_reply, who=self.words[0])
        written: list[str] = []
        for piece in pieces:
            written.append(piece)
            yield piece
        return Reply("".join(written), seconds=time.monotonic() - began, **usage)  # type: ignore[arg-type]

    def close(self) -> None:
        """End the process that is kept."""
        with self._kept.lock:
            if self._kept.process is not None:
                self._kept.process.stop()
                self._kept.process = None

    def _started(self) -> CommandProcess:
        longest = _BYTES_A_CHARACTER * self.settings.longest_reply + 4096
        return CommandProcess(self.words, longest_line=longest)

    def _question(self, history: Sequence[Message], seed: int, number: int) -> bytes:
        return msgspec.json.encode(
            {
                "id": number,
                "history": [{"role": said.role, "text": said.text} for said in history],
                "seed": seed,
                "parameters": dict(self.parameters),
            }
        )

    def _fresh_answer(
        self, history: Sequence[Message], seed: int, told: dict[str, float | int | None]
    ) -> Iterator[str]:
        process = self._started()
        try:
            if self.settings.speaks == "text":
                last = history[-1].text if history else ""
                process.write(" ".join(last.split()).encode(), last=True)
                for line in process.lines(seconds=self.settings.timeout):
                    yield _utf8(line, self.words[0]) + "\n"
            else:
                process.write(self._question(history, seed, 1), last=True)
                yield from self._read(process, None, told)
            if process.ended() != 0:
                raise self._broke(process)
        finally:
            process.stop()

    def _kept_answer(
        self, history: Sequence[Message], seed: int, told: dict[str, float | int | None]
    ) -> Iterator[str]:
        with self._kept.lock:
            process = self._kept.process
            if process is None or not process.alive:
                process = self._kept.process = self._started()
            self._kept.asked += 1
            whole = False
            try:
                process.write(self._question(history, seed, self._kept.asked))
                yield from self._read(process, self._kept.asked, told)
                whole = True
            finally:
                if not whole:  # what is left of this answer must not be taken for the next one
                    process.stop()

    def _read(
        self, process: CommandProcess, number: int | None, told: dict[str, float | int | None]
    ) -> Iterator[str]:
        """The pieces of one answer; `number` is its id where one process gives many."""
        for raw in process.lines(seconds=self.settings.timeout):
            if not raw.strip():
                continue
            try:
                line = _DECODER.decode(raw)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                shown = raw[:80].decode(errors="replace")
                raise AgentError(
                    f"{self.words[0]} wrote a line that is not what is expected ({error}); seen: "
                    f'{shown!r}. It must write {{"text": "…"}}, or set speaks=text'
                    f"{process.complaint()}.",
                    "malformed",
                ) from error
            if line.id is not None and number is not None and line.id != number:
                raise AgentError(
                    f"{self.words[0]} answered question {line.id}, and {number} was asked.",
                    "malformed",
                )
            if line.error is not None:
                kind = ENDED if line.error == ENDED else "failed"
                raise AgentError(f"{self.words[0]} says: {line.error}.", kind)
            told |= {
                key: value
                for key in ("tokens_in", "tokens_out", "cost")
                if (value := getattr(line, key)) is not None
            }
            yield line.piece or line.text or ""
            if line.done or line.text is not None:
                return
        raise self._broke(process)

    def _broke(self, process: CommandProcess) -> AgentError:
        status = process.ended()
        return AgentError(
            f"{self.words[0]} ended with status {status} before its answer was whole"
            f"{process.complaint()}.",
            "failed",
        )


def _utf8(line: bytes, who: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise AgentError(f"{who} wrote bytes that are not UTF-8.", "malformed") from error


def open_agent(spec: AgentSpec) -> CommandAgent:
    """An agent that is a program; one that is not there is said here."""
    settings, parameters = read_open_settings(CommandSettings, spec)
    try:
        words = shlex.split(spec.target)
    except ValueError as error:
        raise DialensError(f"{spec}: this command cannot be read: {error}.") from error
    if not words:
        raise DialensError("A command agent needs a program: command:'./bot.sh ARGUMENTS'.")
    if shutil.which(words[0]) is None:
        raise DialensError(
            f"{spec}: there is no program {words[0]!r} that can be run. Write ./ before one in "
            "this folder, and make it executable (chmod +x)."
        )
    if settings.keep and settings.speaks == "text":
        raise DialensError(f"{spec}: keep=yes needs speaks=json, to know where an answer ends.")
    named = Named.of(spec, CommandSettings, system=words[0].rpartition("/")[2].partition(".")[0])
    return CommandAgent(named.system, named.name, parameters, tuple(words), settings)
