"""The one registry: ours, entry points of real distributions, collisions, hints."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dialens.base import DialensError, DialensWarning, Registry


@dataclass(frozen=True)
class Taste:
    name: str


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that Python finds, as an installation would leave it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("brought_")]:
        del sys.modules[name]


def install(folder: Path, module: str, code: str, points: str) -> None:
    (folder / f"{module}.py").write_text(code)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[test.tastes]\n{points}\n")


def tastes() -> Registry[Taste]:
    ours = [Taste("sweet"), Taste("sour")]
    return Registry("taste", "test.tastes", Taste, lambda: ours, listed_by="taste list")


def test_ours_come_first_and_entry_points_bring_one_or_several(installed: Path) -> None:
    code = (
        "from tests.base.test_registry import Taste\n"
        "bitter = Taste('bitter')\nmore = [Taste('salty'), Taste('umami')]\n"
    )
    install(installed, "brought_good", code, "a = brought_good:bitter\nb = brought_good:more")
    known = tastes()
    assert list(known) == ["sweet", "sour", "bitter", "salty", "umami"]
    assert known["umami"].name == "umami"
    assert len(known) == 5
    assert "sweat" not in known


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("from tests.base.test_registry import Taste\nx = Taste('sour')\n", "'sour'"),
        ("x = 3\n", "gives int; it must give Taste"),
        ("x = 'sour'\n", "gives str; it must give Taste"),
        ("import no_such_module\n", "No module named 'no_such_module'"),
    ],
)
def test_what_cannot_be_taken_is_named_with_its_place(
    installed: Path, code: str, message: str
) -> None:
    install(installed, "brought_bad", code, "x = brought_bad:x")
    known = tastes()
    with pytest.warns(DialensWarning, match="brought_bad") as said:
        assert list(known) == ["sweet", "sour"]  # the others stay
    assert message in str(said[0].message)
    with pytest.raises(DialensError, match="brought_bad"):
        known["x"]


def test_an_unknown_name_gets_a_hint_and_the_command_that_lists() -> None:
    with pytest.raises(DialensError, match=r"There is no taste 'swete'\. Did you mean sweet\?"):
        tastes()["swete"]


def test_entry_points_are_asked_once(installed: Path) -> None:
    known = tastes()
    assert list(known) == ["sweet", "sour"]
    code = "from tests.base.test_registry import Taste\nx = Taste('late')\n"
    install(installed, "brought_late", code, "x = brought_late:x")
    assert "late" not in known
    known.forget()
    assert "late" in known
