"""Small models that ship with the package, and the runtime that runs them on ONNX Runtime.

May import ``text``, ``statistics`` and what is below; ``metrics`` and everything above build on it.
Training lives in :mod:`dialens.models.training` and needs the extra ``train``. Trait models and
topics have modules of their own: :mod:`dialens.models.traits`, :mod:`dialens.models.topics`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
