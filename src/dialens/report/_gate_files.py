"""A gate's result for build servers and pull requests: JUnit XML, JSON, Markdown."""

import json
from pathlib import Path
from xml.etree import ElementTree

from dialens.analysis.gating import Check, GateResult, Outcome
from dialens.base import atomic_file, capitalised

_SIGNS = {
    Outcome.PASSED: "✅",
    Outcome.FAILED: "❌",
    Outcome.UNDECIDED: "⚠️",
    Outcome.NOT_JUDGED: "❌",
}


def write_gate(
    result: GateResult,
    *,
    junit: Path | None = None,
    json_file: Path | None = None,
    markdown: Path | None = None,
) -> None:
    """Write a result into the files that are named.

    Args:
        result: What `dialens.gate` gives.
        junit: For build servers: a test case a check; undecided ones that stop nothing are skipped.
        json_file: For programs.
        markdown: For a comment on a pull request.
    """
    for path, text in (
        (junit, gate_junit),
        (json_file, gate_json),
        (markdown, gate_markdown),
    ):
        if path is not None:
            with atomic_file(path) as scratch:
                scratch.write_text(text(result), "utf-8")


def gate_json(result: GateResult) -> str:
    """The result as JSON."""
    return json.dumps(result.as_json(), indent=2, ensure_ascii=False) + "\n"


def gate_junit(result: GateResult) -> str:
    """The result as JUnit XML."""
    stopped = sum(result.stops(check) for check in result.checks)
    skipped = sum(_is_skipped(result, check) for check in result.checks)
    counts = {
        "tests": str(len(result.checks)),
        "failures": str(stopped),
        "errors": "0",
        "skipped": str(skipped),
    }
    root = ElementTree.Element("testsuites", {"name": "dialens gate", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "dialens gate", **counts})
    for check in result.checks:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": f"dialens.gate.{result.run}", "name": check.name, "time": "0"},
        )
        if result.stops(check):
            failure = ElementTree.SubElement(
                case, "failure", {"type": str(check.outcome), "message": check.sentence}
            )
            failure.text = f"{check.sentence}\n{result.method}"
        elif _is_skipped(result, check):
            ElementTree.SubElement(case, "skipped", {"message": check.sentence})
        else:
            ElementTree.SubElement(case, "system-out").text = check.sentence
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def gate_markdown(result: GateResult) -> str:
    """The result as Markdown: the verdict, a row a check, and how it was decided."""
    sign = "✅" if result.passed else "❌"
    checks = sorted(result.checks, key=lambda check: not result.stops(check))
    rows = [
        f"| {_SIGNS[check.outcome]} {check.outcome} | `{_cell(check.rule.text)}` | "
        f"{_cell(check.agent)} | {_cell(check.values) if check.value is not None else '–'} | "
        f"{_cell(check.measured)} | {_cell(_because(check))} |"
        for check in checks
    ]
    several = any(check.agent for check in checks)
    heads = ["", "rule", "agent", "value", "measured (interval)", "why"]
    lines = [
        f"| {' | '.join(heads)} |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    if not several:
        lines = [_without(line, 3) for line in lines]
    verdict = _text(result.verdict.removeprefix("Gate "))
    return (
        "\n".join(
            [
                f"### {sign} dialens gate {verdict}",
                "",
                *lines,
                "",
                f"<sub>{_text(f'{result.not_paired} {result.method}'.strip())}</sub>",
            ]
        )
        + "\n"
    )


def _because(check: Check) -> str:
    if check.outcome is Outcome.NOT_JUDGED or check.value is None:
        return capitalised(check.reason)
    return capitalised(check.why.split("; ", 1)[1])


def _is_skipped(result: GateResult, check: Check) -> bool:
    return check.outcome is Outcome.UNDECIDED and not result.stops(check)


def _without(row: str, place: int) -> str:
    parts = row.split("|")
    return "|".join([*parts[:place], *parts[place + 1 :]])


def _text(text: str) -> str:
    return text.replace("<", "&lt;")


def _cell(text: str) -> str:
    return text.replace("|", "¦").replace("\n", " ")
