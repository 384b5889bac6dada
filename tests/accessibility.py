"""axe-core over a page: what a machine can see of the accessibility guidelines (WCAG 2.2, AA)."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SHOTS = os.environ.get("DIALENS_SHOTS")

WIDTHS = {"desk": (1280, 900), "phone": (390, 844)}
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
USUAL: tuple[tuple[str, Scheme], ...] = (("desk", "light"), ("phone", "dark"))
ALL = tuple((width, scheme) for width in WIDTHS for scheme in SCHEMES)

_RUN = """async tags => {
  const told = await axe.run(document, {
    runOnly: tags, resultTypes: ["violations"], preload: false,
  });
  return {
    rules: [...told.violations, ...told.passes, ...told.incomplete].map((rule) => rule.id),
    violations: told.violations.map((rule) => ({
      id: rule.id, help: rule.help,
      nodes: rule.nodes.slice(0, 3).map((node) => `${node.target} ${node.any[0]?.message ?? ""}`),
    })),
  };
}"""


class Inspection:
    """Looks at pages, each on a desktop in the light and on a phone in the dark.

    With `DIALENS_SHOTS` set to a folder, pictures are kept there of all widths and colours.

    Attributes:
        found: What axe complains about, with the page it stands on.
        seen: The names of the pages.
        rules: The rules that had something to check.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self.seen: list[str] = []
        self.rules: set[str] = set()

    def __call__(
        self, page: Page, name: str, looks: tuple[tuple[str, Scheme], ...] = USUAL
    ) -> None:
        """Look at a page; `name` is for whoever reads what was found."""
        self.seen.append(name)
        before = page.viewport_size
        for width, scheme in ALL if SHOTS else looks:
            wide, high = WIDTHS[width]
            page.set_viewport_size({"width": wide, "height": high})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            if SHOTS:
                path = Path(SHOTS) / f"{name}-{width}-{scheme}.png"
                page.screenshot(path=str(path), full_page=True)
            if (width, scheme) in looks:
                self._check(page, f"{name} ({width}, {scheme})")
        page.emulate_media(color_scheme=None, reduced_motion=None)
        if before is not None:
            page.set_viewport_size(before)

    def done(self) -> None:
        """Fail with everything that was found."""
        assert not self.found, "\n".join(self.found)

    def _check(self, page: Page, name: str) -> None:
        for frame in page.frames:
            if not frame.evaluate("'axe' in globalThis"):
                frame.evaluate(AXE)
        told: dict[str, Any] = page.evaluate(_RUN, TAGS)
        self.rules |= set(told["rules"])
        for rule in told["violations"]:
            self.found.append(f"{name}: {rule['id']}, {rule['help']}: {rule['nodes']}")
