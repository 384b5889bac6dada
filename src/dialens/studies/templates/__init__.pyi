from ._templates import TEMPLATES, write_template

__all__ = [
    "TEMPLATES",
    "write_template",
]
