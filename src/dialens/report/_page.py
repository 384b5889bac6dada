"""The one page all reports share: an answer, then sections made of blocks.

A report fills a `Page`; `write_page` turns it into one HTML file that needs nothing else, and
gives the same as a `Summary` for the terminal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from dialens.base import capitalised
from dialens.report._charts import CONFIG, Chart
from dialens.report._shell import write_html
from dialens.report._table import Place, Table


@dataclass(frozen=True)
class End:
    """One of two values that a finding compares, with its place on their common axis."""

    name: str
    value: str
    interval: str
    place: Place


@dataclass(frozen=True)
class Finding:
    """A sentence and the numbers behind it.

    Attributes:
        claim: What a reader should take away, without a full stop.
        numbers: Estimate, interval, corrected p and family, without the last full stop.
        clear: Whether the corrected p is below 0.05 (also where nothing was tested).
        topic: The section it belongs to.
        heading: A word or two above it.
        ends: The two values it compares, the lower first, where they are drawn.
        meaning: What was measured, in a line, where it needs saying.
        axis: What the drawing spans, from its left to its right end.
    """

    claim: str
    numbers: str = ""
    clear: bool = True
    topic: str = ""
    heading: str = ""
    ends: tuple[End, End] | None = None
    meaning: str = ""
    axis: tuple[str, str] | None = None

    @property
    def support(self) -> str:
        """The numbers as a sentence."""
        return sentence(self.numbers)

    @property
    def text(self) -> str:
        """All of it in one line.

        Examples:
            >>> Finding("x writes more than y", "difference 2.0").text
            'x writes more than y. Difference 2.0.'
        """
        heading = f"{self.heading}: " if self.heading else ""
        return f"{heading}{self.claim}. {self.support}".strip()


def sentence(text: str) -> str:
    """A capital first letter if it begins with a word, and a full stop if it has none.

    Examples:
        >>> sentence("difference 2.0"), sentence("r = 0.3"), sentence("Why?"), sentence("")
        ('Difference 2.0.', 'r = 0.3.', 'Why?', '')
    """
    if not text:
        return ""
    text = capitalised(text) if text[:2].isalpha() else text
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


@dataclass(frozen=True)
class Findings:
    """A list of findings; `otherwise` is said if there are none."""

    items: Sequence[Finding]
    otherwise: str = ""
    kind: ClassVar[str] = "findings"


@dataclass(frozen=True)
class Text:
    """A paragraph; soft where it explains rather than tells."""

    text: str
    soft: bool = True
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Notes:
    """Remarks in the small: a few as paragraphs, many as a folded list."""

    title: str
    lines: Sequence[str]
    kind: ClassVar[str] = "notes"


@dataclass(frozen=True)
class Remark:
    """What has to be known before the first number.

    Attributes:
        title: In two or three words.
        text: In sentences.
        details: One line each, below it.
        warning: Whether results must not be read without it.
    """

    title: str
    text: str
    details: Sequence[str] = ()
    warning: bool = False
    kind: ClassVar[str] = "remark"

    def lines(self) -> list[str]:
        """For a terminal; details only where they matter."""
        below = self.details if self.warning else ()
        return [f"{self.title}: {self.text}", *(f"  {line}" for line in below)]


@dataclass(frozen=True)
class Plot:
    """A chart, or several of which one is shown at a time.

    Attributes:
        key: Its place; unique on the page.
        charts: By choice; a single chart under the empty choice.
        choose: What is chosen, where there are several.
        labels: What the choices are called; their own names if empty.
        title: A heading above it; empty where the section or fold has one.
        agents: Names of which one can be picked out in the chart.
    """

    key: str
    charts: Mapping[str, Chart]
    choose: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    agents: Sequence[str] = ()
    kind: ClassVar[str] = "plot"

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Choices and what they are called; empty where there is nothing to choose."""
        if not self.choose:
            return []
        return [(name, self.labels.get(name, name)) for name in self.charts]


@dataclass(frozen=True)
class Fact:
    """A term and what is to be said of it: sentences, lines below, lines of code below these."""

    name: str
    text: str
    source: str = ""
    lines: Sequence[str] = ()
    code: Sequence[str] = ()


