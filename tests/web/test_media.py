"""Pictures and sounds of items: read with the study, served by what they hold, told by words."""

from __future__ import annotations

import json
import struct
import wave
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from dialens.base import DialensError
from dialens.studies import Study, load_study, preview
from dialens.studies.simulation import Population, World
from dialens.studies.store import Store
from dialens.web import Site, unserved_versions
from tests.studies.test_translation import GERMAN
from tests.web.conftest import KEY, PASSWORD, Make, Visit, tea


def picture(path: Path, shade: int) -> None:
    """A square of one grey, as PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 80, 80, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([shade]) * 80) * 80)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)


def sound(path: Path, pitch: float) -> None:
    """Half a second of a tone, as WAV."""
    tone = np.sin(np.arange(4_000) / 8_000 * 2 * np.pi * pitch) * 8_000
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(tone.astype("<i2").tobytes())


MEDIA = [
    {"file": "cat.png", "alt": "A grey cat"},
    {"file": "low.wav", "alt": "The first voice", "of": "low"},
    {"file": "high.wav", "alt": "The second voice", "of": "high"},
]


def with_media(folder: Path, media: list[dict[str, str]] = MEDIA, **changes: Any) -> Path:
    """A study of two voices that speak about a picture."""
    picture(folder / "cat.png", 120)
    sound(folder / "low.wav", 220)
    sound(folder / "high.wav", 880)
    item = {
        "id": "cat",
        "context": ["What is this?"],
        "responses": {"low": "", "high": ""},
        "media": media,
    }
    path = folder / "study.yaml"
    made = tea(factors={}, items={"inline": [item]}, **changes)
    path.write_text(json.dumps(made, indent=1))  # JSON is YAML
    return path


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return load_study(with_media(tmp_path))


def test_what_a_file_holds_is_part_of_the_study(study: Study, tmp_path: Path) -> None:
    assert Study.from_definition(study.definition).hash == study.hash
    picture(tmp_path / "cat.png", 121)
    assert load_study(tmp_path).hash != study.hash


def test_a_preview_tells_media_by_their_words(study: Study) -> None:
    text = "\n".join(preview(study, "all"))
    assert "(image: A grey cat)" in text
    assert "(audio: The first voice)" in text


def test_the_page_shows_them_and_tells_nothing_of_the_agent(
    make: Make, visit: Visit, study: Study, tmp_path: Path
) -> None:
    person = visit(make(study, folder=tmp_path))
    page = person.answer(person.answer(person.begin()))
    names = [one.name for one in study.items[0].media]
    assert f'<img src="/media/{names[0]}" alt="A grey cat">' in page.html
    for name in names[1:]:
        assert f'src="/media/{name}"' in page.html
    for told in ("cat.png", "low.wav", "high"):
        assert told not in page.html
    assert person.finish(page)


def test_files_are_served_by_name_whole_and_in_part(
    make: Make, visit: Visit, study: Study, tmp_path: Path
) -> None:
    client = visit(make(study, folder=tmp_path)).client
    by_file = {one.file: one.name for one in study.items[0].media}
    whole = client.get(f"/media/{by_file['low.wav']}")
    assert whole.content == (tmp_path / "low.wav").read_bytes()
    assert whole.headers["content-type"] == "audio/wav"
    assert "immutable" in whole.headers["cache-control"]
    part = client.get(f"/media/{by_file['low.wav']}", headers={"range": "bytes=0-9"})
    assert (part.status_code, part.content) == (206, whole.content[:10])
    assert client.get(f"/media/{by_file['cat.png']}").headers["content-type"] == "image/png"
    assert "media-src 'self'" in whole.headers["content-security-policy"]


@pytest.mark.parametrize("name", ["cat.png", "study.yaml", "..%2fstudy.yaml", "%2e%2e/study.yaml"])
def test_nothing_else_is_served(
    make: Make, visit: Visit, study: Study, tmp_path: Path, name: str
) -> None:
    assert visit(make(study, folder=tmp_path)).client.get(f"/media/{name}").status_code == 404


@pytest.mark.parametrize(
    ("media", "said"),
    [
        ({"file": "dog.png", "alt": "A dog"}, "dog.png does not exist"),
        ({"file": "study.yaml", "alt": "A study"}, "none of .png, .jpg"),
        ({"file": "../cat.png", "alt": "A cat"}, "does not lie beside the study"),
        ({"file": "/etc/hosts", "alt": "Hosts"}, "does not lie beside the study"),
        ({"file": "cat.png", "alt": "A cat", "of": "mid"}, "'mid', which is no response"),
        ({"file": "cat.png"}, "alt"),
        ({"file": "cat.png", "alt": ""}, "alt"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_its_line(
    tmp_path: Path, media: dict[str, str], said: str
) -> None:
    path = with_media(tmp_path, [media])
    with pytest.raises((DialensError, ValidationError), match=said) as caught:
        load_study(path)
    assert str(caught.value).startswith(f"{path}:")


def test_a_translation_may_have_a_voice_of_its_own(
    make: Make, visit: Visit, tmp_path: Path
) -> None:
    """The same item with another file and other words; what is stored is the same."""
    path = with_media(tmp_path, languages=["en", "de"])
    sound(tmp_path / "tief.wav", 200)
    item = json.loads(path.read_text())["items"]["inline"][0]
    words = ("Eine graue Katze", "Die erste Stimme", "Die zweite Stimme")
    files = ("cat.png", "tief.wav", "high.wav")
    item["media"] = [
        one | {"alt": alt, "file": file}
        for one, alt, file in zip(item["media"], words, files, strict=True)
    ]
    german = {name: GERMAN[name] for name in ("title", "qualities", "consent", "instructions")}
    (tmp_path / "study.de.yaml").write_text(json.dumps(german | {"items": {"inline": [item]}}))
    study = load_study(path)
    assert Study.from_definition(study.definition, study.operation) == study
    site = make(study, folder=tmp_path)
    own, other = visit(site), visit(site, seed=1)
    shown = own.answer(own.answer(own.begin()))
    gezeigt = other.answer(other.answer(other.begin("/?lang=de")))
    (low,) = (one.name for one in study.items[0].media if one.of == "low")
    (tief,) = (one.name for one in study.said_in("de").items[0].media if one.of == "low")
    assert (low in shown.html, tief in shown.html) == (True, False)
    assert (low in gezeigt.html, tief in gezeigt.html) == (False, True)
    assert 'alt="A grey cat"' in shown.html
    assert 'alt="Eine graue Katze"' in gezeigt.html
    for name, file in ((low, "low.wav"), (tief, "tief.wav")):
        assert own.client.get(f"/media/{name}").content == (tmp_path / file).read_bytes()
    assert own.finish(shown)
    assert other.finish(gezeigt)


def test_an_earlier_version_shows_its_own_picture_or_none(tmp_path: Path, visit: Visit) -> None:
    """A picture that was replaced is never shown to people of the version before."""
    with Store.open(f"sqlite:///{tmp_path / 'both.db'}", secrets=KEY) as store:
        first = load_study(with_media(tmp_path))
        person = visit(Site.of(first, store, password=PASSWORD, folder=tmp_path))
        person.answer(person.begin())
        second = load_study(with_media(tmp_path, version=2, title="Again"))
        name = first.items[0].media[0].name
        kept = visit(Site.of(second, store, password=PASSWORD, folder=tmp_path)).client
        assert kept.get(f"/media/{name}").content == (tmp_path / "cat.png").read_bytes()
        assert list(unserved_versions(store, second, tmp_path)) == []
        picture(tmp_path / "cat.png", 7)
        third = load_study(tmp_path)
        client = visit(Site.of(third, store, password=PASSWORD, folder=tmp_path)).client
        assert client.get(f"/media/{name}").status_code == 404
        (said,) = unserved_versions(store, third, tmp_path)
        assert "Version 1 cannot be finished here, and 1 person is under way in it" in said
        assert "cat.png has changed" in said


def test_simulated_people_tell_voices_apart(study: Study) -> None:
    world = World(study, Population(preferences={"low": 40.0}), seed=1)
    from dialens.studies.simulation._people import _known

    item = study.items[0]
    low, high = (world.opinion("coherence", *_known(item, one)) for one in item.candidates)
    assert low - high > 20
