"""An answer that comes in pieces: trimmed, held to a limit, and never empty."""

from collections.abc import Generator, Iterable

from dialens.agents._agent import AgentError, Reply
from dialens.corpus import split_reasoning

LONGEST = 20_000
"""Characters of the longest reply that is accepted, if nothing else is set."""


def whole(pieces: Generator[str, None, Reply]) -> Reply:
    """What a stream returns at its end, when nobody listens to the pieces.

    Examples:
        >>> def said():
        ...     yield "Hello"
        ...     return Reply("Hello")
        >>> whole(said()).text
        'Hello'
    """
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            reply: Reply = end.value
            return reply


def without_thought(pieces: Iterable[str], thought: list[str]) -> Generator[str, None, None]:
    r"""Pass on what is said, and keep what the model thought before it in `thought`.

    Reasoning models write it between `<think>` and `</think>` at the beginning.

    Examples:
        >>> thought = []
        >>> "".join(without_thought(["<thi", "nk>Sad.</th", "ink>\n", "I am sorry."], thought))
        'I am sorry.'
        >>> thought
        ['Sad.']
        >>> "".join(without_thought(["<thin", " ice>"], thought))
        '<thin ice>'
    """
    held = closing = ""
    begun = False
    for piece in pieces:
        if begun:
            yield piece
            continue
        held += piece
        # A thought may be very long: only what is new is searched for its end.
        if closing and closing not in held[-len(closing) - len(piece) :].lower():
            continue
        closing = ""
        seen = held.lstrip().lower()
        if _may_think(seen):
            closing = _end_of(seen)
            continue  # it may still be a thought, or its end has not come
        said, before = split_reasoning(held)
        thought += [before] if before else []
        begun, held = True, ""
        yield said
    if held:
        said, before = split_reasoning(held)
        thought += [before] if before else []
        yield said


_THOUGHTS = ("think", "thinking", "reasoning")


def _end_of(text: str) -> str:
    """What ends the thought that a text begins with, where that has not come; else nothing."""
    for name in _THOUGHTS:
        if text.startswith(f"<{name}>"):
            return "" if f"</{name}>" in text else f"</{name}>"
    return ""


def _may_think(text: str) -> bool:
    """Whether a beginning is, or could become, a thought that is not over."""
    for name in _THOUGHTS:
        opened, closed = f"<{name}>", f"</{name}>"
        if opened.startswith(text):
            return True
        if text.startswith(opened):
            rest = text.partition(closed)[2]
            return closed not in text or not rest.strip()
    return False


def tidy(
    pieces: Iterable[str], *, longest: int = LONGEST, who: str = "The agent"
) -> Generator[str, None, str]:
    r"""Pass pieces on without the white space around the whole; return the whole.

    Args:
        pieces: What comes in; NUL characters, which no database takes, are left out.
        longest: The most characters that are accepted.
        who: Named in errors.

    Raises:
        AgentError: `too_long` as soon as the limit is passed, `empty` if nothing was said.

    Examples:
        >>> list(tidy(["\n", " Hello", " ", "you ", "\n"]))
        ['Hello', ' you']
    """
    written: list[str] = []
    size = 0
    space = ""
    try:
        for piece in pieces:
            piece = space + piece.replace("\0", "")
            if not written:
                piece = piece.lstrip()
            kept = piece.rstrip()
            space = piece[len(kept) :]
            size += len(kept)
            if size > longest or len(space) > longest:
                raise AgentError(
                    f"{who} said more than {longest:,} characters, the most that is accepted "
                    "(`longest_reply`). Ask for shorter answers, or raise the limit.",
                    "too_long",
                )
            if kept:
                written.append(kept)
                yield kept
    finally:
        # Where the limit cuts an answer off, its source holds a connection, a lock or a process,
        # and would hold it as long as somebody looks at the error.
        close = getattr(pieces, "close", None)
        if callable(close):
            close()
    if not written:
        raise AgentError(f"{who} said nothing: the answer was empty.", "empty")
    return "".join(written)
