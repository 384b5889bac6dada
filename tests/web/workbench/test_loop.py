"""From a finding to a study and back, as one person does it, with the commands as they are."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from dialens.studies.store import look_into
from tests.other_servers import free_port
from tests.web.conftest import Server, Window
from tests.web.test_browser import begin, fill, onward

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


@contextmanager
def opened(folder: Path, cache: Path) -> Iterator[str]:
    """`dialens open` as a process; gives the address that it prints."""
    command = [sys.executable, "-m", "dialens", "open", str(folder), "--no-browser"]
    told = os.environ | {"XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen(
        command, env=told, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(2)]
            yield next(line.strip() for line in lines if line.startswith("http://127.0.0.1:"))
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)


def marked(page: Page) -> list[tuple[str, str]]:
    """Conversation and turn of the rows that are flagged."""
    found = page.locator("[data-row][data-unit]").all()
    return [
        (str(row.get_attribute("data-dialog")), str(row.get_attribute("data-turn")))
        for row in found
        if row.get_attribute("data-own")
    ]


def take_part(page: Page, value: int) -> None:
    """Take the study in a browser, and answer every scale with one number."""
    begin(page)
    fill(page)
    onward(page)
    for _ in range(12):
        if page.locator(".the-code").count():
            page.close()  # what it still says is heard: the server goes later
            return
        for box in page.locator("[data-field]").all():
            box.locator(f"input[type=radio][value='{value}']").first.check(force=True)
        onward(page)
    raise AssertionError("the study does not end")


def test_a_finding_becomes_a_study_and_its_ratings_stand_beside_the_turns(
    tmp_path: Path, window: Window
) -> None:
    folder = tmp_path / "demo"
    made = [sys.executable, "-m", "dialens", "demo", "-o", str(folder)]
    subprocess.run(made, check=True, capture_output=True)
    with opened(folder, tmp_path / "cache") as address:
        page = window(address)
        page.get_by_role("link", name="Conversations").first.click()

        # Search, then sort by engagement, the highest first.
        page.get_by_label("Search in texts").fill("sorry")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=*")
        for _ in range(2):
            page.locator("thead").get_by_role("link", name=re.compile("Engagement")).click()
            page.wait_for_load_state()
            if "sort=-engagement" in page.url:
                break
        assert "sort=-engagement" in page.url

        # Three turns are flagged with keys alone.
        page.wait_for_load_state()
        for number in range(1, 4):
            page.keyboard.press("j")
            page.keyboard.press("1")
            page.wait_for_function(
                "n => document.querySelectorAll('[data-row] .flag.own').length === n", arg=number
            )
        flagged = marked(page)
        assert len(flagged) == 3

        # They become a study: what it takes is shown first, then it is written.
        base = address.partition("/?")[0]
        page.goto(f"{base}/conversations?flag=any")
        page.get_by_role("link", name="Make a study of these").click()
        page.get_by_label("Contact for participants").fill("Ada, ada@example.org")
        page.get_by_label("Name, also of the folder").fill("found")
        page.get_by_label("Raters of each item").fill("2")
        page.get_by_label("Pay an hour").fill("12")
        page.get_by_role("button", name="Show what it takes").click()
        page.wait_for_load_state()
        assert "3 of 3 replies" in page.locator(".lead").inner_text()
        assert "2 participants" in page.locator(".lead").inner_text()
        assert not (folder / "found").exists()
        page.get_by_role("button", name="Write the study").click()
        page.get_by_role("heading", name="The study is written").wait_for()
        assert "dialens study serve" in page.locator(".command").inner_text()

        # Somebody takes part, while the workbench is open.
        server = Server(folder / "found", free_port())
        try:
            take_part(window(server.url), value=4)
            dialog, turn = flagged[0]
            where = urlencode({"source": "demo.jsonl", "dialog": dialog})
            page.goto(f"{base}/dialogue?{where}#t{turn}")
            beside = page.locator(f"#t{turn}")
            assert "appropriateness" in beside.inner_text().lower()
            assert "4" in beside.inner_text()

            page.goto(f"{base}/conversations?flag=any&col=agent,people:appropriateness")
            body = page.locator("tbody").inner_text()
            assert "No rows" not in body
            assert page.locator("[data-row]").count() == 3
            assert len(re.findall(r"\b4(?:\.0+)?\b", body)) >= 3

            # Another person answers otherwise, and the mean moves without a restart.
            take_part(window(server.url), value=2)
            page.reload()
            assert re.findall(r"\b3(?:\.0+)?\b", page.locator("tbody").inner_text())

            page.goto(f"{base}/studies")
            assert "2 participants" in page.locator(".lead").inner_text()
            page.get_by_role("link", name="found", exact=True).first.click()
            assert "24 ratings by 2 raters" in page.locator(".lead").inner_text()
            page.locator("#people ~ .scroller a").first.click()
            page.get_by_role("heading", name=re.compile("Screen 1 of")).wait_for()
            page.get_by_role("button", name="Play").wait_for()  # its script has run
            page.keyboard.press("n")
            page.get_by_role("heading", name=re.compile("Screen 2 of")).wait_for()
            assert "The screen came up" in page.locator(".moments").inner_text()
            page.wait_for_load_state()  # before the servers go
        finally:
            server.kill()
    with look_into(folder / "found" / "study.db") as store:
        assert store.answers_frame(store.studies()[0].hash).height > 20
