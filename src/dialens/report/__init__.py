"""Reports: charts, tables and self-contained HTML pages.

May import every room below; only the command line builds on it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
