"""An answer that comes in pieces: trimmed, held to a limit, and never empty."""

from collections.abc import Generator, Iterable

from dialens.agents._agent import AgentError, Reply

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
