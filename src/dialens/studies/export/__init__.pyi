from ._export import CSV, UnreadableVersion, export
from ._reading import Reading
from ._tables import tables

__all__ = [
    "CSV",
    "Reading",
    "UnreadableVersion",
    "export",
    "tables",
]
