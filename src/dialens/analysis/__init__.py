"""Statistics joined with what they are about: comparisons, validation, profiles, bias of studies.

May import metrics, studies and everything below; reports and commands build on it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
