"""Text into countable features: tokens, words as integers, lexicons, stop words.

Nothing here knows what a conversation is: it takes columns of text and gives columns of numbers.
Imports `base`; everything above may import it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
