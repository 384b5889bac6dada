from ._export import CSV, UnreadableVersion, export
from ._tables import tables

__all__ = [
    "CSV",
    "UnreadableVersion",
    "export",
    "tables",
]
