"""What a model is asked when it is to speak as a person.

A chat model that is told "you are a customer" soon offers help: its own turns are the assistant's.
So it is given a task for each turn instead, the conversation as a transcript, and is shown a few
such tasks with their answers first. With that form models of 1.5 billion weights stay in the part.
"""

from collections.abc import Sequence

from dialens.agents._agent import Message
from dialens.agents.users._endings import GAVE_UP, GOAL_REACHED
from dialens.agents.users._scenarios import Scenario

GOES_ON = "[GOES ON]"
MARKERS = {"[GOT IT]": GOAL_REACHED, "[GIVES UP]": GAVE_UP, GOES_ON: ""}
"""How a model ends a message; nobody sees it."""

OTHER = "Assistant"
"""What the agent is called in the transcript."""

RULES = (
    "You write what a person says in a chat with an assistant. You are told who the person is and "
    "what was said so far. Answer with the person's next message only: one or two short sentences "
    "in the first person, nothing that was said before. The person asks, tells and reacts; only "
    "the assistant helps. End with [GOES ON], or with [GOT IT] if the person now has what they "
    "want, or with [GIVES UP] if they have had enough and leave."
)
_LEAVING = "{user} has lost all patience, says so in this message, and leaves."
_BEGINNING = "Nothing was said yet."

_Said = Sequence[tuple[str, str]]

_SHOWN: tuple[tuple[Scenario, _Said, str], ...] = (
    (
        Scenario(
            "present",
            "Lena",
            "Lena is a baker of 50 who gets up at three.",
            "an idea for her sister's birthday",
            "friendly",
            ("Her sister likes birds.",),
        ),
        (
            ("Lena", "What could I give my sister? She likes birds."),
            (OTHER, "How about a feeder for her window?"),
        ),
        "Oh, a feeder! She would watch it all day. Thanks, that is it. [GOT IT]",
    ),
    (
        Scenario(
            "heating",
            "Ravi",
            "Ravi is a student of 22 who rents a small flat.",
            "the heating repaired this week",
            "annoyed",
            ("It has been cold since Friday.",),
        ),
        (
            ("Ravi", "The heating in my flat is still off."),
            (OTHER, "I am sorry to hear that. Have you tried to switch it on?"),
        ),
        "Of course I have. It has been cold since Friday, and nobody came. [GOES ON]",
    ),
    (
        Scenario(
            "table",
            "Mei",
            "Mei is a translator of 29.",
            "a table for four tonight",
            "impatient",
            ("Her guests come at eight.",),
        ),
        (
            ("Mei", "A table for four, please."),
            (OTHER, "Our chef recommends the fish."),
            ("Mei", "I asked for a table, for tonight at eight."),
            (OTHER, "The fish is fresh."),
        ),
        "You are not listening. I will call somebody else. [GIVES UP]",
    ),
    (
        Scenario(
            "town",
            "Kofi",
            "Kofi is a cook of 35 who has just moved to a new town.",
            "to be listened to",
            "lonely, a bit proud",
            ("He eats alone most evenings.",),
        ),
        (
            ("Kofi", "Moving here was a mistake."),
            (OTHER, "You should join a club!"),
        ),
        "Everybody says that. I stand in a kitchen for ten hours, I have no strength for clubs. "
        "[GOES ON]",
    ),
)

SHOWN_ANSWERS = tuple(answer.rpartition(" [")[0] for _, _, answer in _SHOWN)
"""What the examples say; a weak model says it again."""


def as_tasks(
    scenario: Scenario, history: Sequence[Message], *, leaving: bool = False
) -> list[Message]:
    """The next message of a scenario's user as a task, after some that are solved.

    Args:
        scenario: Who speaks.
        history: What was said; the user is the `agent` in it.
        leaving: Whether it is to be their last message.

    Examples:
        >>> scenario = Scenario("rain", "Ann", "Ann is a sailor.", "to know the weather")
        >>> tasks = as_tasks(scenario, [Message("agent", "Hi"), Message("partner", "Ahoy!")])
        >>> print(tasks[-1].text)
        Ann is a sailor. Wants: to know the weather.
        <BLANKLINE>
        Ann: Hi
        Assistant: Ahoy!
        <BLANKLINE>
        What does Ann say next?
    """
    names = {"agent": scenario.user, "partner": OTHER}
    said = [(names[message.role], message.text) for message in history]
    tasks = []
    for one, before, answer in _SHOWN:
        tasks += [Message("partner", _task(one, before)), Message("agent", answer)]
    tasks[0] = Message("partner", f"{RULES}\n\n{tasks[0].text}")
    return [*tasks, Message("partner", _task(scenario, said, leaving=leaving))]


def as_turns(
    scenario: Scenario, history: Sequence[Message], *, leaving: bool = False
) -> list[Message]:
    """The conversation with the roles exchanged, the part before its first turn.

    For what reads turns and no task: scripts, and programs that keep count of them.

    Examples:
        >>> scenario = Scenario("rain", "Ann", "Ann is a sailor.", "to know the weather")
        >>> [one.role for one in as_turns(scenario, [Message("agent", "Hi")])]
        ['partner', 'agent']
    """
    part = f"{RULES}\n\n{_about(scenario)}"
    if leaving:
        part += f" {_LEAVING.format(user=scenario.user)}"
    return [Message("partner", part), *history]


def _task(scenario: Scenario, said: _Said, *, leaving: bool = False) -> str:
    lines = "\n".join(f"{who}: {_shown(who, text)}" for who, text in said) or _BEGINNING
    last = f"{_LEAVING.format(user=scenario.user)} " if leaving else ""
    return f"{_about(scenario)}\n\n{lines}\n\n{last}What does {scenario.user} say next?"


def _shown(who: str, text: str) -> str:
    """A turn in one line; what the agent left open is marked, or the model would go on with it."""
    line = " ".join(text.split())
    left_open = line[-1:].isalnum() or line[-1:] in ",;:-("
    return f"{line} …" if who == OTHER and left_open else line


def _about(scenario: Scenario) -> str:
    parts = {
        "": scenario.persona,
        "Mood": scenario.mood,
        "Wants": scenario.goal,
        "Knows": " ".join(scenario.knowledge),
        "Writes": scenario.style,
    }
    told = [(name, text.strip().rstrip(".")) for name, text in parts.items() if text.strip()]
    return " ".join(f"{name}: {text}." if name else f"{text}." for name, text in told)
