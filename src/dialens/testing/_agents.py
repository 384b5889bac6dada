"""What every agent promises."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from dialens.agents import KINDS, Agent, AgentError, Message, Reply, streamed
from dialens.testing._promise import promise

_QUESTION = (Message("partner", "Do you like rain?"),)
_TALK = (
    Message("partner", "Do you like rain?"),
    Message("agent", "I do."),
    Message("partner", "And snow?"),
)
_ODD = {
    "an empty message": "",
    "a blank message": " \n",
    "emoji and other scripts": "☂️ 雨が好き？ \N{FAMILY}",
    "a NUL byte": "a\0b",
    "a long message": "word " * 3000,
    "quotes and line ends": '"}]\n\ndata: [DONE]',
    "control characters": "\x1b[2J",
}


def check_agent(make: Callable[[], Agent]) -> None:
    """Check that an agent keeps its promises.

    It has a system and a name and answers with a `Reply`. Its pieces joined are its answer; the
    same history and seed give the same answer, also when several ask at once. Odd messages, and the
    request to begin, are answered or refused in words. A stream may be left. The history stays as
    it is.

    Args:
        make: Makes one; it is closed at the end, if it can be.

    Raises:
        AssertionError: Says which promise is broken.

    Examples:
        >>> from dialens.agents.kinds import ScriptAgent
        >>> check_agent(lambda: ScriptAgent("s", "a", {}, (("Hello there.",), ("Well.",))))
    """
    agent = make()
    try:
        _check_answers(agent)
        _check_odd_messages(agent)
        _check_streams(agent)
        _check_several_at_once(agent)
    finally:
        close = getattr(agent, "close", None)
        if callable(close):
            close()


def _check_answers(agent: Agent) -> None:
    promise(isinstance(agent, Agent), "The agent lacks a part of `dialens.agents.Agent`.")
    promise(agent.system and agent.name, "The agent has no system or no name.")
    reply = agent.reply(_QUESTION, seed=1)
    promise(isinstance(reply, Reply), "reply() gives no `Reply`.")
    promise(
        reply.text and reply.text == reply.text.strip(),
        f"reply() gives {reply.text!r}; an answer is not empty and has no blanks around it.",
    )
    promise(
        reply.seconds >= 0 and reply.attempts >= 1,
        "reply() took a negative time, or no attempt at all.",
    )
    for count in (reply.tokens_in, reply.tokens_out):
        promise(count is None or count > 0, "reply() counts no tokens; None says that it cannot.")
    history = list(_TALK)
    first = _outcome(agent, history, 5)
    promise(history == list(_TALK), "reply() changes the history that it was given.")
    promise(
        first == _outcome(agent, history, 5),
        "reply() gives another answer to the same history with the same seed.",
    )


def _check_odd_messages(agent: Agent) -> None:
    histories = {name: [Message("partner", text)] for name, text in _ODD.items()}
    for name, history in {"the request to begin": [], **histories}.items():
        said, kind = _outcome(agent, history, 1)
        promise(said.strip(), f"The agent neither answers {name} nor says why not.")
        promise(
            kind in (None, *KINDS),
            f"The agent refuses {name} with the kind {kind!r}, which is none of "
            f"{', '.join(KINDS)}.",
        )


def _check_streams(agent: Agent) -> None:
    for history in (_QUESTION, _TALK):
        text, kind = _outcome(agent, history, 1)
        if kind is not None:
            continue
        joined = "".join(agent.stream(history, seed=1))
        promise(joined == text, f"The pieces of stream() are {joined!r}; reply() gives {text!r}.")
        pieces = streamed(agent, history, seed=1)
        while True:
            try:
                next(pieces)
            except StopIteration as end:
                promise(
                    end.value.text == text, "The reply at the end of stream() has another text."
                )
                break
    text, _ = _outcome(agent, _QUESTION, 1)
    left = agent.stream(_QUESTION, seed=1)
    next(left)
    close = getattr(left, "close", None)
    if callable(close):
        close()
    promise(
        _outcome(agent, _QUESTION, 1)[0] == text,
        "After a stream was left, reply() gives another answer.",
    )


def _check_several_at_once(agent: Agent) -> None:
    histories = [[Message("partner", f"Question {number % 3}?")] for number in range(9)]
    alone = [_outcome(agent, history, 2) for history in histories]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda history: _outcome(agent, history, 2), histories))
    promise(together == alone, "The agent gives other answers when several ask at once.")


def _outcome(agent: Agent, history: Sequence[Message], seed: int) -> tuple[str, str | None]:
    """The answer, or the words and the kind of the refusal; nothing else may be raised."""
    try:
        return agent.reply(history, seed=seed).text, None
    except AgentError as error:
        return str(error), error.kind
    except Exception as error:
        raise AssertionError(
            f"reply() raises {type(error).__name__} ({error}); it must raise AgentError."
        ) from error
