"""How likely answers are, from how likely their tokens are."""

import math
from collections.abc import Mapping, Sequence


def without_longer(tokens: Sequence[Sequence[int]], chances: Sequence[float]) -> list[float]:
    """The chance of each answer alone, where some are the beginning of others.

    "1" is the beginning of "10" where a tokenizer writes digits one by one: what goes on to be the
    longer answer is taken from the shorter.

    Args:
        tokens: Of each answer.
        chances: That what comes next begins with these tokens.

    Examples:
        >>> [round(one, 3) for one in without_longer([[1], [1, 0], [1, 0, 0]], [0.6, 0.5, 0.1])]
        [0.1, 0.4, 0.1]
        >>> without_longer([[1], [10]], [0.6, 0.3])
        [0.6, 0.3]
    """
    alone = list(chances)
    for place in sorted(range(len(tokens)), key=lambda one: -len(tokens[one])):
        own = list(tokens[place])
        alone[place] -= sum(
            alone[other]
            for other, longer in enumerate(tokens)
            if len(longer) > len(own) and list(longer[: len(own)]) == own
        )
    return [max(0.0, chance) for chance in alone]


def from_first_token(
    likeliest: Sequence[Mapping[str, float]], answers: Sequence[str]
) -> dict[str, float] | None:
    """The chance of each answer from the likeliest first tokens of what was written.

    A token counts for the one answer that it is or begins. Where an answer that begins another
    ("1" and "10") is among the tokens and the longer is not, nobody can tell which of them was
    meant: there is no result then.

    Args:
        likeliest: For each token that was written, the likeliest with their log-probability.
        answers: All that are allowed.

    Examples:
        >>> tops = [{"4": -0.5, " 4": -3.0, "5": -1.5, "The": -4.0}]
        >>> {one: round(p, 3) for one, p in from_first_token(tops, ["4", "5", "6"]).items()}
        {'4': 0.656, '5': 0.223, '6': 0.0}
        >>> from_first_token([{"1": -0.1, "2": -3.0}], ["1", "2", "10"]) is None
        True
    """
    chances = dict.fromkeys(answers, 0.0)
    first = next((one for one in likeliest if _worded(one)), None)
    if first is None:
        return None
    seen = {token.strip() for token in first}
    for short in answers:
        for long in answers:
            if long != short and long.startswith(short) and short in seen and long not in seen:
                return None
    for token, log in first.items():
        word = token.strip()
        meant = [answer for answer in answers if answer == word] or [
            answer for answer in answers if word and answer.startswith(word)
        ]
        if len(meant) == 1:
            chances[meant[0]] += math.exp(log)
    return chances


def _worded(top: Mapping[str, float]) -> bool:
    """Whether the likeliest of some tokens is more than white space."""
    return bool(top) and bool(max(top, key=lambda token: top[token]).strip())
