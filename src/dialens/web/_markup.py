"""Markdown of studies as HTML: a safe subset of it, and nothing from elsewhere.

Paragraphs, emphasis, lists, quotations, code, tables and links; headings become bold lines. HTML in
the text stays text, pictures become links, and no style is set, which the pages' policy forbids.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

_SCHEMES = ("http", "https", "mailto", "tel")
_OFF = ("html_block", "html_inline", "image", "code")
_BULLETS = re.compile(r"(?m)^([ \t]*)[•–][ \t]+")
_ADDRESS = re.compile(
    r"https?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}]|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}"
)
_CACHED = 4_096


@lru_cache(maxsize=_CACHED)
def markdown(text: str) -> Markup:
    r"""A text of several paragraphs.

    Examples:
        >>> print(markdown("Read **this**:\n- a\n- b"))
        <p>Read <strong>this</strong>:</p>
        <ul>
        <li>a</li>
        <li>b</li>
        </ul>
        >>> print(markdown("<b onclick=x>no</b>"))
        <p>&lt;b onclick=x&gt;no&lt;/b&gt;</p>
    """
    return Markup(_PARSER.render(_bullets(text)).strip())


@lru_cache(maxsize=_CACHED)
def reply_markdown(text: str) -> Markup:
    r"""What somebody said in a conversation: lines stay lines, and bare addresses are text.

    Examples:
        >>> print(reply_markdown("One\n*two*"))
        <p>One<br>
        <em>two</em></p>
    """
    return Markup(_REPLY_PARSER.render(text).strip())


@lru_cache(maxsize=_CACHED)
def inline_markdown(text: str) -> Markup:
    """A text within a line: a question, a definition.

    Examples:
        >>> print(inline_markdown("How *warm* is it?"))
        How <em>warm</em> is it?
    """
    return Markup(_PARSER.renderInline(text).strip())


@lru_cache(maxsize=_CACHED)
def without_marks(text: str) -> str:
    """The words of a text, where there may be no markup: in a link, in a title.

    Examples:
        >>> without_marks("How *warm* is [this](https://example.org)?")
        'How warm is this?'
    """
    return "".join(
        " " if part.type in ("softbreak", "hardbreak") else part.content
        for token in _PARSER.parseInline(text)
        for part in token.children or ()
    )


def _bullets(text: str) -> str:
    """Lists as people type them: `•` and `–` are as good as `-`."""
    return _BULLETS.sub(r"\1- ", text)


class _Markdown(MarkdownIt):
    """Markdown whose links lead to addresses that a browser opens, and nothing else."""

    def validateLink(self, url: str) -> bool:
        """Asked of every link."""
        try:
            return urlsplit(url).scheme.lower() in _SCHEMES
        except ValueError:
            return False


def _with_addresses(state: Any) -> None:
    """Link addresses that stand in the text."""
    for token in state.tokens:
        if token.children:
            token.children = list(_linked(token.children))


def _prepared(state: Any) -> None:
    """Take away what sets a style, and open links in a window of their own."""
    for token in state.tokens:
        aligned = str(token.attrs.pop("style", "")).removeprefix("text-align:")
        if aligned in ("center", "right"):
            token.attrs["class"] = f"to-{aligned}"
        for part in token.children or ():
            if part.type == "link_open":
                part.attrs |= {"target": "_blank", "rel": "noopener noreferrer"}


def _linked(parts: Sequence[Token]) -> Iterator[Token]:
    within = 0
    for part in parts:
        within += part.nesting if part.type in ("link_open", "link_close") else 0
        if part.type == "text" and not within:
            yield from _addresses(part.content)
        else:
            yield part


def _addresses(text: str) -> Iterator[Token]:
    done = 0
    for match in _ADDRESS.finditer(text):
        address = match[0] if match[0].startswith("http") else f"mailto:{match[0]}"
        yield _text(text[done : match.start()])
        yield Token("link_open", "a", 1, attrs={"href": address})
        yield _text(match[0])
        yield Token("link_close", "a", -1)
        done = match.end()
    yield _text(text[done:])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _constant(html: str) -> Any:
    return lambda *_: html


def _parser(*, said: bool) -> MarkdownIt:
    options = {"html": False, "breaks": said, "xhtmlOut": False}
    made = _Markdown("commonmark", options).enable("table").disable(list(_OFF))
    if not said:
        made.core.ruler.push("addresses", _with_addresses)
    made.core.ruler.push("prepared", _prepared)
    rules = {
        "heading_open": "<p><strong>",
        "heading_close": "</strong></p>\n",
        "table_open": '<div class="scroller" tabindex="0"><table>\n',
        "table_close": "</table></div>\n",
    }
    for name, html in rules.items():
        made.add_render_rule(name, _constant(html))
    return made


_PARSER = _parser(said=False)
_REPLY_PARSER = _parser(said=True)
