"""Write a bill of materials of what is installed, in CycloneDX 1.6 (JSON).

python scripts/sbom.py -o dialens.cdx.json

It lists every installed package with version, licence and what it requires; the models, lexicons
and tables that ship, with the hashes of their files and the licences of their cards; and the
charting library that every report carries. `scope` says how dialens comes to a package: `required`
by the core, `optional` by an extra, `excluded` for what only tests, docs or the environment need.
"""

import argparse
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import vl_convert
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dialens
from dialens.base import sha256_file
from dialens.models import shipped_places

PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",  # file by file, no claim on the program that uses it
    "PSF-2.0",
    "Unlicense",
    "Zlib",
}

# How metadata older than SPDX expressions spells the licences above.
CLASSIFIERS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
}

_ROOT = "dialens"
_DEV = "dev"
_NONE = "none declared"
_WEIGHTS = (".bin", ".npz", ".onnx", ".safetensors")
Distributions = Mapping[str, metadata.Distribution]


def declared_licence(about: metadata.PackageMetadata) -> str:
    """The licence as an SPDX expression, from the best field there is.

    The free-text `License` field counts only as a short name: some packages put the licences
    of the compiler runtime they bundle into it, which says nothing about the package.
    """
    if "License-Expression" in about:
        return about["License-Expression"]
    classifiers = [c for c in about.get_all("Classifier") or () if c.startswith("License ::")]
    if classifiers:
        return " AND ".join(CLASSIFIERS.get(name, name) for name in classifiers)
    text = about["License"].strip() if "License" in about else ""
    return CLASSIFIERS.get(text, text) if text and "\n" not in text else _NONE


def installed() -> dict[str, metadata.Distribution]:
    """Every distribution of this environment by its name; the first that Python would find."""
    found: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions():
        found.setdefault(canonicalize_name(distribution.name), distribution)
    return dict(sorted(found.items()))


def requirements(distribution: metadata.Distribution, extras: Iterable[str]) -> list[Requirement]:
    """What a distribution asks for here, with these extras."""
    chosen = ["", *extras]
    asked = [Requirement(line) for line in distribution.requires or ()]
    return [
        one
        for one in asked
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in chosen)
    ]


def reached(there: Distributions, waiting: Iterable[Requirement]) -> set[str]:
    """What is installed and found by following the requirements from package to package."""
    seen: set[tuple[str, frozenset[str]]] = set()
    rest = list(waiting)
    while rest:
        one = rest.pop()
        key = canonicalize_name(one.name), frozenset(one.extras)
        if key not in seen and key[0] in there:
            seen.add(key)
            rest += requirements(there[key[0]], one.extras)
    return {name for name, _ in seen}


def bill(there: Distributions, *, now: datetime) -> dict[str, Any]:
    """The whole document."""
    root = there[_ROOT]
    extras = {name for name in root.metadata.get_all("Provides-Extra") or () if name != _DEV}
    core = reached(there, requirements(root, ()))
    optional = reached(there, requirements(root, extras)) - {_ROOT}
    scopes = {
        name: "required" if name in core else "optional" if name in optional else "excluded"
        for name in there
    }
    packages = [_package(one, scopes[name]) for name, one in there.items() if name != _ROOT]
    components = [*packages, *_charting(), *_carried()]
    links = [
        {
            "ref": _reference(one),
            "dependsOn": sorted(
                _reference(there[other])
                for other in {
                    canonicalize_name(asked.name)
                    for asked in requirements(one, extras if name == _ROOT else ())
                }
                if other in there and other != name
            ),
        }
        for name, one in there.items()
    ]
    content = json.dumps([components, links], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "timestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {**_package(root, "required"), "type": "application"},
        },
        "components": components,
        "dependencies": links,
    }


def _reference(distribution: metadata.Distribution) -> str:
    return f"pkg:pypi/{canonicalize_name(distribution.name)}@{distribution.version}"


def _package(distribution: metadata.Distribution, scope: str) -> dict[str, Any]:
    about = distribution.metadata
    made = {
        "type": "library",
        "bom-ref": _reference(distribution),
        "name": distribution.name,
        "version": distribution.version,
        "scope": scope,
        "purl": _reference(distribution),
        "licenses": _licences(declared_licence(about), spdx="License-Expression" in about),
    }
    return made | ({"description": about["Summary"]} if "Summary" in about else {})


def _licences(declared: str, *, spdx: bool) -> list[dict[str, Any]]:
    if spdx:
        return [{"expression": declared}]
    return [
        {"license": {"id": part} if part in PERMISSIVE else {"name": part}}
        for part in declared.split(" AND ")
    ]


def _charting() -> Iterator[dict[str, Any]]:
    """The scripts that every report carries, from vl-convert."""
    versions = {
        "vega": vl_convert.get_vega_version(),
        "vega-embed": vl_convert.get_vega_embed_version(),
        "vega-lite": max(vl_convert.get_vegalite_versions(), key=_numbers),
    }
    for name, version in versions.items():
        address = f"pkg:npm/{name}@{version}"
        yield {
            "type": "library",
            "bom-ref": address,
            "name": name,
            "version": version,
            "scope": "required",
            "purl": address,
            "licenses": _licences("BSD-3-Clause", spdx=True),
        }


def _numbers(version: str) -> list[int]:
    """The parts of a version, for sorting.

    Examples:
        >>> max(["5.8", "5.21", "6.1"], key=_numbers)
        '6.1'
    """
    return [int(part) for part in version.split(".")]


def cards() -> list[Path]:
    """The card of everything that ships beside code: models, lexicons, tables, conversations."""
    own = Path(dialens.__file__).parent
    places = [own, *(place for place in shipped_places() if own not in place.parents)]
    return sorted(card for place in places for card in place.rglob("*card.json"))


def files_of(card: Path) -> list[Path]:
    """The files that a card describes: its folder's, or those of its own name (`x.card.json`)."""
    name = card.name.removesuffix("card.json")
    beside = (file for file in card.parent.iterdir() if file.is_file() and file != card)
    return sorted(file for file in beside if file.name.startswith(name))


def _carried() -> Iterator[dict[str, Any]]:
    """What cards describe, with the licence that the card states and the hash of each file."""
    own = Path(dialens.__file__).parent
    for card in cards():
        facts = json.loads(card.read_text("utf-8"))
        reference = f"card:{facts['name']}"
        files = files_of(card)
        learned = any(file.suffix in _WEIGHTS for file in files)
        known = facts["licence"] in PERMISSIVE
        yield {
            "type": "machine-learning-model" if learned else "data",
            "bom-ref": reference,
            "name": facts["name"],
            "scope": "required" if own in card.parents else "optional",
            "licenses": [{"license": {"id" if known else "name": facts["licence"]}}],
            "components": [
                {
                    "type": "file",
                    "bom-ref": f"{reference}/{file.name}",
                    "name": file.name,
                    "hashes": [{"alg": "SHA-256", "content": sha256_file(file)}],
                }
                for file in files
            ],
        }


def main() -> None:
    """Write the file, and say what is in it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    output: Path = parser.parse_args().output
    there = installed()
    document = bill(there, now=datetime.now(UTC))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
    unclear = [name for name, one in there.items() if declared_licence(one.metadata) == _NONE]
    print(f"{output}: {len(document['components'])} components.")
    if unclear:
        print(f"No licence in the metadata of {', '.join(unclear)}.")


if __name__ == "__main__":
    main()
