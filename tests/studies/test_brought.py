"""Instruments and recruiters that an installed package brings: study files may name them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from dialens.base import DialensError
from dialens.studies import TEA, Study
from dialens.studies.design import RecruiterSettings
from dialens.studies.instruments import Form, Instrument, Output, Settings, instruments
from dialens.studies.recruiters import Access, Link, RecruiterKind, recruiters

Install = Callable[..., None]


class StarsSettings(Settings):
    """Inputs of a rating by stars."""

    kind: Literal["stars"] = "stars"
    most: int = 5
    """The largest number of stars."""


STARS = Instrument(
    name="stars",
    title="Stars",
    meaning="A number of stars.",
    citation="",
    settings=StarsSettings,
    output=Output("integer", "The stars given", "stars"),
    judges="one",
    seconds=3.0,
    form=lambda field, texts: Form(
        "number",
        str(field.options["prompt"]),
        attributes={"low": 1, "high": field.options["most"], "whole": True, "mode": "numeric"},
    ),
    parse=lambda field, value: int(value),
    draw=lambda generator, field, latent, noise: int(generator.integers(1, field.options["most"])),
    rows=lambda field, value: tuple((slot, float(value)) for slot in field.targets),
    scale=lambda field: {"kind": "stars", "low": 1, "high": field.options["most"]},
    asks=True,
)


class PanelSettings(RecruiterSettings):
    """A panel of our own."""

    kind: Literal["panel"] = "panel"
    room: str = "12"
    """Where people sit."""


def open_panel(study: Study, access: Access) -> Link:
    return Link(name=access.environment["PANEL"])


PANEL = RecruiterKind("panel", PanelSettings, open_panel, ("seat",), "Please ask at the desk.")

DESIGN = TEA | {
    "qualities": {"warmth": {"instrument": {"kind": "stars", "most": 7}}},
    "presentation": {"anchor_value": 4},
    "recruiter": {"kind": "panel", "room": "3"},
    "questionnaires": {
        "after": [{"questions": {"fun": {"kind": "stars", "prompt": "Was it fun?", "most": 3}}}]
    },
}


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A Python in which a package is installed that brings both."""
    about = tmp_path / "site" / "theirs-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    points = f"[dialens.instruments]\nstars = {__name__}:STARS\n"
    points += f"[dialens.recruiters]\npanel = {__name__}:PANEL\n"
    (about / "entry_points.txt").write_text(points)
    here = [str(about.parent), str(Path(__file__).parents[2]), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(here), "PANEL": "panel"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def written(folder: Path, **changes: object) -> Path:
    path = folder / "study.yaml"
    path.write_text(json.dumps(json.loads(json.dumps(DESIGN)) | changes, indent=1))  # JSON is YAML
    return path


def test_a_study_file_names_what_another_package_brings(
    process: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    file = written(tmp_path)
    checked = process("-m", "dialens", "study", "check", str(file))
    assert checked.returncode == 0, checked.stderr
    assert "warmth (stars)" in checked.stdout
    costs = process("-m", "dialens", "study", "recruit", "estimate", str(file))
    assert "on panel" in costs.stdout, costs.stderr
    schema = json.loads(process("-m", "dialens", "study", "schema").stdout)
    kinds = schema["properties"]["recruiter"]["discriminator"]["mapping"]
    assert {"link", "panel", "prolific"} <= set(kinds)
    assert schema["$defs"]["StarsQuestion"]["properties"]["most"]["default"] == 5


def test_a_slip_in_their_settings_is_said_in_our_words(
    process: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    file = written(tmp_path, recruiter={"kind": "panel", "rooom": "3"})
    said = process("-m", "dialens", "study", "check", str(file)).stderr
    assert "Did you mean room?" in " ".join(said.split())
    file = written(tmp_path, qualities={"warmth": {"instrument": "starz"}})
    said = process("-m", "dialens", "study", "check", str(file)).stderr
    assert "Did you mean stars?" in " ".join(said.split())


def test_they_are_listed(installed: Install) -> None:
    installed("dialens.instruments", f"{__name__}:STARS")
    assert instruments()["stars"].title == "Stars"
    installed("dialens.recruiters", f"{__name__}:PANEL")
    assert recruiters()["panel"].parameters == ("seat",)
    from dialens.web._arrival import NotRecruited, arrival

    assert arrival(PanelSettings(), {"seat": "7"}).worker == "7"
    with pytest.raises(NotRecruited, match="ask at the desk"):
        arrival(PanelSettings(), {})


def test_did_you_mean() -> None:
    with pytest.raises(DialensError, match=r"no instrument 'likrt'\. Did you mean likert\?"):
        instruments()["likrt"]
    with pytest.raises(DialensError, match=r"no recruiter 'turk'\. Did you mean mturk\?"):
        recruiters()["turk"]


def test_settings_of_another_kind_are_refused() -> None:
    with pytest.raises(DialensError, match=r'must say `kind: Literal\["row"\] = "row"`'):
        RecruiterKind("row", PanelSettings, open_panel)
