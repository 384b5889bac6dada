"""What somebody sees and writes who uses dialens from Python."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import dialens
from dialens.cli._app import app
from dialens.corpus import Dialogue, Rating, Turn, demo_path, tables
from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet, Scores
from dialens.statistics import fit_mixed, measure_agreement

_LINES = 40
"""A result shows itself on less than a screen."""


def _cells(html: str) -> list[str]:
    """The text of a table's cells, as a browser would see it."""
    cells: list[str] = []

    class Reader(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.inside = tag in ("td", "th")
            if self.inside:
                cells.append("")

        def handle_endtag(self, tag: str) -> None:
            self.inside = False

        def handle_data(self, data: str) -> None:
            if self.inside:
                cells[-1] += data

    Reader().feed(html)
    return cells


@pytest.fixture(scope="module")
def corpus() -> dialens.Corpus:
    return dialens.read(demo_path())


@pytest.fixture(scope="module")
def scores(corpus: dialens.Corpus) -> Scores:
    return dialens.score(corpus, metrics=["surface", "emotion", "style"])


def test_a_corpus_says_what_is_in_it(corpus: dialens.Corpus) -> None:
    turns = corpus.turns.collect()
    said = repr(corpus)
    assert "\n" not in said
    assert f"{turns.height:,} turns" in said
    assert f"{turns['dialog'].n_unique():,} dialogues" in said
    cells = _cells(corpus._repr_html_())
    assert set(turns["agent"]) <= set(cells)


def test_scores_show_agents_and_the_first_metrics(scores: Scores) -> None:
    said = repr(scores)
    agents = scores.wide("agent")
    assert said.count("\n") < 12
    assert f"{len(scores.metrics)} metrics of {agents.height} agents" in said
    assert all(agent in said for agent in agents["agent"].head(6))
    assert "question" in _cells(scores._repr_html_())


def test_names_of_agents_are_never_html() -> None:
    talks = [Dialogue("s", "<script>x</script>", "d", [Turn("B", "agent", "Hello")])]
    corpus = dialens.Corpus.of(talks)
    shown = dialens.score(corpus, metrics=["length"])._repr_html_() + corpus._repr_html_()
    assert "<script" not in shown
    assert "<script>x</script>" in _cells(shown)


def test_scores_without_agents_still_show_themselves(corpus: dialens.Corpus) -> None:
    said = repr(dialens.score(corpus, metrics=["length"], levels=["turn"]))
    assert said.startswith("Scores: 1 metric")
    assert "\n" not in said


def test_results_of_statistics_are_short(corpus: dialens.Corpus) -> None:
    rows: list[dict[str, Any]] = [
        {"dialog": f"d{item}", "rater": f"r{rater}", "value": float((item * 2 + rater) % 5)}
        for item in range(12)
        for rater in range(4)
    ]
    table = pl.DataFrame(rows).with_columns(quality=pl.lit("tone"))
    fit = fit_mixed(table, "value ~ 1 + (1 | rater) + (1 | dialog)")
    said = repr(fit)
    assert said.count("\n") < _LINES
    assert "48 observations" in said
    assert {"rater", "dialog", "residual"} <= set(_cells(fit._repr_html_()))
    mean = sum(row["value"] for row in rows) / len(rows)  # balanced: the intercept is the mean
    assert f"{mean:.3f}" in said

    found = measure_agreement(_ratings(rows))
    assert repr(found).count("\n") < _LINES
    assert "ICC(2,1)" in repr(found)
    assert "ICC(2,1)" in _cells(found._repr_html_())


def _ratings(rows: list[dict]) -> pl.DataFrame:
    talks = [
        Dialogue(
            "s",
            "bot",
            name,
            [Turn("B", "agent", "Hello")],
            [
                Rating("tone", row["value"], level="dialog", rater=row["rater"])
                for row in rows
                if row["dialog"] == name
            ],
        )
        for name in dict.fromkeys(row["dialog"] for row in rows)
    ]
    return tables(talks).ratings


def test_saved_scores_are_what_the_commands_read(scores: Scores, tmp_path: Path) -> None:
    folder = scores.save(tmp_path / "saved")
    opened = Scores.open(folder)
    assert opened.wide("agent").equals(scores.wide("agent"))
    assert opened.dialogs.collect().equals(scores.dialogs.collect())
    assert opened.table.collect().sort(pl.all()).equals(scores.table.collect().sort(pl.all()))
    result = CliRunner().invoke(app, ["compare", str(folder), "--metrics", "length"])
    assert result.exit_code == 0, result.output
    rows = pl.read_parquet(folder / "comparison.parquet")
    by_hand = {row["agent"]: row["length"] for row in scores.wide("agent").iter_rows(named=True)}
    first = rows.row(0, named=True)
    names = {first["a"]: first["value_a"], first["b"]: first["value_b"]}
    assert all(
        value == pytest.approx(by_hand[name.rpartition("/")[2]]) for name, value in names.items()
    )


def test_saving_keeps_the_files_of_others(scores: Scores, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(dialens.DialensError, match="not written by dialens"):
        scores.save(tmp_path)
    scores.save(tmp_path, force=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_scores_write_their_report(scores: Scores, corpus: dialens.Corpus, tmp_path: Path) -> None:
    page = scores.report(tmp_path / "report.html")
    text = page.read_text(encoding="utf-8")
    assert corpus.turns.collect()["agent"][0] in text
    opened = Scores.open(scores.save(tmp_path / "saved"))
    with pytest.raises(dialens.DialensError, match=r"corpus=dialens\.read"):
        opened.report(tmp_path / "again.html")
    assert opened.report(tmp_path / "again.html", corpus=corpus).stat().st_size > 100_000


def test_one_reply_scores_as_it_does_in_a_corpus() -> None:
    said = ["My dog died.", "Oh no.", "I miss him so much."]
    reply = "I am so sorry. Do you want to talk about him?"
    names = ["surface", "emotion", "style", "random", "emotional_entropy_variation"]
    found = dialens.score_text(said, reply, metrics=names)
    roles = ["partner", "agent", "partner", "agent"]
    turns = [Turn(role, role, text) for role, text in zip(roles, [*said, reply], strict=True)]
    whole = dialens.score(
        dialens.Corpus.of([Dialogue("text", "agent", "text", turns)]), metrics=names
    )
    rows = whole.table.filter(level="turn", turn=3).collect()
    assert rows.height
    for metric, value in rows.select("metric", "value").iter_rows():
        assert found[metric] == value
    assert found["length"] == 11  # counted by hand
    assert found["question"] == 1
    assert found.reasons["emotional_entropy_variation"] == "not defined for a single turn"
    assert "\n" not in repr(found)
    assert "11.0" in _cells(found._repr_html_())


def test_messages_texts_and_turns_are_the_same_context() -> None:
    texts = ["Hi", "Hello!", "I won the race!"]
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "tool", "content": "42"},
        {"role": "user", "content": "I won the race!"},
    ]
    turns = [Turn("U", "partner", "Hi"), Turn("B", "agent", "Hello!")]
    turns.append(Turn("U", "partner", "I won the race!"))
    reply, names = "Great race, and well done!", ["style", "emotion_matching", "specificity"]
    contexts: list[Any] = [texts, messages, turns]
    values = [dialens.score_text(context, reply, metrics=names).values for context in contexts]
    assert values[0] == values[1] == values[2]
    opening = dialens.score_text("", reply, metrics=["language_style_matching"])
    assert opening["language_style_matching"] is None
    assert opening.reasons["language_style_matching"]


def test_what_cannot_be_scored_is_named() -> None:
    for context, reply, said in (
        ("Hi", "  ", "reply is empty"),
        ([{"role": "narrator", "content": "x"}], "Hi", r"context\[0\]\.role is 'narrator'"),
        ([{"role": "user", "content": 3}], "Hi", r"context\[0\]\.content"),
        ([3], "Hi", r"context\[0\]"),
        (3, "Hi", "not int"),
    ):
        with pytest.raises(dialens.DialensError, match=said):
            dialens.score_text(context, reply, metrics=["length"])  # type: ignore[arg-type]
    with pytest.raises(dialens.DialensError, match="was not scored"):
        dialens.score_text("Hi", "Hello", metrics=["length"])["joy_share"]


def test_the_default_metrics_are_those_of_score() -> None:
    scorers = ScorerSet(ScorerContext(models=ModelChoice("none")))
    resources = Resources(scorers=scorers)
    corpus = dialens.Corpus.of([Dialogue("s", "b", "d", [Turn("B", "agent", "Hello")])])
    expected = dialens.score(corpus, resources=resources).names
    assert list(dialens.score_text("Hi", "Hello", resources=resources).values) == expected


def test_a_validation_shows_the_strongest_metrics() -> None:
    texts = [
        "Yes.",
        "I see, well.",
        "That sounds hard, tell me more.",
        "Oh, how was your day then?",
    ]
    talks = [
        Dialogue(
            "s",
            f"bot{number % 2}",
            f"d{number}",
            [
                Turn("U", "partner", f"Hi {number}"),
                Turn("B", "agent", texts[number % 4] + " So." * n),
            ],
            [
                Rating("warm", float(number % 4 + n), turn=1, rater=f"r{rater}")
                for rater in range(2)
            ],
        )
        for number in range(16)
        for n in [number // 8]
    ]
    corpus = dialens.Corpus.of(talks)
    scores = dialens.score(corpus, metrics=["length", "question"])
    found = dialens.validate(corpus, scores, resamples=100)
    assert "2 metrics" in repr(found)
    assert repr(found).count("\n") < _LINES
    assert "warm (turn)" in _cells(found._repr_html_())


def test_what_is_no_corpus_and_no_text_is_refused_in_a_sentence() -> None:
    with pytest.raises(dialens.DialensError, match=r"not list\. Read .*dialens\.read"):
        dialens.score([{"messages": []}])  # type: ignore[arg-type]
    with pytest.raises(dialens.DialensError, match="The reply is a text, not NoneType"):
        dialens.score_text("hi", None)


def test_one_metric_and_one_rule_need_no_list(corpus: dialens.Corpus) -> None:
    scores = dialens.score(corpus, metrics="length")
    assert scores.names == ["length"]
    assert set(dialens.compare(scores, metrics="length")["metric"]) == {"length"}
    assert dialens.gate(scores, rules="length > 1000").passed
