from ._export import CSV, UnreadableVersion, export
from ._reading import Reading
from ._recall import Recall, recall, remember_folder
from ._tables import tables

__all__ = [
    "CSV",
    "Reading",
    "Recall",
    "UnreadableVersion",
    "export",
    "recall",
    "remember_folder",
    "tables",
]
