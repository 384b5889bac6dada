"""An import contract: what begins with an underscore is imported only inside its own package.

The rooms' order is import-linter's own kind of contract (`layers`); this one keeps everybody from
reaching past a door, a package's `__init__.pyi`.
"""

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class DoorsContract(Contract):
    """No module outside a package imports one of its inner modules."""

    type_name = "doors"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Every direct import, held against the package that the imported module is private to."""
        broken = []
        for importer in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                owner = private_to(imported)
                if owner is not None and not f"{importer}.".startswith(f"{owner}."):
                    broken.append((importer, imported))
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say who reached past which door."""
        pairs: Any = check.metadata["broken"]
        for importer, imported in pairs:
            output.print_error(
                f"{importer} imports {imported}, which is inside {private_to(imported)}"
            )


def private_to(module: str) -> str | None:
    """The package that a module is private to, or None if anybody may import it."""
    parts = module.split(".")
    for place, part in enumerate(parts):
        # A first part is nobody's inside: type checkers' own `_typeshed`, say.
        if place and part.startswith("_") and not part.startswith("__"):
            return ".".join(parts[:place])
    return None
