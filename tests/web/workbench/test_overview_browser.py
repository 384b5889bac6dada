"""The overview in a real browser: light and dark, on a desk and a phone, with keys."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from dialens.web._serving import PatientProtocol
from dialens.web.workbench import workbench_app
from dialens.workbench import Workbench
from tests.accessibility import ALL, Inspection
from tests.web.conftest import Window, running
from tests.workbench.folders import write_chats


def test_the_overview_is_readable_by_everybody(project: Path, window: Window) -> None:
    write_chats(project / "chats.jsonl", more=1)
    hostile = """<img src=x onerror=alert(1)> "'&amp; %2e#?x=1"""
    (project / "compared").rename(project / hostile)
    (project / ("long_" * 30)).mkdir()
    write_chats(project / ("long_" * 30) / ("name_" * 30 + ".jsonl"))
    workbench = Workbench.open(project)
    app = workbench_app(workbench)
    inspect = Inspection()
    with running(app, PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}{app.address}", expected=("404 (Not Found)",))
        inspect(page, "workbench-overview", ALL)
        assert urlsplit(page.url).query == "", "the address bar does not keep the token"
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.set_viewport_size({"width": 1280, "height": 900})

        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keys")
        dialog.get_by_text("Show the keys").wait_for()
        inspect(page, "workbench-keys")
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        page.get_by_role("button", name="Keys").click()
        dialog.wait_for()
        page.keyboard.press("Enter")
        dialog.wait_for(state="hidden")

        page.get_by_role("link", name=f"Open the report of {hostile}").click()
        page.get_by_role("heading", name="Comparison: out").wait_for()
        page.go_back()
        page.get_by_role("link", name="Open the report of out", exact=True).click()
        page.get_by_role("heading", name="What stands out").or_(
            page.get_by_role("heading", name="Agents")
        ).first.wait_for()
        assert page.evaluate("self.origin") == "null"
        page.goto(f"http://127.0.0.1:{port}/nowhere")
        page.get_by_text("Nothing is found at this address").wait_for()
        inspect(page, "workbench-sorry")
    workbench.close()
    inspect.done()
