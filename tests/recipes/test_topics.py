"""Topics fitted in miniature, from what ingest wrote."""

import sys

import pytest

from dialens.engagement.curation import ingest
from dialens.models import topics as models
from recipes import topics
from tests.engagement.dumps import comment, write_dump

pytestmark = pytest.mark.slow

THEMES = ("tea cake cup kitchen oven sugar", "bus train road city ticket station")


def test_two_themes_are_found_and_names_are_left_out(tmp_path, monkeypatch):
    records = []
    for thread in range(80):
        words = [*THEMES[thread % 2].split(), "anna"]
        for own in range(4):
            text = " ".join(words[(own + place * 3) % 7] for place in range(14))
            place = {"parent_id": f"t3_s{thread}", "link_id": f"t3_s{thread}"}
            records.append(comment(id=f"c{thread}-{own}", body=text, **place))
    ingest([write_dump(tmp_path / "RC_2006-01.zst", records)], tmp_path / "ingested")
    (tmp_path / "names.txt").write_text("Anna\nsomeone_else\n")
    monkeypatch.setattr(
        sys,
        "argv",
        [
            *("topics", "--data", str(tmp_path / "ingested"), "--out", str(tmp_path / "topics")),
            *("--names", str(tmp_path / "names.txt"), "--topics", "2", "--chunk", "30"),
            *("--min-threads", "20", "--max-share", "0.9", "--held-out", "0.2"),
        ],
    )
    topics.main()
    table = models.load(tmp_path / "topics")
    assert "anna" not in table.terms
    assert {"tea", "bus"} <= set(table.terms)