@dataclass(frozen=True)
class Facts:
    """Terms and their meaning."""

    items: Sequence[Fact]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class View:
    """A part with a layout of its own in the template.

    Attributes:
        name: Of the layout: `among`, `examples`, `profile`, `character` or `dialogues`.
        content: What it shows.
        charts: By place, and within it by choice.
    """

    name: str
    content: Any
    charts: Mapping[str, Mapping[str, Chart]] = field(default_factory=dict)
    kind: ClassVar[str] = "view"


@dataclass(frozen=True)
class Fold:
    """Blocks that can be folded away."""

    title: str
    blocks: Sequence["Block"]
    more: str = ""
    open: bool = False
    kind: ClassVar[str] = "fold"


Block = Findings | Text | Notes | Remark | Plot | Facts | View | Fold | Table


def folded(table: Table, *, more: str = "", open: bool = False) -> Fold:
    """A table under its own title."""
    return Fold(table.title, [table], more, open)


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        id: For links; unique on the page.
        title: Its heading.
        blocks: What stands in it, from top to bottom.
        short: What the navigation calls it; its title if empty.
    """

    id: str
    title: str
    blocks: Sequence[Block]
    short: str = ""


@dataclass(frozen=True)
class Page:
    """A report.

    Attributes:
        title: Its heading.
        answer: What it says, in one sentence without a full stop.
        scope: What it rests on: how many agents, dialogues, ratings; without a full stop.
        sections: The rest.
        remarks: What has to be known before the first number.
        agents: Names that charts and dialogues mean by their numbers.
        data: What else the page's scripts read.
    """

    title: str
    answer: str
    scope: str
    sections: Sequence[Section]
    remarks: Sequence[Remark] = ()
    agents: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def blocks(self) -> Iterator[Block]:
        """All blocks, also those that are folded away."""

        def within(blocks: Sequence[Block]) -> Iterator[Block]:
            for block in blocks:
                yield block
                if isinstance(block, Fold):
                    yield from within(block.blocks)

        for section in self.sections:
            yield from within(section.blocks)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, in the order of the page."""
        lists = (block.items for block in self.blocks() if isinstance(block, Findings))
        return tuple(finding for items in lists for finding in items)

    @property
    def figures(self) -> dict[str, dict[str, Any]]:
        """Every chart, by place and choice, as the page's scripts read it."""
        places: dict[str, Mapping[str, Chart]] = {}
        for block in self.blocks():
            if isinstance(block, Plot):
                places[block.key] = block.charts
            elif isinstance(block, View):
                places |= block.charts
        return {
            place: {choice: chart.to_dict() for choice, chart in charts.items()}
            for place, charts in places.items()
        }


@dataclass(frozen=True)
class Summary:
    """What a page says, for a few lines on a terminal.

    Attributes:
        path: Where the page is.
        answer: In one sentence, without a full stop.
        scope: What it rests on, without a full stop.
        findings: The sentences on it.
        remarks: What has to be known before the first number.
        size: Bytes.
        figures: The charts on it by place and choice, as the page's scripts read them.
        agents: Names that charts mean by their numbers.
    """

    path: Path
    answer: str
    scope: str
    findings: tuple[Finding, ...]
    remarks: tuple[Remark, ...]
    size: int
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    agents: tuple[str, ...] = field(default=(), repr=False)

    def lines(self) -> list[str]:
        """The summary as lines of text."""
        return [
            *(line for remark in self.remarks for line in remark.lines()),
            f"{self.answer}.",
            f"{self.scope}.",
            *(f"  {finding.text}" for finding in self.findings),
        ]


def write_page(page: Page, path: Path) -> Summary:
    """Write a page into one HTML file that needs nothing else.

    Args:
        page: What it says.
        path: The file; it appears whole or not at all.

    Examples:
        >>> import tempfile
        >>> found = Findings([Finding("x writes more than y", "difference 2.0")])
        >>> sections = [Section("all", "What differs", [found])]
        >>> page = Page("Two", "x writes more", "2 agents", sections)
        >>> summary = write_page(page, Path(tempfile.mkdtemp()) / "page.html")
        >>> summary.lines()
        ['x writes more.', '2 agents.', '  x writes more than y. Difference 2.0.']
    """
    figures, agents = page.figures, tuple(page.agents)
    data = {"config": CONFIG, "figures": figures, "agents": list(agents), **page.data}
    size = write_html(path, data, page=page)
    remarks = tuple(page.remarks)
    return Summary(path, page.answer, page.scope, page.findings, remarks, size, figures, agents)
