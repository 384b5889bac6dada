"""Why a conversation ended, in the words that a corpus keeps."""

GOAL_REACHED = "goal reached"
GAVE_UP = "gave up"
GOODBYE = "said goodbye"
MOST_TURNS = "most turns"
NOTHING_MORE = "nothing more to say"
"""Of those who are no simulated users: a script at its end, a context that was answered."""

ENDINGS = (GOAL_REACHED, GAVE_UP, GOODBYE, MOST_TURNS, NOTHING_MORE)


def ending_of(reason: str) -> str:
    """The ending that an agent's last words name.

    Examples:
        >>> ending_of("gave up"), ending_of("The script s is at its end.")
        ('gave up', 'nothing more to say')
    """
    return reason if reason in ENDINGS else NOTHING_MORE
