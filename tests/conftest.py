"""What every test may ask for: a real browser and, where it is there, the shared data.

A test that takes `chromium` or `shared_data` gets the marker of the same purpose by itself.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# How long an example takes says something about the machine, not about the code.
settings.register_profile("dialens", deadline=None)
settings.load_profile("dialens")

MARKER_OF_FIXTURE = {"chromium": "browser", "shared_data": "shared"}

# A test page gets nothing from outside, and the browser itself calls nobody.
CHROMIUM_FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in MARKER_OF_FIXTURE:
                item.add_marker(MARKER_OF_FIXTURE[fixture])
        if item.get_closest_marker("shared") and not SHARED_DATA.is_dir():
            item.add_marker(pytest.mark.skip(reason="there is no ../shared/data here"))
        if item.get_closest_marker("gpu") and not has_card():
            item.add_marker(pytest.mark.skip(reason="PyTorch sees no graphics card here"))


@functools.cache
def has_card() -> bool:
    """Whether tests can run on a graphics card."""
    from dialens.models import chosen_device

    return chosen_device("auto") == "cuda"


@pytest.fixture(params=[pytest.param("card", marks=pytest.mark.gpu), "stand-in"])
def card(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A graphics card; where there is none, the same test is rehearsed with a stand-in."""
    if request.param == "stand-in":
        if has_card():
            pytest.skip("there is a graphics card here")
        from tests import stand_in_card

        stand_in_card.install(monkeypatch)
    kind: str = request.param
    return kind


def component_missing(what: str, remedy: str) -> NoReturn:
    """Skip on somebody's laptop, fail on CI: a component that CI lost must not go unnoticed."""
    message = f"{what} is missing: {remedy}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture
def installed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., None]]:
    """`installed(group, "module:object")`: an entry point, as an installed package brings it."""
    from dialens.agents._registry import AGENT_KINDS
    from dialens.corpus.readers import READERS
    from dialens.metrics._registry import METRICS
    from dialens.studies.instruments._registry import INSTRUMENTS
    from dialens.studies.recruiters._registry import RECRUITERS

    registries = (METRICS, AGENT_KINDS, READERS, INSTRUMENTS, RECRUITERS)

    def install(group: str, value: str, name: str = "theirs") -> None:
        folder = tmp_path_factory.mktemp("site")
        about = folder / "theirs-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        monkeypatch.syspath_prepend(str(folder))
        for registry in registries:
            registry.forget()

    yield install
    for registry in registries:
        registry.forget()


@pytest.fixture
def without_traits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As where the package `dialens-traits` is not installed."""
    from dialens.models import _places

    really = _places._installed
    absent = "dialens_traits"
    monkeypatch.setattr(_places, "_installed", lambda name: () if name == absent else really(name))
    _places.shipped_places.cache_clear()
    yield
    _places.shipped_places.cache_clear()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the working tree."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the shared data sets."""
    return SHARED_DATA


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, headless; open a page with `chromium.new_page()`."""
    from playwright.sync_api import sync_playwright

    names = [os.environ["CHROMIUM"]] if os.environ.get("CHROMIUM") else BROWSERS
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        component_missing(
            f"Chromium ({', '.join(names)})",
            "`make test` installs it where it may; or apt-get install chromium; "
            "or set CHROMIUM to the path of the program",
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()
