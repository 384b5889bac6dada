"""Ways to ask. Each is one typed declaration; form, validation, codebook and simulation follow.

An instrument knows fields and answers, nothing of studies, pages or databases.
"""

from dialens.studies.instruments.declaration import (
    Choice,
    Form,
    Instrument,
    Latent,
    Output,
    Settings,
)
from dialens.studies.instruments.registry import instrument, instruments, simulate, validate

__all__ = [
    "Choice",
    "Form",
    "Instrument",
    "Latent",
    "Output",
    "Settings",
    "instrument",
    "instruments",
    "simulate",
    "validate",
]
