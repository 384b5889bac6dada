"""Comparisons and metrics as pages: what they say, where their links lead, what they refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import polars as pl
import pytest
from starlette.testclient import TestClient

from dialens.web.workbench import workbench_app
from dialens.web.workbench._parting_part import _heads
from dialens.workbench import Column, View, Workbench
from tests.web.workbench.conftest import BASE
from tests.workbench.folders import copied, dialens, write_chats
from tests.workbench.rated import CURT


def browser(folder: Path, cache: Path) -> Iterator[TestClient]:
    workbench = Workbench.open(folder, cache=cache)
    app = workbench_app(workbench)
    client = TestClient(app, base_url=BASE)
    assert client.get(app.address).status_code == 200
    yield client
    workbench.close()


@pytest.fixture(scope="module")
def client(made_rated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A browser that has the folder open; nobody changes it."""
    yield from browser(made_rated, tmp_path_factory.mktemp("indexes"))


def text(html: str) -> str:
    """The words of a page, in one line."""
    main = html[html.index("<main") : html.index("</main>")]
    bare = re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", main, flags=re.DOTALL))
    return re.sub(r"\s+", " ", unescape(bare))


def links(html: str, path: str) -> list[dict[str, list[str]]]:
    """The queries of all links to a page, but for those of the navigation."""
    html = html[html.index("<main") :]
    found = [unescape(one) for one in re.findall(r'href="([^"]*)"', html)]
    return [parse_qs(urlsplit(one).query) for one in found if urlsplit(one).path == path]


def comparison(client: TestClient, **asked: str) -> str:
    answer = client.get(f"/comparison?{urlencode({'name': 'compared', **asked})}")
    assert answer.status_code == 200, answer.text
    return answer.text


def test_the_list_begins_with_the_number_and_the_first_sentences(client: TestClient) -> None:
    page = client.get("/comparisons")
    assert "1 comparison, the newest first." in text(page.text)
    assert "long writes longer turns than" in text(page.text)
    assert links(page.text, "/comparison") == [{"name": ["compared"]}]
    assert "<img src=x" not in page.text


def test_a_comparison_begins_with_its_answer_and_draws_every_row(client: TestClient) -> None:
    html = comparison(client)
    said = text(html)
    assert said.split("compared ", 1)[1].startswith("long writes longer turns than")
    rows = re.findall(r"<tr data-row.*?</tr>", html, re.DOTALL)
    assert len(rows) == 6  # two metrics, three pairs
    drawn = [row for row in rows if 'class="dot"' in row]
    assert len(drawn) == 3  # nobody asks anything, so questions have no effect size
    assert "3 without an effect size are not drawn" in said
    assert "<script>alert" not in html
    assert "style=" not in html


def test_rows_are_filtered_and_sorted(client: TestClient) -> None:
    def labels(**asked: str) -> list[str]:
        html = comparison(client, **asked)
        found = re.findall(r'data-open[^>]*>([^<]*)<span class="unseen">, ([^<]*)</span>', html)
        return [f"{unescape(label)}: {unescape(pair)}" for label, pair in found]

    pair = urlencode({"a": "long", "b": "other"})
    assert labels(pair=pair, sort="name") == [
        "Questions: long − other",
        "Words a turn: long − other",
    ]
    assert labels(family="Words and phrases", pair=pair)[0] == "Words a turn: long − other"
    assert labels(family="No such family") == []
    clear = labels(clear="1")
    assert f"Words a turn: long − {CURT}" in clear
    assert all(label.startswith("Words a turn") for label in clear)
    assert labels(sort="p")[0] == f"Words a turn: long − {CURT}"
    assert labels(sort="drop table") == labels()
    assert "Nothing fits" in text(comparison(client, family="No such family"))


def test_a_row_leads_to_the_openings_that_make_its_difference(client: TestClient) -> None:
    html = comparison(client, metric="length", a="long", b=CURT)
    said = text(html)
    assert "Over 12 shared openings, long is on average 6.2 above" in said
    assert "11 of them go that way. The tested difference is 6.2." in said
    assert "The first 10 openings of 12 make 100 % of the difference; were all alike" in said
    assert "16 %" in said  # 12 of 75
    assert "−3 %" in said  # −2 of 75
    first = links(html, "/side-by-side")[0]
    assert first["agent"] == ["long", CURT]
    assert first["metric"] == ["length"]
    assert first["opening"][0].isdigit()
    assert len(links(html, "/side-by-side")) == 11
    together = client.get("/side-by-side", params=first)
    assert together.status_code == 200
    assert "Story 11: <script>alert(11)</script>" in text(together.text)
    assert "Story 11: <script>alert(11)</script>" in said


def test_without_pairs_it_leads_to_each_agents_dialogues(client: TestClient) -> None:
    html = comparison(client, metric="length", a="long", b="other")
    said = text(html)
    assert "long’s 12 dialogues are on average 2.4 above the mean of other" in said
    assert re.search(r"other’s dialogues .* Something else, 0 4\.0 −3\.4 18 %", said)
    assert links(html, "/dialogue")[0]["dialog"] == ["long-11"]
    first, second = (View.parse(query) for query in links(html, "/conversations")[-2:])
    assert (first.level, first.sort, first.descending) == ("dialog", "length", True)
    assert first.choices["agent"] == ("long",)
    assert (second.choices["agent"], second.descending) == (("other",), False)
    for query in links(html, "/conversations")[-2:]:
        assert client.get("/conversations", params=query).status_code == 200


