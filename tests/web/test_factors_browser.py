"""Tags, numbers told by a note, and one's own answer first, in a real browser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.web.conftest import Hosting, Window, tea
from tests.web.test_browser import PHONE, answers, begin, fill, onward, wide

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

STUDY: dict[str, Any] = {
    "items": {
        "inline": [
            {
                "id": f"i{n}",
                "context": ["My basil keeps dying."],
                "responses": {"a": "Check the soil.", "b": "Buy a new one."},
                "variants": {"a": {"long": "Check the soil. " * 4}, "b": {"long": "Buy. " * 9}},
            }
            for n in range(2)
        ]
    },
    "qualities": {
        "helpful": {"question": "How helpful?", "instrument": {"kind": "likert", "points": 7}},
        "better": {"question": "Which is better?", "instrument": "pairwise"},
    },
    "factors": {
        "anchor_value": {
            "levels": [
                {"name": "two", "value": 2, "note": "Another rater gave {value}."},
                {"name": "six", "value": 6, "note": "Another rater gave {value}."},
            ],
            "assign": "within",
        },
        "tag": [
            {"name": "person", "note": "Written by a person"},
            {"name": "ai", "note": "Written by an AI"},
        ],
        "variant": ["plain", "long"],
        "own_answer_first": {"levels": ["yes", "no"]},
    },
    "presentation": {"responses": "swap"},
}


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_everything_that_was_declared_stands_on_the_page(
    host: Hosting, window: Window, options: dict[str, Any], tmp_path: Path
) -> None:
    server = host(tea(targets=1, **STUDY))
    pages = [window(server.url, **options) for _ in range(2)]
    for page in pages:
        begin(page)
        page.get_by_text("I have read this").click()
        while not page.locator(".the-code").count():
            assert wide(page) <= 0
            if page.get_by_text("what would you reply?").count():
                assert not page.locator(".response").count()
                page.screenshot(path=tmp_path / "own.png", full_page=True)
            elif page.locator(".response").count():
                tags = page.locator(".response .tag").all_inner_texts()
                assert sorted(tags) == ["Written by a person", "Written by an AI"]
                assert page.get_by_text("Another rater gave").count() == 2
                page.screenshot(path=tmp_path / "rating.png", full_page=True)
            fill(page)
            onward(page)
    told = answers(server).filter(pl.col("kind") == "rating")
    own = told.filter(pl.col("field") == "own_answer")
    assert own["rater"].n_unique() == 1
    assert own.height == 2
    presented = [json.loads(text) for text in told["presented"]]
    assert {one.get("order_shown") for one in presented} >= {1, 2}
