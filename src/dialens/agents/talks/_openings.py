"""First sentences of conversations, for agents that are given none."""

from pathlib import Path

from dialens.base import DialensError

OPENINGS = (
    "Hi! How has your day been so far?",
    "I just got back from a long walk in the rain.",
    "My sister is getting married next month and I have to give a speech.",
    "What would you do with a whole week off?",
    "I burnt dinner again. Third time this week.",
    "Have you read anything good lately?",
    "I finally passed my driving test today!",
    "My cat has been missing since yesterday evening.",
    "Do you think people can really change?",
    "I am thinking of moving to another city, and I am not sure about it.",
    "What kind of music do you put on when you work?",
    "I had a strange dream last night.",
    "My neighbour plays the trumpet at six in the morning.",
    "I want to learn something new this year. Any ideas?",
    "It is my first day at a new job tomorrow and I cannot sleep.",
    "What is the best film you know that nobody talks about?",
    "I have been feeling a bit lonely lately.",
    "We are planting tomatoes on the balcony for the first time.",
    "My old laptop died this morning, with everything on it.",
    "If you could live in any century, which one would you choose?",
    "I ran ten kilometres today. I can hardly stand.",
    "My best friend and I had an argument, and now we do not talk.",
    "What should I cook for six people tonight?",
    "I found a letter from my grandfather in an old book.",
)
"""Written for dialens: small talk, good news and bad, questions; none needs an answer of facts."""


def read_openings(path: Path) -> tuple[str, ...]:
    r"""Openings from a file, one a line; blank lines and those that begin with # are passed over.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "openings.txt"
        >>> _ = path.write_text("# mornings\nGood morning!\n")
        >>> read_openings(path)
        ('Good morning!',)
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DialensError(f"{path} cannot be read: {error}.") from error
    lines = [line.strip() for line in text.splitlines()]
    kept = tuple(line for line in lines if line and not line.startswith("#"))
    if not kept:
        raise DialensError(f"{path} holds no opening. Write one a line.")
    return kept
