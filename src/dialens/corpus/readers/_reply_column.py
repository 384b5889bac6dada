"""A reply in a column of its own, beside the list of messages that it answers.

Logs keep the request's `messages` and what the model said in `output`, `response`, `completion` …
Where the list ends with the user's turn, the column is the agent's next one. Where the list ends
with that very reply, it is not said twice. Where the agent's last turn is another one, the column
may be anything, such as a reference: it stays in `meta`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialens.corpus._dialogue import Turn
from dialens.corpus._intake import RecordError
from dialens.corpus.readers._conversation import RESPONSES, turns_in, unwrapped
from dialens.corpus.readers._exchanges import put_before
from dialens.corpus.readers._messages import SPEAKERS

_SAID = ("content", "text", *RESPONSES)


def with_reply(
    turns: list[Turn], record: Mapping[str, object], column: str | None = None
) -> tuple[list[Turn], str | None, str | None]:
    """The turns with the reply of a record, the column it stood in, and what to remark of it.

    Args:
        turns: Of the messages.
        record: With the messages, and perhaps the reply.
        column: Where the reply stands; the first that is called so and holds one if not given.

    Examples:
        >>> asked = [Turn("user", "partner", "Hi")]
        >>> turns, column, _ = with_reply(asked, {"output": "Hello"})
        >>> [turn.text for turn in turns], column
        (['Hi', 'Hello'], 'output')
        >>> with_reply(turns, {"output": "Hello "})[0] == turns
        True
    """
    columns = [column] if column else [key for key in record if key.strip().lower() in RESPONSES]
    columns.sort(key=lambda key: RESPONSES.index(key.lower()) if key.lower() in RESPONSES else 0)
    for name in columns:
        said = _said(record.get(name), name)
        if not said:
            continue
        if not turns or turns[-1].role != "agent":
            return _answered(turns, said), name, f"took {name!r} for the agent's reply"
        if _texts(turns[-len(said) :]) == _texts(said):
            return turns, name, None
        return turns, None, f"{name!r} is not the agent's last turn; it is in `meta`, not scored"
    return turns, None, None


def _answered(turns: list[Turn], said: list[Turn]) -> list[Turn]:
    """The turns with a reply after them, by the agent who spoke last if it has a name.

    Tools that stood at the end of the turns stand before the reply.
    """
    names = [turn.speaker for turn in turns if turn.role == "agent"]
    if names and {turn.speaker for turn in said} == {SPEAKERS["agent"]}:
        said = [replace(turn, speaker=names[-1]) for turn in said]
    if turns:
        meta = dict(turns[-1].meta or {})
        put_before(said[0], meta.pop("after", None))
        turns[-1].meta = meta or None
    return [*turns, *said]


def _texts(turns: Sequence[Turn]) -> list[str]:
    return [turn.text.strip() for turn in turns]


def _said(value: object, field: str) -> list[Turn]:
    """The agent's turns in a cell; none where it holds something else."""
    try:
        value = unwrapped(value, field)
        if isinstance(value, dict):
            value = next((value[key] for key in _SAID if isinstance(value.get(key), str)), None)
        if isinstance(value, str):
            return [Turn(SPEAKERS["agent"], "agent", value)] if value.strip() else []
        turns = turns_in(value, field) if isinstance(value, list) else []
    except RecordError:
        return []
    return turns if all(turn.role == "agent" for turn in turns) else []
