"""What a model wrote as a person, read: the message, how it ends, and what is wrong with it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dialens.agents._agent import Message
from dialens.agents.users._endings import GOODBYE
from dialens.agents.users._prompt import MARKERS, OTHER, SHOWN_ANSWERS
from dialens.agents.users._scenarios import Scenario

SAYS_AGAIN = "repeats the user's own words"
ECHOES = "repeats the agent's words"
HELPS = "speaks as an assistant"
FROM_EXAMPLE = "repeats an example of the prompt"
EMPTY = "says nothing"
CUT = "went on for others and was cut"

_LONG_RUN = 8  # words in a row that nobody says twice by chance
_MARKER = re.compile(r"\[[A-Z][A-Z ]+\]")  # also one that the model made up, which means nothing
_NEARLY = re.compile("|".join(re.escape(marker) for marker in MARKERS), re.IGNORECASE)
_ASSISTANT = re.compile(
    r"\b(?:as an ai\b|(?:an|your) (?:ai|virtual) (?:language )?(?:assistant|model)"
    r"|how (?:can|may) i (?:help|assist)"
    r"|i(?:'m| am) (?:here to (?:help|assist)|(?:happy|glad) to (?:help|assist) you)"
    r"|i(?:'d| would) be (?:happy|glad) to (?:help|assist)"
    r"|(?:is there )?anything else (?:that )?i can (?:help|assist|do for you)"
    r"|feel free to (?:ask|reach|contact)|let me know if you (?:need|have)"
    r"|if you (?:need|have) (?:any )?(?:further|more|other) (?:help|assistance|support|questions)"
    r"|i(?:'m| am) (?:unable|not able) to (?:assist|help|provide)"
    r"|i (?:can't|cannot) (?:assist|help) (?:you )?with)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Written:
    """A message of a simulated user.

    Attributes:
        text: What the agent gets to read.
        ends: Why the conversation ends with it; empty if it goes on.
        faults: What makes it no message of that person.
        cut: Whether more was written, for other speakers.
    """

    text: str
    ends: str = ""
    faults: tuple[str, ...] = ()
    cut: bool = False


def read_written(raw: str, scenario: Scenario, history: Sequence[Message]) -> Written:
    r"""Read what a model wrote for a scenario's user.

    A marker counts where it is the last of the message, letter for letter, and once the agent has
    said something; wherever it stands and however it is written, nobody sees it.

    Args:
        raw: As it came.
        scenario: Whose message it is to be.
        history: What was said before; the user is the `agent` in it.

    Examples:
        >>> ann = Scenario("rain", "Ann", "Ann is a sailor.", "to know the weather")
        >>> said = [Message("agent", "Will it rain?"), Message("partner", "No.")]
        >>> read_written("Ann: Good, thanks. [GOT IT]", ann, said)
        Written(text='Good, thanks.', ends='goal reached', faults=(), cut=False)
        >>> read_written("Hm. [got it]\nAssistant: Yes?", ann, said)
        Written(text='Hm.', ends='', faults=(), cut=True)
        >>> read_written("How can I help you?", ann, said).faults
        ('speaks as an assistant',)
    """
    message, cut = _own_part(raw.strip(), scenario.user)
    found = _MARKER.findall(message)
    last = found[-1] if found and message.endswith(found[-1]) else ""
    text = " ".join(_NEARLY.sub(" ", _MARKER.sub(" ", message)).split())
    if len(text) > 1 and text[0] in '"“' and text[-1] in '"”':
        text = text[1:-1].strip()
    heard = [one.text for one in history if one.role == "partner"]
    ends = MARKERS.get(last, "") if heard else ""
    if not ends and heard and _says_any(text, scenario.leaves_on):
        ends = GOODBYE
    return Written(text, ends, tuple(_faults(text, history)), cut)


def _own_part(raw: str, user: str) -> tuple[str, bool]:
    """The first paragraph that the user says, and whether something followed it."""
    labels = "|".join(re.escape(name) for name in (user, OTHER, "User", "AI"))
    raw = re.sub(rf"^(?:{re.escape(user)}|User)\s*:\s*", "", raw)
    ends_at = re.search(rf"\n\s*\n|\n\s*(?:{labels})\b\s*(?::|$)|\s(?:{OTHER}|{re.escape(user)}):|"
                        r"\n\s*What does ", raw, re.MULTILINE)  # fmt: skip
    if ends_at is None:
        return raw.strip(), False
    return raw[: ends_at.start()].strip(), True


def _faults(text: str, history: Sequence[Message]) -> list[str]:
    words = _words(text)
    own = [_words(one.text) for one in history if one.role == "agent"]
    heard = [_words(one.text) for one in history if one.role == "partner"]
    faults = []
    if not words:
        faults.append(EMPTY)
    if words and any(words == before or _share_run(words, before) for before in own):
        faults.append(SAYS_AGAIN)
    if words and any(words == before or _share_run(words, before) for before in heard[-1:]):
        faults.append(ECHOES)
    if words and any(_share_run(words, _words(shown)) for shown in SHOWN_ANSWERS):
        faults.append(FROM_EXAMPLE)
    if _ASSISTANT.search(text):
        faults.append(HELPS)
    return faults


def _share_run(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two texts have a long run of words in common."""
    runs = {tuple(words[at : at + _LONG_RUN]) for at in range(len(words) - _LONG_RUN + 1)}
    theirs = range(len(others) - _LONG_RUN + 1)
    return any(tuple(others[at : at + _LONG_RUN]) in runs for at in theirs)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+(?:['’]\w+)?", text.lower())


def _says_any(text: str, phrases: Sequence[str]) -> bool:
    said = f" {' '.join(_words(text))} "
    return any(f" {' '.join(_words(phrase))} " in said for phrase in phrases)


def satisfied(scenario: Scenario, history: Sequence[Message]) -> bool:
    """Whether the agent's last words are those that the user waited for."""
    if not history or history[-1].role != "partner":
        return False
    return _says_any(history[-1].text, scenario.satisfied_by)
