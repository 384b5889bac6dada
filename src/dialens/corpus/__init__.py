"""What a conversation is: System > Agent > Dialog > Turn, with its ratings and references.

Readers turn every format of the field into the same three tables, writers turn them back.
Imports `base`; every other package may import it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