def test_rows_that_are_not_there_are_said(client: TestClient) -> None:
    said = text(comparison(client, metric="length", a="long", b="nobody"))
    assert "This comparison has no such row." in said
    assert client.get("/comparison?name=scores").status_code == 404
    assert "Did you mean compared?" in client.get("/comparison?name=compare").text
    assert client.get("/comparison").status_code == 400


def test_metrics_are_listed_by_family_with_what_was_said(client: TestClient) -> None:
    html = client.get("/metrics").text
    said = text(html)
    assert "2 metrics in 1 family; 2 columns of what people and judges said" in said
    assert html.count('class="histogram"') == 4
    names = [query["name"] for query in links(html, "/metric")]
    assert names == [["question"], ["length"], ["people:warmth"], ["judge:j1:warmth"]]


def test_a_metric_has_its_card_its_spread_and_its_ends(client: TestClient) -> None:
    html = client.get("/metric?name=length").text
    said = text(html)
    assert "32 turns from 1.0 to 13.0, on average" in said
    assert f"highest for long (7.4), lowest for {CURT} (1.2)" in said
    for fact in ("Meaning", "Range", "Needs", "Licence", "Signature length|v", "Run scores"):
        assert fact in said
    first = links(html, "/dialogue")
    longest = next(query for query in first if query["dialog"] == ["long-11"])
    assert longest["turn"] == ["1"]
    assert client.get("/dialogue", params=longest).status_code == 200
    answer = client.get("/conversations?level=turn&of=length&low=12&high=&sort=-length")
    assert "3 turns of 64" in text(answer.text)
    at_dialogs = text(client.get("/metric?name=length&level=dialog").text)
    assert "32 conversations from 1.0 to 13.0" in at_dialogs
    assert "the mean over a conversation’s rated turns is its rating" in at_dialogs
    assert "Conversations, within agents 24 12" in at_dialogs


def test_where_the_metric_says_yes_and_people_no(client: TestClient) -> None:
    html = client.get("/metric?name=length&against=people:warmth").text
    said = text(html)
    assert "24 rated turns, within agents" in said
    part = said[said.index("Words a turn high, people low") :]
    assert re.search(r"long-10, turn 1 long (well ?)+ 12\.0 above 94 % 1\.0 \(2 ratings\) ab", part)
    assert "People high, Words a turn low" in part
    other = text(client.get("/metric?name=length&against=judge:j1:warmth").text)
    assert "Words a turn high, warmth (j1) low" in other
    unknown = client.get("/metric?name=length&against=nobody")
    assert "warmth (people)" in text(unknown.text)


@pytest.mark.parametrize("better", [True, False, None])
def test_only_a_metric_with_a_better_end_says_yes(better: bool | None) -> None:
    metric = Column("m", "Tact", "metric", "", "m0", better=better)
    people = Column("people:x", "x (people)", "people", "", "l0")
    assert _heads(metric, people)[0] == (
        "Tact high, people low" if better is None else "The metric says yes, people no"
    )


def test_judges_are_shown_like_metrics(client: TestClient) -> None:
    said = text(client.get("/metric?column=judge:j1:warmth").text)
    assert "On average the judge is 0.75 above people (95 % interval 0.64 to 0.86)" in said
    assert "warmth (j1) high, people low" in said
    assert text(client.get("/metric?name=people:warmth").text).count("warmth (j1)") > 0


def test_metrics_that_are_not_there_are_said(client: TestClient) -> None:
    answer = client.get("/metric?name=lenght")
    assert answer.status_code == 404
    assert "Did you mean length?" in unescape(answer.text)
    assert client.get("/metric?name=length&level=paragraph").status_code == 200
    hostile = client.get(f"/metric?{urlencode({'name': CURT})}")
    assert hostile.status_code == 404
    assert "<img src=x" not in hostile.text


def test_stale_and_damaged_comparisons_say_why(made_rated: Path, tmp_path: Path) -> None:
    folder = copied(made_rated, tmp_path)
    table = pl.read_parquet(folder / "scores" / "scores.parquet")
    table.with_columns(pl.col("value") + 1).write_parquet(folder / "scores" / "scores.parquet")
    (folder / "broken").mkdir()
    for name in ("run.json", "comparison.parquet"):
        (folder / "broken" / name).write_bytes((folder / "compared" / name).read_bytes())
    (folder / "broken" / "comparison.parquet").write_bytes(b"nothing")
    for client in browser(folder, tmp_path / "indexes"):
        said = text(client.get("/comparisons").text)
        assert "stale" in said
        assert "is not a table that `dialens compare` wrote" in said
        one = text(client.get("/comparison?name=compared").text)
        assert "Stale." in one
        assert "dialens compare" in one
        assert client.get("/comparison?name=broken").status_code == 422


def test_without_a_comparison_there_is_a_quick_look_and_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    write_chats(folder / "chats.jsonl")
    quick = ("--models", "none", "--no-cache", "--metrics", "question,length")
    dialens(folder, "score", "chats.jsonl", "-o", "out", *quick)
    for client in browser(folder, tmp_path / "indexes"):
        said = text(client.get("/comparisons").text)
        assert "Nothing has been compared yet." in said
        assert "not tested" in said
        assert re.search(r"dialens compare \S*out", said)
        assert "asking 8 100 %" in said
        assert "telling 8 0 %" in said
        assert "Nobody has rated" in text(client.get("/metric?name=length").text)
