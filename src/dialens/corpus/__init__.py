"""What a conversation is: System > Agent > Dialog > Turn, with its ratings and references.

Readers turn every format of the field into the same three tables, writers turn them back.
This is the ground floor: everything may import it, and it imports no other room.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
