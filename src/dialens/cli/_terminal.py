"""The terminal: a console that prints text as it is."""

from rich.console import Console


def plain_console(*, stderr: bool = False) -> Console:
    """A console that takes nothing in a text for markup.

    Names of agents and qualities are the user's: `llama[instruct]` and `bot :fire:` are printed
    like that, where rich would read a style and an emoji.

    Examples:
        >>> plain_console().print("llama[instruct] [/b] :fire:")
        llama[instruct] [/b] :fire:
    """
    return Console(stderr=stderr, markup=False, emoji=False)
