"""Conversations in one text with the marks of a chat template: ChatML, Llama 3."""

import re

from dialens.corpus._dialogue import Turn
from dialens.corpus.readers._messages import ROLES, turns_of

_TEMPLATES = (
    re.compile(
        r"<\|im_start\|>[ ]*(\w+)[ \t]*\n?(.*?)(?:<\|im_end\|>|(?=<\|im_start\|>)|\Z)", re.S
    ),
    re.compile(
        r"<\|start_header_id\|>(\w+)<\|end_header_id\|>\s*(.*?)"
        r"(?:<\|eot_id\|>|(?=<\|start_header_id\|>)|\Z)",
        re.S,
    ),
)


def templated_turns(text: str) -> list[Turn] | None:
    r"""The turns of a text with a template's marks, or None if it has none.

    Examples:
        >>> said = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>"
        >>> [(turn.role, turn.text) for turn in templated_turns(said)]
        [('partner', 'Hi'), ('agent', 'Hello')]
    """
    if "<|" not in text:
        return None
    found = next(filter(None, (template.findall(text) for template in _TEMPLATES)), [])
    if not found or any(role.lower() not in ROLES for role, _ in found):
        return None
    messages = [{"role": role.lower(), "content": said.strip()} for role, said in found]
    if not messages[-1]["content"]:
        messages.pop()  # a prompt ends with the mark of the assistant
    return turns_of(messages, field="text") or None
