"""Each check fails on one that breaks a promise, and says which."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pytest

from dialens.agents import AgentError, Message, Reply
from dialens.corpus import Dialogue, Record, RecordReader, Source, Turn
from dialens.corpus.readers import READERS
from dialens.metrics import Definition, MetricCard, metric, turn_mean
from dialens.studies import Study
from dialens.studies.design import RecruiterSettings
from dialens.studies.instruments import Form, Instrument, Output, Settings, instrument
from dialens.studies.recruiters import Access, Cost, Link, RecruiterKind
from dialens.studies.texts import Texts
from dialens.testing import (
    check_agent,
    check_instrument,
    check_metric,
    check_reader,
    check_recruiter,
)


def card(value: Callable[[Any], Any], **facts: Any) -> MetricCard:
    """A metric with this value of a batch of turns."""
    about = {"meaning": "Something", "family": "tried"} | facts
    return metric("tried", **about)(lambda resources: turn_mean("tried", value))


def lengths(batch: Any) -> Any:
    return batch.turns["text"].str.len_chars().to_numpy().astype(np.float64)


def silent(batch: Any) -> Any:
    return np.full(batch.turns.height, np.nan)


def unexplained() -> MetricCard:
    """Whose value is missing without a reason."""
    made = card(lengths)

    def make(resources: Any) -> Definition:
        definition = made.make(resources)

        def compute(state: Any) -> Any:
            values = definition.compute(state)
            return replace(values, value=np.full_like(values.value, np.nan))

        return replace(definition, compute=compute)

    return replace(made, make=make)


COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: replace(card(lengths), name="Has Blanks"), "small letters, digits"),
        (lambda: card(lengths, meaning="small"), "begins with a capital"),
        (lambda: card(lengths, levels=("planet",)), "levels are turn"),
        (lambda: card(lengths, range=(1.0, 1.0)), "empty range"),
        (lambda: card(lengths, range=(None, 3.0)), "above the 3 that"),
        (lambda: card(lengths, range=(2.0, None)), "below the 2 that"),
        (lambda: card(lambda batch: lengths(batch) / 0.0), "infinite"),
        (unexplained, "gives no reason"),
        (lambda: card(lambda batch: lengths(batch) + batch.turns.height), "batches of"),
        (lambda: card(lambda batch: np.arange(batch.turns.height) * 1.0), "other values with"),
        (lambda: card(lambda batch: lengths(batch) + next(COUNTER)), "other values with"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_metrics(wrong: Callable[[], MetricCard], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_metric(wrong())


def test_a_metric_without_values_is_fine_if_it_says_why() -> None:
    check_metric(card(silent))


OPENAI: Any = READERS["openai"]


def lines(source: Source) -> Iterator[Record]:
    """Reads the file itself, packed or not."""
    for number, line in enumerate(source.path.read_bytes().splitlines(), 1):
        yield Record(number, line)


def arrows(record: Record, source: Source) -> Iterator[Dialogue]:
    asked, _, answer = record.raw.decode("utf-8-sig").partition(" => ")
    turns = [Turn("user", "partner", asked), Turn("bot", "agent", answer)]
    yield Dialogue("arrows", "bot", f"{source.label}-{record.line}", turns)


def forgiving(record: Record, source: Source) -> Iterator[Dialogue]:
    raw = record.raw.decode(errors="replace").encode()
    yield from OPENAI.parse(replace(record, raw=raw), source)


def wordless(record: Record, source: Source) -> Iterator[Dialogue]:
    for talk in OPENAI.parse(record, source):
        talk.turns = [turn for turn in talk.turns if turn.text]
        yield talk


def lower(record: Record, source: Source) -> Iterator[Dialogue]:
    yield from OPENAI.parse(replace(record, raw=record.raw.lower()), source)


def plain(record: Record, source: Source) -> Iterator[Dialogue]:
    for talk in OPENAI.parse(record, source):
        for turn in talk.turns:
            turn.text = turn.text.encode("ascii", "ignore").decode()
        yield talk


class Unplaced:
    """Says what is wrong, and not where."""

    name, summary, example = "unplaced", "x", OPENAI.example
    recognises = staticmethod(OPENAI.recognises)

    def read(self, source: Source, intake: Any) -> Any:
        from dialens.base import DialensError

        try:
            yield from OPENAI.read(source, intake)
        except DialensError:
            raise DialensError("Something is wrong.") from None


ARROWS = RecordReader(
    "arrows",
    "A question, an arrow, an answer",
    "Is it raining? => A little.\nShall we go? => Yes, now.\n",
    recognises=lambda source: b" => " in source.head,
    parse=arrows,
    records=lines,
)
# `openai` would be asked first and take it: the same name stands for it.
MINE = replace(OPENAI, name="openai")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (replace(MINE, name="Open AI"), "small letters"),
        (replace(MINE, summary=""), "no summary"),
        (replace(MINE, recognises=lambda source: False), "does not recognise"),
        (replace(OPENAI, name="mine"), "is taken for openai"),
        (replace(MINE, records=lambda source: iter(())), "reads no turn"),
        (replace(MINE, parse=forgiving), "not UTF-8"),
        (replace(MINE, parse=wordless), "text ''"),
        (replace(MINE, parse=lower), "no text as it stands"),
        (replace(MINE, parse=plain), "text 'Grüße"),
        (ARROWS, "packed as gz"),
    ],
)
def test_readers(wrong: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_reader(wrong)


def test_a_reader_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    unplaced = Unplaced()
    monkeypatch.setattr(unplaced, "name", "openai", raising=False)
    with pytest.raises(AssertionError, match="file and line"):
        check_reader(unplaced)


@dataclass
class Talker:
    """An agent that behaves; those below do not."""

    system: str = "s"
    name: str = "a"
    parameters: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    def says(self, history: Sequence[Message], seed: int) -> str:
        return f"{len(history)} turns, seed {seed}"

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        return Reply(self.says(history, seed))

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Iterator[str]:
        said = self.reply(history, seed=seed).text
        yield said[:3]
        yield said[3:]


class Forgetful(Talker):
    def says(self, history: Sequence[Message], seed: int) -> str:
        self.asked += 1
        return f"answer {self.asked}"


class Blank(Talker):
    def says(self, history: Sequence[Message], seed: int) -> str:
        return " padded "


class Crashing(Talker):
    def says(self, history: Sequence[Message], seed: int) -> str:
        return f"You said {history[-1].text[:5] or 'nothing'}."


class Mute(Talker):
    def says(self, history: Sequence[Message], seed: int) -> str:
        return super().says(history, seed) if history else ""


class Meddling(Talker):
    def says(self, history: Sequence[Message], seed: int) -> str:
        if isinstance(history, list):
            history.append(Message("agent", "I meddle."))
        return "Done."


class Rude(Talker):
    def says(self, history: Sequence[Message], seed: int) -> str:
        if not history:
            raise AgentError("No.", "rude")
        return "Yes."


class Stuttering(Talker):
    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Iterator[str]:
        yield "Well, "
        yield self.says(history, seed)


class Shared(Talker):
    """Keeps the question in itself: two who ask at once get each other's answer."""

    def says(self, history: Sequence[Message], seed: int) -> str:
        import time

        self.last = history[-1].text[:12] if history else "nothing"
        time.sleep(0.002)
        return f"You said {self.last.strip() or 'nothing'}."


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: replace(Talker(), name=""), "no system or no name"),
        (Blank, "blanks around it"),
        (Forgetful, "same seed"),
        (Crashing, "raises IndexError"),
        (Mute, "neither answers the request to begin"),
        (Meddling, "changes the history"),
        (Rude, "the kind 'rude'"),
        (Stuttering, "pieces of stream"),
        (Shared, "several ask at once"),
    ],
)
def test_agents(wrong: Callable[[], Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_agent(wrong)


def test_an_agent_that_behaves() -> None:
    check_agent(Talker)


LIKERT = instrument("likert")


class Undescribed(Settings):
    kind: Literal["likert"] = "likert"
    points: int = 5
    first: int = 1
    labels: dict[int, str] | None = None


def telling(asked: Any, texts: Texts) -> Form:
    form = LIKERT.form(asked, texts)
    return replace(form, help=str(next(iter(asked.targets.values()))["agent"]))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (replace(LIKERT, title=""), "no title"),
        (replace(LIKERT, meaning="One of"), "a sentence"),
        (replace(LIKERT, settings=Undescribed), "points does not say"),
        (replace(LIKERT, judges="none", asks=False), "if it only asks"),
        (replace(LIKERT, output=Output("point", "x")), "JSON has"),
        (replace(LIKERT, output=Output("string", "x", "y")), "type string"),
        (
            replace(LIKERT, options=lambda given: {**LIKERT.options(given), "x": {1}}),
            "options are no JSON",
        ),
        (replace(LIKERT, form=telling), "tells who wrote what"),
        (
            replace(
                LIKERT, form=lambda asked, texts: replace(LIKERT.form(asked, texts), control="dial")
            ),
            "the pages know",
        ),
        (
            replace(
                LIKERT, form=lambda asked, texts: replace(LIKERT.form(asked, texts), prompt="?")
            ),
            "the question it was given",
        ),
        (replace(LIKERT, parse=lambda asked, value: value), "for an answer"),
        (replace(LIKERT, parse=lambda asked, value: int(value)), "must raise AnswerError"),
        (
            replace(LIKERT, parse=lambda asked, value: LIKERT.parse(asked, value) % 7 + 1),
            "stores",
        ),
        (replace(LIKERT, draw=lambda *_: 99), "refuses its own answer"),
        (replace(LIKERT, draw=lambda *_: next(COUNTER) % 7 + 1), "same generator"),
        (replace(LIKERT, rows=lambda asked, value: ()), "0 rows for 1"),
        (replace(LIKERT, rows=lambda asked, value: (("9", 1.0),)), "rows for"),
        (replace(LIKERT, rows=lambda asked, value: (("1", 99.0),)), "outside of its scale"),
        (replace(LIKERT, rows=lambda asked, value: (("1", float("nan")),)), "row with nan"),
        (replace(LIKERT, scale=lambda asked: {"low": 1}), "as `kind`"),
    ],
)
def test_instruments(wrong: Instrument, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_instrument(replace(wrong, sample={}) if wrong.settings is Undescribed else wrong)


class PanelSettings(RecruiterSettings):
    """A panel of our own."""

    kind: Literal["panel"] = "panel"


class Careless(PanelSettings):
    room: str = "12"


class Panel(Link):
    """Pays in cents that there are not, or forgets people."""

    def bonus_cost(self, study: Study, amount: Decimal, people: int) -> Cost:
        return Cost(people, amount, Decimal("0.001"), "USD")


class Forgetting(Link):
    def estimate(self, study: Study, places: int) -> Cost:
        return super().estimate(study, places - 1)


def opens(made: Any) -> Callable[[Study, Access], Any]:
    return lambda study, access: made


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            RecruiterKind("panel", PanelSettings, opens(Link("panel")), (), "Ask."),
            "nobody would ever be let in",
        ),
        (
            RecruiterKind("panel", PanelSettings, opens(Link("panel")), ("a", "a")),
            "same parameter twice",
        ),
        (RecruiterKind("panel", Careless, opens(Link("panel"))), "room does not say"),
        (RecruiterKind("panel", PanelSettings, opens(Link())), "calls itself link"),
        (RecruiterKind("panel", PanelSettings, opens(Panel("panel"))), "whole cents"),
        (RecruiterKind("panel", PanelSettings, opens(Forgetting("panel"))), "is for 6, not 7"),
    ],
)
def test_recruiters(wrong: RecruiterKind, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_recruiter(wrong)


def test_a_recruiter_that_behaves() -> None:
    check_recruiter(RecruiterKind("panel", PanelSettings, opens(Link("panel"))))
