"""The project as a whole: what is shipped, pinned, licensed and documented."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from packaging.requirements import Requirement

from scripts.sbom import PERMISSIVE, declared_licence, installed, reached

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Folders of a working tree that hold nothing of the project's own (for trees without git).
NOT_OURS = {".git", ".venv", ".lab", "demo", "out", "site", "dist", "build", "__pycache__"}

# Spelled in pieces, so that this file is not its own first finding.
FOREIGN = {
    "registry address": re.compile(
        "|".join(
            [
                "index" + "-url",
                "find" + "-links",
                re.escape("pypi.org/" + "simple"),
                re.escape("files." + "pythonhosted.org"),
            ]
        )
    ),
    "path of one machine": re.compile(r"(?<![\w.~-])/(?:home|Users|root|opt)/\w|file:///\w"),
    "path of a Windows machine": re.compile(r"\b[A-Z]:\\Users\\"),
}


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    file = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    table: dict[str, Any] = file["project"]
    return table


def own_files(root: Path) -> list[Path]:
    """What git tracks or would track; without git, everything that is not an output."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.decode().rstrip("\0").split("\0")
        found = [root / name for name in names]
    else:
        found = [
            path for path in root.rglob("*") if NOT_OURS.isdisjoint(path.relative_to(root).parts)
        ]
    return [path for path in found if path.is_file()]


def test_no_addresses_or_paths_of_one_machine(repository: Path) -> None:
    found = []
    foreign = {**FOREIGN, "path of this machine": re.compile(re.escape(f"{repository}/"))}
    for path in own_files(repository):
        try:
            lines = path.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a binary file
        found += [
            f"{path.relative_to(repository)}:{number}: {what}"
            for number, line in enumerate(lines, 1)
            for what, pattern in foreign.items()
            if pattern.search(line)
        ]
    assert not found, "\n".join(found)


def core_distributions(project: dict[str, Any]) -> dict[str, metadata.Distribution]:
    """Everything that `pip install dialens` brings here, found by following the requirements."""
    there = installed()
    found = reached(there, [Requirement(line) for line in project["dependencies"]])
    return {name: there[name] for name in found}


def test_core_is_lean(project: dict[str, Any]) -> None:
    heavy = {"pydantic", "pyarrow", "pandas", "torch", "transformers"}
    assert heavy.isdisjoint(core_distributions(project))


def is_permissive(expression: str) -> bool:
    """Whether everything joined by AND is permissive, given the choice that OR leaves."""
    plain = expression.replace("(", " ").replace(")", " ")
    if "(" in expression and " OR " in plain:
        return False  # nested choices are for a person to read
    return any(
        all(part.split(" WITH ")[0].strip() in PERMISSIVE for part in choice.split(" AND "))
        for choice in plain.split(" OR ")
    )


