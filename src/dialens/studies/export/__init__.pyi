from ._export import CSV, export
from ._tables import tables

__all__ = [
    "CSV",
    "export",
    "tables",
]
