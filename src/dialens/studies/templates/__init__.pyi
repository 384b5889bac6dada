from ._templates import TEMPLATES, load_template, write_template

__all__ = [
    "TEMPLATES",
    "load_template",
    "write_template",
]
