"""Agents that say what a file tells them to: for tests, demonstrations and fixed partners."""

import hashlib
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dialens.agents._agent import ENDED, KINDS, AgentError, AgentSpec, Message, Parameters, Reply
from dialens.agents._settings import Named, read_settings, setting
from dialens.base import DialensError

_FAIL = "!fail "


@dataclass(frozen=True)
class ScriptSettings:
    """How a script is spoken."""

    repeat: bool = setting(True, "Begin the script again at its end, instead of ending there.")
    delay: float = setting(0.0, "Seconds before each word.", low=0.0, high=60.0, connection=True)


@dataclass(frozen=True)
class ScriptAgent:
    """Says the lines of a script, one a turn, whatever its partner says.

    Of several scripts the seed chooses one, so that it is the same in all turns of a conversation;
    in a collection they are taken in order, the same ones with everybody.
    A line `!fail timeout: why` fails in that way instead of saying something.

    Examples:
        >>> agent = ScriptAgent("demo", "a", {}, (("Hello.", "Is that so?"),))
        >>> agent.reply([Message("agent", "Hello."), Message("partner", "I like rain.")]).text
        'Is that so?'
    """

    system: str
    name: str
    parameters: Parameters
    scripts: tuple[tuple[str, ...], ...]
    settings: ScriptSettings = ScriptSettings()
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    number: int | None = None

    @property
    def identity(self) -> str:
        """The hash of what it says."""
        content = "\n\n".join("\n".join(script) for script in self.scripts)
        return hashlib.sha256(content.encode()).hexdigest()

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Say the next line."""
        began = time.monotonic()
        text = "".join(self.stream(history, seed=seed))
        return Reply(text, seconds=time.monotonic() - began)

    def stream(
        self, history: Sequence[Message], *, seed: int = 0
    ) -> Generator[str, None, Reply | None]:
        """Say the next line word by word."""
        line = self._line(history, seed)
        if line.startswith(_FAIL):
            kind, _, why = line.removeprefix(_FAIL).partition(":")
            raise AgentError(why.strip() or f"The script {self.system} fails here.", kind.strip())
        words = line.split(" ")
        for place, word in enumerate(words):
            if self.settings.delay:
                self.sleep(self.settings.delay)
            yield word if place == 0 else f" {word}"
        return None

    def numbered(self, number: int) -> "ScriptAgent":
        """Itself in the n-th conversation of a collection."""
        return replace(self, number=number)

    def _line(self, history: Sequence[Message], seed: int) -> str:
        script = self.scripts[(seed if self.number is None else self.number) % len(self.scripts)]
        turn = sum(message.role == "agent" for message in history)
        if turn >= len(script) and not self.settings.repeat:
            raise AgentError(f"The script {self.system} is at its end.", ENDED)
        return script[turn % len(script)]


def read_script(text: str, place: str = "the script") -> tuple[tuple[str, ...], ...]:
    r"""Scripts from text: a line a turn, a blank line between scripts, `#` before remarks.

    Examples:
        >>> read_script("# two scripts\nHello.\nBye.\n\nGood day.\n")
        (('Hello.', 'Bye.'), ('Good day.',))
    """
    scripts: list[list[str]] = [[]]
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("#"):
            continue
        if not line:
            scripts.append([])
            continue
        if line.startswith(_FAIL):
            kind = line.removeprefix(_FAIL).partition(":")[0].strip()
            if kind not in KINDS:
                raise DialensError(
                    f"{place}:{number}: there is no failure {kind!r}. Failures: {', '.join(KINDS)}."
                )
        scripts[-1].append(line)
    written = tuple(tuple(script) for script in scripts if script)
    if not written:
        raise DialensError(f"{place} holds no line to say. Write one line a turn.")
    return written


def open_agent(spec: AgentSpec) -> ScriptAgent:
    """A script agent from a file."""
    settings = read_settings(ScriptSettings, spec)
    if not spec.target:
        raise DialensError("A script agent needs a file: script:FILE, one line a turn.")
    path = Path(spec.target)
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise DialensError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DialensError(f"{path} is not UTF-8. Save it as UTF-8.") from error
    named = Named.of(spec, ScriptSettings)
    return ScriptAgent(
        named.system, named.name, named.parameters, read_script(text, str(path)), settings
    )
