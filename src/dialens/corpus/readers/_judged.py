"""What the judgement sets share: contexts in one string, and lists of scores by quality."""

import re
from collections.abc import Iterator, Mapping, Sequence

from dialens.corpus._dialogue import Rating, Turn
from dialens.corpus._intake import RecordError

Scores = float | str | None | list[float | str | None]
_NOT_GIVEN = re.compile(r"\s*(n/?a\b.*)?\s*$", re.IGNORECASE | re.DOTALL)
_NAMED = re.compile(r"(?P<name>user|system|human|model|bot)\s*:\s?(?P<text>.*)$", re.IGNORECASE)
SIDES = ("A", "B")


def context_turns(context: str) -> list[Turn]:
    r"""The turns of a context that holds one a line, `Speaker: ` before each or nowhere.

    Without names two speakers are taken to alternate. All of them are the partner's: they were
    given to the agent, and stand in as many units as there are responses.

    Examples:
        >>> [(turn.speaker, turn.text) for turn in context_turns("hi\nhello\n")]
        [('A', 'hi'), ('B', 'hello')]
        >>> [(turn.speaker, turn.text) for turn in context_turns("User: hi\nthere\nSystem: yes")]
        [('User', 'hi\nthere'), ('System', 'yes')]
    """
    lines = [line.removesuffix("\r") for line in context.split("\n")]
    lines = [line for line in lines if line.strip()]
    if not lines or not _NAMED.match(lines[0]):
        return [
            Turn(SIDES[number % 2], "partner", line.strip()) for number, line in enumerate(lines)
        ]
    turns: list[Turn] = []
    for line in lines:
        named = _NAMED.match(line)
        if named:
            turns.append(Turn(named["name"], "partner", named["text"].strip()))
        else:
            turns[-1].text += "\n" + line.strip()
    return turns


def without_name(text: str) -> tuple[str | None, str]:
    """A response and the `Speaker: ` before it, if there is one.

    Examples:
        >>> without_name("System: It depends: on what?"), without_name("Note: this stays")
        (('System', 'It depends: on what?'), (None, 'Note: this stays'))
    """
    named = _NAMED.match(text.strip())
    return (named["name"], named["text"].strip()) if named else (None, text.strip())


def ratings_of(
    annotations: Mapping[str, Scores],
    *,
    study: str,
    turn: int | None,
    raters: Sequence[str] | None = None,
    scales: Mapping[str, object] | None = None,
    field: str = "annotations",
) -> Iterator[Rating]:
    """One rating a score; what was answered with «N/A» or left empty is missing, not zero.

    Examples:
        >>> given = {"Overall": [3, "N/A (no errors)", 4]}
        >>> [rating.value for rating in ratings_of(given, study="s", turn=None)]
        [3.0, 4.0]
    """
    for quality, answer in annotations.items():
        scores = answer if isinstance(answer, list) else [answer]
        if raters is not None and len(raters) != len(scores):
            raise RecordError(
                f"holds {len(scores)} scores of {len(raters)} annotators",
                field=f"{field}.{quality}",
                seen=scores,
            )
        for place, score in enumerate(scores):
            value = _number(score, f"{field}.{quality}[{place}]")
            if value is None:
                continue
            yield Rating(
                quality=quality,
                value=value,
                turn=turn,
                level="dialog" if turn is None else "turn",
                rater=raters[place] if raters is not None else None,
                study=study,
                scale=(scales or {}).get(quality),
            )


def _number(score: float | str | None, field: str) -> float | None:
    if score is None or (isinstance(score, str) and _NOT_GIVEN.match(score)):
        return None
    try:
        return float(score)
    except ValueError:
        raise RecordError("is not a number", field=field, seen=score) from None
