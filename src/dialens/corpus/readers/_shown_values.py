"""Lists and objects as Python and NumPy show them, which is how pandas writes them into a CSV.

Python puts commas between elements and NumPy only blanks, so that `['Hi' 'Hello']` is two texts
there and would be one to Python. What is neither, such as a time, is kept as it is written.
"""

import ast
import re
from collections.abc import Iterator

import msgspec

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>[bu]?'(?:[^'\\]|\\.)*'|[bu]?"(?:[^"\\]|\\.)*")
        |(?P<mark>[\[\]{}(),:=])
        |(?P<word><[^<>]*>|[^\s\[\]{}(),:='"<>]+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"None": None, "nan": None, "NaT": None, "<NA>": None, "True": True, "False": False}
_HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
_CLOSING = {"[": "]", "{": "}", "(": ")"}


def python_literal(text: str) -> object:
    r"""The value of a literal of Python.

    Raises:
        ValueError: It is none, or holds half of a surrogate pair, which is no character.

    Examples:
        >>> python_literal("['Hi']")
        ['Hi']
        >>> python_literal("'\\ud800'")
        Traceback (most recent call last):
        ...
        UnicodeEncodeError: 'utf-8' codec can't encode ...
    """
    value: object = ast.literal_eval(text)
    if _HALF_A_PAIR.search(text):
        msgspec.json.encode(value, enc_hook=str)
    return value


def shown_value(text: str) -> object:
    r"""The value that a text shows.

    Raises:
        ValueError: It shows none, or not all of it.

    Examples:
        >>> shown_value("['Hi' 'Hello']"), shown_value("[('a', 1), ('b', None)]")
        (['Hi', 'Hello'], [['a', 1], ['b', None]])
        >>> shown_value('''[{'from': 'gpt', 'value': "It's \\n"}\n {'from': 'human'}]''')
        [{'from': 'gpt', 'value': "It's \n"}, {'from': 'human'}]
        >>> shown_value("array([{'at': Timestamp('2024-05-01')}], dtype=object)")
        [{'at': '2024-05-01'}]
    """
    tokens = _Tokens(text)
    value = _value(tokens)
    if tokens.next is not None:
        raise ValueError("something stands after the value")
    return value


class _Tokens:
    """The tokens of a text, with a look at the next one."""

    def __init__(self, text: str) -> None:
        self._tokens = _split(text)
        self.next: tuple[str, str] | None = None
        self.take()

    def take(self) -> tuple[str, str]:
        taken = self.next or ("", "")
        self.next = next(self._tokens, None)
        return taken

    def at(self, mark: str) -> bool:
        return self.next == ("mark", mark)

    def skip(self, mark: str) -> bool:
        here = self.at(mark)
        if here:
            self.take()
        return here


def _split(text: str) -> Iterator[tuple[str, str]]:
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"nothing known stands at character {place}")
        place = match.end()
        yield str(match.lastgroup), match[str(match.lastgroup)]


def _value(tokens: _Tokens) -> object:
    kind, token = tokens.take()
    if kind == "text":
        return python_literal(token)
    if kind == "mark" and token in ("[", "("):
        return _elements(tokens, _CLOSING[token])
    if kind == "mark" and token == "{":
        return _object(tokens)
    if kind != "word" or token == "...":  # NumPy leaves the middle of a long array out
        raise ValueError(f"{token or 'the end'} is no value")
    if tokens.skip("("):
        return _call(token, tokens)
    if token in _WORDS:
        return _WORDS[token]
    try:
        return ast.literal_eval(token)
    except (ValueError, SyntaxError):
        return token


def _elements(tokens: _Tokens, closing: str) -> list[object]:
    elements = []
    while not tokens.skip(closing):
        elements.append(_value(tokens))
        tokens.skip(",")
    return elements


def _object(tokens: _Tokens) -> dict[str, object]:
    content: dict[str, object] = {}
    while not tokens.skip("}"):
        key = _value(tokens)
        if not tokens.skip(":"):
            raise ValueError(f"no value stands after the key {key}")
        content[str(key)] = _value(tokens)
        tokens.skip(",")
    return content


def _call(name: str, tokens: _Tokens) -> object:
    """What a call such as `array([…], dtype=object)` holds: its one argument, or all as text."""
    arguments: list[object] = []
    while not tokens.skip(")"):
        value = _value(tokens)
        if tokens.skip("="):
            _value(tokens)
        else:
            arguments.append(value)
        tokens.skip(",")
    if len(arguments) == 1:
        return arguments[0]
    return f"{name}({', '.join(map(str, arguments))})"