@pytest.mark.parametrize(
    ("expression", "permissive"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("BSD-3-Clause AND MIT", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-or-later", False),
        ("MIT AND AGPL-3.0-only", False),
        ("LGPL-3.0-or-later", False),
        ("License :: OSI Approved :: GNU General Public License v3 (GPLv3)", False),
        ("none declared", False),
    ],
)
def test_licences_are_read_as_they_are_meant(expression: str, *, permissive: bool) -> None:
    assert is_permissive(expression) is permissive


def test_core_dependencies_are_permissively_licensed(project: dict[str, Any]) -> None:
    licences = {
        name: declared_licence(distribution.metadata)
        for name, distribution in core_distributions(project).items()
    }
    refused = {name: text for name, text in licences.items() if not is_permissive(text)}
    assert not refused


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of dialens."""
    return build(repository, ".", tmp_path_factory.mktemp("wheel"))


def build(repository: Path, source: str, folder: Path) -> Path:
    """The wheel of a project in the repository, made in an empty folder."""
    command = ["-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source]
    run_in(repository, sys.executable, *command)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_wheel_holds_the_whole_package(repository: Path, wheel: Path) -> None:
    shipped = set(zipfile.ZipFile(wheel).namelist())
    package = repository / "src" / "dialens"
    expected = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "dialens/py.typed" in expected
    assert expected <= shipped
    assert any(name.endswith("/licenses/LICENSE") for name in shipped)
    outside = {n for n in shipped if not n.startswith("dialens/") and ".dist-info/" not in n}
    assert not outside


@pytest.mark.slow
def test_three_wheels_in_a_new_environment(repository: Path, wheel: Path, tmp_path: Path) -> None:
    """As on the day it is published: `pip install dialens`, then the packages beside it."""
    wheels = {"dialens": wheel}
    for name in ("dialens-models", "dialens-traits"):
        wheels[name] = build(repository, f"packages/{name}", tmp_path / name)
    for name in wheels:
        assert wheels[name].stat().st_size < 100_000_000, "an index takes no larger file"
        stated = "LicenseRef-dialens-traits-research" if name == "dialens-traits" else "Apache-2.0"
        held = zipfile.ZipFile(wheels[name])
        (about,) = (file for file in held.namelist() if file.endswith(".dist-info/METADATA"))
        assert f"License-Expression: {stated}\n" in held.read(about).decode()
        terms = [file for file in held.namelist() if "/licenses/" in file]
        assert {file.rsplit("/", 1)[1] for file in terms} == {"LICENSE", "NOTICE"}
        traits = {file.split("/")[-2] for file in held.namelist() if "/traits_" in file}
        assert len(traits) == {"dialens": 1, "dialens-models": 0, "dialens-traits": 6}[name]
    run_in(tmp_path, sys.executable, "-m", "venv", "new")
    python, dialens = tmp_path / "new/bin/python", tmp_path / "new/bin/dialens"
    constraints = repository / "constraints.txt"
    install = ["-m", "pip", "install", "-q", "--no-compile"]  # most modules are never imported
    run_in(tmp_path, python, *install, "-c", constraints, wheel)
    chats = tmp_path / "chats.parquet"
    rows = [
        {"role": role, "content": text}
        for role, text in (
            ("user", "I lost my cat yesterday."),
            ("assistant", "Oh no, I am so sorry! How long have you had her?"),
        )
    ]
    pl.DataFrame({"model": ["a", "b"] * 6, "messages": [rows] * 12}).write_parquet(chats)
    first = run_in(tmp_path, dialens, "score", chats, "-o", "first")
    assert "pip install dialens-models" in first
    assert first.count("pip install dialens-traits") == 1
    assert "base" not in run_in(tmp_path, dialens, "models")
    agents = pl.scan_parquet(tmp_path / "first/scores.parquet").filter(pl.col("level") == "agent")
    scored = agents.filter(pl.col("metric").is_in(["agreeableness", "state_empathy"])).collect()
    by_metric = {name: scored.filter(metric=name) for name in scored["metric"].unique()}
    assert by_metric["state_empathy"]["value"].null_count() == 0
    assert by_metric["agreeableness"]["value"].null_count() == 2
    assert "pip install dialens-traits" in by_metric["agreeableness"]["reason"][0]
    beside = [wheels["dialens-models"], wheels["dialens-traits"]]
    run_in(tmp_path, python, *install, "--no-deps", *beside)
    second = run_in(tmp_path, dialens, "score", chats, "-o", "second", "--models", "base")
    assert "pip install" not in second
    values = pl.read_parquet(tmp_path / "second/scores.parquet").filter(
        level="agent", metric="agreeableness"
    )["value"]
    assert values.null_count() == 0
    assert "for research only" in (tmp_path / "second/report.html").read_text("utf-8")
    assert "engagement" in run_in(tmp_path, dialens, "compare", "second").lower()


def run_in(folder: Path, *command: object) -> str:
    """What a command prints; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(word) for word in command]
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=clean)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built strictly: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.slow
def test_documentation_builds_without_warnings(site: Path, repository: Path) -> None:
    pages = {path.stem for path in (repository / "docs").glob("*.md")}
    assert pages <= {path.stem for path in site.glob("*.html")}


@pytest.mark.browser
def test_documentation_asks_nothing_of_the_network(site: Path, chromium: Browser) -> None:
    """Several at a time, since a page is watched for half a second after it has loaded."""
    requested: list[str] = []
    files = sorted(site.glob("*.html"))
    for start in range(0, len(files), 12):
        paths = files[start : start + 12]
        context = chromium.new_context()
        context.on("request", lambda request: requested.append(request.url))
        pages = [context.new_page() for _ in paths]
        for page, path in zip(pages, paths, strict=True):
            page.goto(path.as_uri())
        for page in pages:
            page.wait_for_load_state("networkidle")
        context.close()
    assert len(requested) > len(files)
    assert [url for url in requested if not url.startswith(("file:", "data:", "blob:"))] == []
