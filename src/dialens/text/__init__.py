"""Text into countable features: tokens, words as integers, lexicons, stop words.

Uses only :mod:`dialens.errors`; may be imported by every room above (models, metrics, engagement,
report). Nothing here knows what a conversation is: it takes columns of text and gives columns of
numbers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
