"""Every recipe can be imported and says what it takes."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

import recipes

ROOT = Path(recipes.__file__).parent
COMMANDS = sorted(
    ".".join(file.relative_to(ROOT.parent).with_suffix("").parts)
    for file in ROOT.rglob("*.py")
    if "def main(" in file.read_text("utf-8")
)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_help(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        import_module(name).main()
    assert end.value.code == 0
    assert "usage:" in capsys.readouterr().out
