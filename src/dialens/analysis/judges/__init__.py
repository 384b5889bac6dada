"""Judges beside people: what a language model's ratings are worth, and what they save."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
