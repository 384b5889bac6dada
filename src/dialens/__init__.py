"""dialens looks at conversational agents through a human lens.

Names are loaded when they are first used: statistics alone take a second.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
