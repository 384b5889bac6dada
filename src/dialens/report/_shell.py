"""One HTML file with everything inside: style, scripts and data.

A content security policy allows exactly the scripts we wrote, by their hashes, and no request at
all. Text of users enters as escaped HTML or as JSON that cannot end its element.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from dialens.base import atomic_file

_SCRIPTS = ("figures.js", "tables.js", "talks.js", "start.js")


def write_html(path: Path, data: Mapping[str, Any], **context: Any) -> int:
    """Render the page's template into one file; gives its size in bytes.

    Args:
        path: The file, which appears whole or not at all.
        data: What the scripts read.
        context: What the template reads.
    """
    scripts = [_charting(), "\n".join(_asset(name) for name in _SCRIPTS)]
    html = _template().render(
        style=_asset("report.css"),
        scripts=scripts,
        policy=_policy(scripts),
        data=script_json(data),
        **context,
    )
    content = html.encode()
    with atomic_file(path) as scratch:
        scratch.write_bytes(content)
    return len(content)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("dialens.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")


def script_json(data: Any) -> str:
    r"""JSON that is safe inside a script element, whatever text it holds.

    Examples:
        >>> script_json({"text": "</script><!-- & "})
        '{"text":"\\u003c/script\\u003e\\u003c!-- \\u0026 "}'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _charting() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, with their licence, which the bundle lacks."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    code = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return _asset("vega.txt") + code


@cache
def _asset(name: str) -> str:
    return (files("dialens.report") / "assets" / name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
