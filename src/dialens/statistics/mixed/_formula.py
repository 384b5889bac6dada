"""Formulas as in lme4: `value ~ agent * layout + (1 + agent | rater) + (1 | item)`."""

import re
from dataclasses import dataclass
from typing import NoReturn

from dialens.base import DialensError

_NAME = r"`[^`]+`|[^\W\d]\w*(?:\.\w+)*"
_TOKEN = re.compile(rf"\s*({_NAME}|\d+(?:\.\d+)?|\|\||[~+\-*:/|()^])")
_EXAMPLE = "value ~ agent * layout + (1 + agent | rater) + (1 | item)"


@dataclass(frozen=True)
class Formula:
    """What a formula says, in the terms that `fit_mixed` takes.

    Attributes:
        response: The column explained.
        fixed: Terms of the fixed part; `0` among them if there is no intercept.
        random: Terms of the random part.
    """

    response: str
    fixed: tuple[str, ...]
    random: tuple[str, ...]


def parse_formula(formula: str) -> Formula:
    """Read a formula.

    Args:
        formula: As in lme4: `*` and `:` for interactions, `0 +` or `- 1` to leave the intercept
            out, `(x | g)` for an intercept and a slope that correlate, `(x || g)` if they do not,
            `(0 + x | g)` for the slope alone, `a/b` for nested and `a:b` for combined groupings.
            Names with spaces stand between backquotes.

    Examples:
        >>> parse_formula("value ~ agent * layout + (1 + agent | rater) + (1 | system/agent)")
        Formula(response='value', fixed=('agent*layout',), random=('agent | rater', 'system/agent'))
        >>> parse_formula("value ~ 0 + agent + (x || rater)").fixed
        ('0', 'agent')
    """
    return _Reader(formula).read()


class _Reader:
    """One pass over the tokens of a formula."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens: list[tuple[str, int]] = []
        at = 0
        while at < len(formula.rstrip()):
            match = _TOKEN.match(formula, at)
            if match is None:
                at += len(formula[at:]) - len(formula[at:].lstrip())
                self._fail(at, f"{formula[at]!r} is no part of a formula", f"write `{_EXAMPLE}`")
            self.tokens.append((match[1], match.start(1)))
            at = match.end()
        self.next = 0
        self.response: str | None = None

    def read(self) -> Formula:
        if all(token != "~" for token, _ in self.tokens):
            raise DialensError(f"Formula {self.formula!r}: a formula needs ~, e.g. `{_EXAMPLE}`.")
        self.response = self._name("the column explained")
        self._expect("~", "put `~` between the column explained and what explains it")
        fixed: list[str] = []
        random: list[str] = []
        sign = "+"
        while True:
            if self._peek() == "(":
                if sign == "-":
                    self._fail_here("a random term cannot be taken away", "leave it out")
                random.append(self._random())
            else:
                self._fixed(sign, fixed)
            if self._peek() is None:
                break
            sign = self._sign()
        return Formula(self.response, tuple(dict.fromkeys(fixed)), tuple(dict.fromkeys(random)))

    def _fixed(self, sign: str, fixed: list[str]) -> None:
        """A term of the fixed part; numbers say whether there is an intercept."""
        token = self._peek()
        if token is not None and token[0].isdigit():
            if token not in ("0", "1") or (sign == "-" and token == "0"):
                self._fail_here(
                    f"`{sign} {token}` means nothing",
                    "write `0 +` or `- 1` to leave the intercept out",
                )
            self._take()
            if (token == "0") == (sign == "+"):
                fixed.append("0")
            return
        if sign == "-":
            self._fail_here(
                "only the intercept can be taken away (`- 1`)", "name just the terms you want"
            )
        term = self._name("a term")
        kinds: set[str] = set()
        while self._peek() in ("*", ":"):
            kinds.add(str(self._peek()))
            if len(kinds) > 1:
                self._fail_here(
                    "`*` and `:` stand in one term", "write `a + b + a:b` instead of `a*b`"
                )
            term += str(self._take()) + self._name("a term")
        if self._peek() == "/":
            self._fail_here("`/` nests groupings of the random part only", "write `a + a:b`")
        fixed.append(term)

    def _random(self) -> str:
        """`(effects | group)` as a term of the random part."""
        opened = self.tokens[self.next][1]
        self._take()
        intercept, slopes = True, list[str]()
        sign = "+"
        while True:
            token = self._peek()
            if token in ("0", "1"):
                self._take()
                intercept = (token == "1") == (sign == "+")
            else:
                if sign == "-":
                    self._fail_here("a slope cannot be taken away", "leave it out")
                slopes.append(self._name("an effect that differs between groups"))
            if self._peek() in ("*", ":"):
                self._fail_here(
                    "slopes of interactions cannot be fitted",
                    "make a column of the combination and name that",
                )
            if self._peek() in ("|", "||"):
                break
            if self._peek() is None or self._peek() == ")":
                self._fail(
                    opened,
                    "the parenthesis names no grouping",
                    "write `(1 | rater)`; fixed terms need no parentheses",
                )
            sign = self._sign()
        bar = str(self._take())
        group = self._group()
        self._expect(")", "close the parenthesis after the grouping")
        if not intercept and not slopes:
            self._fail(opened, "the term has no effect", "write `(1 | rater)`")
        if not slopes:
            return group
        return f"{'' if intercept else '0 + '}{' + '.join(slopes)} {bar} {group}"

    def _group(self) -> str:
        group = self._name("a grouping")
        kinds: set[str] = set()
        while self._peek() in ("/", ":"):
            kinds.add(str(self._peek()))
            if len(kinds) > 1:
                self._fail_here(
                    "`/` and `:` stand in one grouping", "write `(1 | a) + (1 | a:b)` for `a/b`"
                )
            group += str(self._take()) + self._name("a grouping")
        return group

    def _sign(self) -> str:
        if self._peek() not in ("+", "-"):
            remedy = "put `+` between terms"
            if self._peek() == "(":
                remedy = "make a column of the transformed values first, and name that; " + remedy
            self._fail_here(f"unexpected `{self._peek()}`", remedy)
        return str(self._take())

    def _name(self, what: str) -> str:
        token = self._peek()
        if token is None or not re.fullmatch(_NAME, token):
            seen = "the formula ends" if token is None else f"`{token}` stands"
            self._fail_here(f"{seen} where {what} should be named", f"write `{_EXAMPLE}`")
        name = token.strip("`")
        if re.search(r"[:*/|+]", name):
            self._fail_here(f"the name {name!r} holds a sign of formulas", "rename the column")
        if name == self.response:
            self._fail_here(
                f"{name} is explained, so it cannot explain itself", "leave it out after `~`"
            )
        self._take()
        return name

    def _expect(self, token: str, remedy: str) -> None:
        if self._peek() != token:
            seen = "the formula ends" if self._peek() is None else f"`{self._peek()}` stands"
            self._fail_here(f"{seen} where `{token}` should be", remedy)
        self._take()

    def _peek(self) -> str | None:
        return self.tokens[self.next][0] if self.next < len(self.tokens) else None

    def _take(self) -> str:
        self.next += 1
        return self.tokens[self.next - 1][0]

    def _fail_here(self, what: str, remedy: str) -> NoReturn:
        ended = self.next >= len(self.tokens)
        self._fail(len(self.formula) if ended else self.tokens[self.next][1], what, remedy)

    def _fail(self, at: int, what: str, remedy: str) -> NoReturn:
        raise DialensError(
            f"Formula {self.formula!r}, character {at + 1}: {what}. "
            f"{remedy[0].upper()}{remedy[1:]}."
        )
