"""Ways to ask. Each is one typed declaration; form, validation, codebook and simulation follow.

An instrument knows fields and answers, nothing of studies, pages or databases.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
