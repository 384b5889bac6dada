"""Traits of a writer from text: personality and empathy, by linear models that ship or are fitted.

>>> from dialens.models import traits
>>> "agreeableness" in traits.shipped()
True

:func:`load` gives a model by name or folder, :meth:`TraitModel.predict` scores texts, :func:`fit`
trains one from labelled text with cross-validation by person. What the shipped ones are worth, on
what data and under which terms stands in their cards (``load(name).card``).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
