"""What a model thought before it replied, where a log keeps it in the reply itself.

Reasoning models write it between `<think>` and `</think>` at the beginning of a message (others
between `<thinking>` or `<reasoning>` tags). Chat templates that open the tag themselves leave only
the closing one; a reply that was cut off leaves only the opening one. None of it was said to
anybody.
"""

import re

WORTH_A_LOOK = r"(?i)<(?:think|thinking|reasoning)>|</think>"
"""What a text must hold to have reasoning in it, as a pattern for tables."""

_OPENED = re.compile(r"\s*<(think|thinking|reasoning)>(.*?)(?:</\1>|\Z)\s*", re.I | re.S)
_ONLY_CLOSED = re.compile(r"(.*?)</think>(?:\s*\n\s*|\s*\Z)", re.I | re.S)


def split_reasoning(text: str) -> tuple[str, str]:
    r"""What was said, and the reasoning before it.

    Examples:
        >>> split_reasoning("<think>\nShe is sad.\n</think>\n\nI am sorry.")
        ('I am sorry.', 'She is sad.')
        >>> split_reasoning("She is sad.\n</think>\n\nI am sorry.")
        ('I am sorry.', 'She is sad.')
        >>> split_reasoning("The tag <think> opens it.")
        ('The tag <think> opens it.', '')
    """
    thought = []
    while match := _OPENED.match(text):
        thought.append(match[2].strip())
        text = text[match.end() :]
    if "</think>" in text.lower() and (match := _ONLY_CLOSED.match(text)):
        thought.append(match[1].strip())
        text = text[match.end() :]
    return text, "\n\n".join(thought)


def said_in(text: str) -> str:
    """What was said, without reasoning and space around it, for comparing turns."""
    if "<" in text:
        text = split_reasoning(text)[0]
    return text.strip()
