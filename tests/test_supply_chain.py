"""What dialens is made of: terms of everything that ships, bounds of dependencies, the bill."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from dialens.models import catalogue
from scripts.sbom import bill, cards, declared_licence, files_of, installed

# The first version without the hole, as the advisory states it.
MENDED = {
    "cryptography": {"CVE-2026-26007": "46.0.5", "GHSA-537c-gmf6-5ccf": "48.0.1"},
    "h11": {"CVE-2025-43859": "0.16.0"},
    "httpx": {"CVE-2021-41945": "0.23.0"},
    "jinja2": {"CVE-2024-56326": "3.1.5", "CVE-2025-27516": "3.1.6"},
    "markdown-it-py": {"CVE-2023-26302": "2.2.0"},
    "nltk": {"CVE-2025-14009": "3.9.3", "CVE-2026-62383": "3.10.2"},
    "onnx": {"CVE-2026-27489": "1.21.0", "CVE-2026-28500": "1.21.0"},
    "pyarrow": {"CVE-2026-25087": "23.0.1"},
    "pydantic": {"CVE-2024-3772": "2.4.0"},
    "pytest": {"CVE-2025-71176": "9.0.3"},
    "python-multipart": {"CVE-2026-42561": "0.0.27", "CVE-2026-53539": "0.0.30"},
    "starlette": {"CVE-2025-62727": "0.49.1", "CVE-2026-54283": "1.3.1"},
    "torch": {"CVE-2025-32434": "2.6.0", "CVE-2026-24747": "2.10.0"},
    "transformers": {"CVE-2026-4372": "5.3.0", "CVE-2026-9856": "5.10.0"},
    "urllib3": {"CVE-2026-21441": "2.6.3", "CVE-2026-44432": "2.7.0"},
}
OURS = "LicenseRef-dialens-traits-research"
OPEN = ("Apache-2.0", "CC BY 4.0", "CC0-1.0", "MIT")

# What the published schema of CycloneDX 1.6 asks of the parts that we write; the whole of it, which
# is ten times as long as the script, found no error in a bill of the development environment.
LICENCE = {
    "oneOf": [
        {
            "required": ["expression"],
            "additionalProperties": False,
            "properties": {"expression": {}},
        },
        {
            "required": ["license"],
            "properties": {
                "license": {"oneOf": [{"required": ["id"]}, {"required": ["name"]}]},
            },
        },
    ]
}
COMPONENT = {
    "type": "object",
    "required": ["type", "name"],
    "properties": {
        "type": {"enum": ["application", "library", "file", "machine-learning-model", "data"]},
        "bom-ref": {"type": "string", "minLength": 1},
        "name": {"type": "string"},
        "version": {"type": "string"},
        "scope": {"enum": ["required", "optional", "excluded"]},
        "licenses": {"type": "array", "items": LICENCE},
        "hashes": {
            "type": "array",
            "items": {
                "required": ["alg", "content"],
                "properties": {
                    "alg": {"enum": ["SHA-256"]},
                    "content": {"pattern": "^[a-f0-9]{64}$"},
                },
            },
        },
        "components": {"type": "array", "items": {"$ref": "#/definitions/component"}},
    },
}
BILL = {
    "definitions": {"component": COMPONENT},
    "type": "object",
    "required": ["bomFormat", "specVersion"],
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.6"},
        "serialNumber": {"pattern": "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
        "version": {"type": "integer", "minimum": 1},
        "components": {"type": "array", "items": {"$ref": "#/definitions/component"}},
        "dependencies": {"type": "array", "items": {"required": ["ref"]}},
    },
}


def facts_of(card: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(card.read_text("utf-8"))
    return facts


def notice_of(card: Path, repository: Path) -> str:
    """The notice of the package that a card ships with, on one line."""
    parts = card.relative_to(repository).parts
    place = repository.joinpath(*parts[:2]) if parts[0] == "packages" else repository
    return " ".join((place / "NOTICE").read_text("utf-8").split())


@pytest.fixture(scope="module")
def shipped(repository: Path) -> list[Path]:
    """Every card of the tree, whatever of it is installed."""
    places = (repository / "src", repository / "packages")
    return sorted(card for place in places for card in place.rglob("*card.json"))


def test_everything_that_is_learned_or_collected_has_a_card(shipped: list[Path]) -> None:
    described = {file for card in shipped for file in files_of(card)}
    suffixes = {".npz", ".onnx", ".bin", ".safetensors", ".parquet", ".tsv"}
    roots = {card.parents[len(card.parts) - 2 - card.parts.index("src")] for card in shipped}
    found = {file for root in roots for file in root.rglob("*") if file.suffix in suffixes}
    assert found
    assert found <= described, sorted(found - described)


def test_every_card_states_its_terms(shipped: list[Path]) -> None:
    assert {"small", "base", "ranker", "reddit_hred", "traits_openness", "dialens-demo"} <= {
        facts_of(card)["name"] for card in shipped
    }
    for card in shipped:
        facts = facts_of(card)
        assert facts.get("licence"), card
        sources = [*sources_of(facts)]
        assert sources or facts.get("source"), f"{card} does not say what it was made from"
        assert all(source.get("name") and source.get("licence") for source in sources), card


def sources_of(facts: dict[str, Any]) -> list[dict[str, Any]]:
    listed = facts.get("sources", facts.get("data", []))
    return listed if isinstance(listed, list) else []


def test_notice_names_what_ships_and_its_sources(shipped: list[Path], repository: Path) -> None:
    missing = []
    for card in shipped:
        facts, notice = facts_of(card), notice_of(card, repository)
        wanted = [facts["name"]]
        wanted += [re.split(r" \(|: |, ", one["name"])[0] for one in sources_of(facts)]
        wanted += [str(facts["base_model"]).split(" (")[0]] if "base_model" in facts else []
        wanted += re.findall(r"CC BY[\w -]*? [\d.]+|MIT", str(sources_of(facts)))
        missing += [f"{facts['name']}: {text}" for text in wanted if text not in notice]
    assert not missing
    root = (repository / "NOTICE").read_text("utf-8")
    for name in ("Vega-Lite", "Vega-Embed", "BSD-3-Clause", "D3", "axe-core", "dialens-traits"):
        assert name in root


def test_research_only_is_no_part_of_what_is_open(shipped: list[Path], repository: Path) -> None:
    """The wheels that declare Apache-2.0 hold no model fitted on research-only answers."""
    for card in shipped:
        facts = facts_of(card)
        place = card.relative_to(repository).parts
        if place[:2] == ("packages", "dialens-traits"):
            assert facts["licence"].startswith(f"{OURS}: research use only")
            assert facts["research_grade"] is True
            assert "dialens-traits" in facts["limits"]
        else:
            assert facts["licence"].startswith(OPEN), card
            if card.parent.name.startswith("traits_"):
                assert {one["licence"] for one in facts["data"]} == {"CC BY 4.0"}
    terms = (repository / "packages/dialens-traits/LICENSE").read_text("utf-8")
    assert terms.startswith(OURS)
    about = tomllib.loads(
        (repository / "packages/dialens-traits/pyproject.toml").read_text("utf-8")
    )
    assert about["project"]["license"] == OURS


@pytest.fixture(scope="module")
def asked(repository: Path) -> list[Requirement]:
    """Every requirement of the core and of every extra, our own packages left out."""
    table = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [table["dependencies"], *table["optional-dependencies"].values()]
    every = [Requirement(line) for group in groups for line in group]
    return [one for one in every if not one.name.startswith("dialens")]


def test_bounds_lie_above_known_holes(asked: list[Requirement]) -> None:
    by_name: dict[str, list[Requirement]] = {}
    for one in asked:
        by_name.setdefault(canonicalize_name(one.name), []).append(one)
    for name, holes in MENDED.items():
        assert name in by_name, f"{name} has no bound of its own"
        for one in by_name[name]:
            lowest = max(Version(s.version) for s in one.specifier if s.operator == ">=")
            for advisory, mended in holes.items():
                assert lowest >= Version(mended), f"{one} admits {advisory}, mended in {mended}"


def test_every_requirement_is_pinned_within_its_bounds(
    asked: list[Requirement], repository: Path
) -> None:
    lines = (repository / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    malformed = [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][\w.!]*", pin)]
    assert not malformed
    pinned = {canonicalize_name(pin.split("==")[0]): pin.split("==")[1] for pin in pins}
    for one in asked:
        name = canonicalize_name(one.name)
        if name in ("autogen-agentchat", "mlflow-skinny", "wandb"):  # not installed for the tests
            continue
        assert name in pinned, f"{one.name} is not in constraints.txt"
        assert one.specifier.contains(pinned[name]), f"{one} against {pinned[name]}"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return bill(installed(), now=datetime(2026, 1, 2, tzinfo=UTC))


def test_the_bill_is_what_cyclonedx_asks_for(document: dict[str, Any]) -> None:
    Draft7Validator.check_schema(BILL)
    problems = [error.message for error in Draft7Validator(BILL).iter_errors(document)]
    assert not problems
    references = [
        one["bom-ref"] for one in [*document["components"], document["metadata"]["component"]]
    ]
    assert len(references) == len(set(references))
    for link in document["dependencies"]:
        assert {link["ref"], *link["dependsOn"]} <= set(references)


def test_the_bill_lists_everything_with_its_licence(document: dict[str, Any]) -> None:
    listed = {one["name"]: one for one in document["components"]}
    for distribution in metadata.distributions():
        if canonicalize_name(distribution.name) != "dialens":
            one = listed[distribution.name]
            stated = str(one["licenses"])
            assert all(
                part in stated for part in declared_licence(distribution.metadata).split(" AND ")
            )
    assert (listed["polars"]["scope"], listed["starlette"]["scope"]) == ("required", "optional")
    assert listed["psycopg-binary"]["scope"] == "optional"  # by psycopg[binary]
    assert listed["mypy"]["scope"] == "excluded"
    assert listed["vega"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    for card in cards():
        one = listed[facts_of(card)["name"]]
        assert facts_of(card)["licence"] in str(one["licenses"])
        assert {part["name"] for part in one["components"]} == {f.name for f in files_of(card)}
    for entry in catalogue().entries:
        parts = listed[str(entry.card["name"])]["components"]
        assert {part["name"]: part["hashes"][0]["content"] for part in parts} == entry.files


def test_the_same_environment_gives_the_same_bill(document: dict[str, Any]) -> None:
    again = bill(installed(), now=datetime(2027, 1, 2, tzinfo=UTC))
    assert again["serialNumber"] == document["serialNumber"]
    assert again["metadata"]["timestamp"] == "2027-01-02T00:00:00Z"
    assert again["components"] == document["components"]
