"""The charts of a page as files for papers and slides, drawn without a browser."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import vl_convert

from dialens.base import DialensError
from dialens.report._charts import CONFIG
from dialens.report._page import Summary

FIGURE_FORMATS = ("svg", "pdf", "png")
_WIDTH = 680
_SHARPNESS = 3.0
_ON_THE_PAGE = "The numbers stand in the table below the chart."
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")
_DECLARED = re.compile(r"--([a-z0-9-]+):\s*([^;]+);")
_ROOT = re.compile(r":root\s*\{(.*?)\}", re.DOTALL)
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def write_figures(summary: Summary, folder: Path, format: str) -> list[Path]:
    """Write every chart of a page that was written as a file of its own.

    Colours are those of the light page, on white. Of charts with a choice, each choice is a file:
    `distribution-length.svg`. `captions.md` says of each what it shows.

    Args:
        summary: What the function that wrote the page gave back.
        folder: Where to; made if it is not there.
        format: `svg`, `pdf` or `png`.

    Raises:
        DialensError: There is no such format.
    """
    if format not in FIGURE_FORMATS:
        raise DialensError(f"Figures are {', '.join(FIGURE_FORMATS)}, not {format!r}.")
    written: list[Path] = []
    captions: list[str] = []
    for place, charts in summary.figures.items():
        for choice, chart in charts.items():
            folder.mkdir(parents=True, exist_ok=True)
            name = "-".join(part for part in (place, choice) if part)
            path = folder / f"{_NOT_IN_NAMES.sub('_', name)}.{format}"
            if path in written:
                path = path.with_stem(f"{path.stem}-{len(written)}")
            content = _DRAW[format](_standing_alone(chart, summary.agents))
            path.write_bytes(content)
            written.append(path)
            about = " ".join([chart["alt"].replace(_ON_THE_PAGE, "").strip(), chart["note"]])
            captions.append(f"`{path.name}`: {about}".rstrip())
    if captions:
        listed = folder / "captions.md"
        listed.write_text("\n\n".join(captions) + "\n", encoding="utf-8")
        written.append(listed)
    return written


def _svg(spec: dict[str, Any]) -> bytes:
    drawn: str = vl_convert.vegalite_to_svg(spec)
    return drawn.encode()


def _pdf(spec: dict[str, Any]) -> bytes:
    drawn: bytes = vl_convert.vegalite_to_pdf(spec)
    return drawn


def _png(spec: dict[str, Any]) -> bytes:
    drawn: bytes = vl_convert.vegalite_to_png(spec, scale=_SHARPNESS)
    return drawn


_DRAW: dict[str, Callable[[dict[str, Any]], bytes]] = {"svg": _svg, "pdf": _pdf, "png": _png}


def _standing_alone(chart: Mapping[str, Any], agents: tuple[str, ...]) -> dict[str, Any]:
    """A chart with everything that the page gives it: data, width, colours, names of agents."""
    config = {**CONFIG, "background": "white", "axisY": {**CONFIG["axisY"], "labelLimit": 210}}
    spec = {**chart["spec"], "width": _WIDTH, "config": config}
    spec["datasets"] = {name: _rows(data, agents) for name, data in chart["data"].items()}
    coloured: dict[str, Any] = _coloured(spec)
    return coloured


def _rows(data: Mapping[str, Any], agents: tuple[str, ...]) -> list[dict[str, Any]]:
    """Rows with their keys; agents travel as numbers."""
    rows = [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]
    return [
        {**row, "agent": agents[row["number"]]} if agents and "number" in row else row
        for row in rows
    ]


def _coloured(part: Any) -> Any:
    """The same with colours instead of the names that the page's style gives them.

    Examples:
        >>> _coloured({"stroke": "var(--accent)", "data": ["var(--nothing)", 1]})
        {'stroke': '#0b6a75', 'data': ['var(--nothing)', 1]}
    """
    if isinstance(part, str):
        return _VARIABLE.sub(lambda match: _colours().get(match[1], match[0]), part)
    if isinstance(part, Mapping):
        return {key: _coloured(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_coloured(value) for value in part]
    return part


@cache
def _colours() -> dict[str, str]:
    """The colours of the light page, by name."""
    style = (files("dialens.report") / "assets" / "report.css").read_text(encoding="utf-8")
    root = _ROOT.search(style)
    assert root is not None
    return {name: value.strip() for name, value in _DECLARED.findall(root[1])}
