from ._export import export, tables

__all__ = [
    "export",
    "tables",
]
