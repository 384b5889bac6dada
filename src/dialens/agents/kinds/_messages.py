"""A conversation in the words of chat templates: system, user, assistant."""

from collections.abc import Sequence

from dialens.agents._agent import Message

_ROLES = {"agent": "assistant", "partner": "user"}


def as_messages(history: Sequence[Message], begin: str) -> list[dict[str, str]]:
    """A conversation in the words of the protocol; somebody must have spoken to the model first.

    Chat templates that insist on taking turns (Gemma, Mistral) refuse one that begins by itself.

    Examples:
        >>> as_messages([Message("agent", "Hello.")], "Begin.")
        [{'role': 'user', 'content': 'Begin.'}, {'role': 'assistant', 'content': 'Hello.'}]
    """
    said = [{"role": _ROLES[one.role], "content": one.text} for one in history]
    if not said or said[0]["role"] == "assistant":
        said.insert(0, {"role": "user", "content": begin})
    return said
