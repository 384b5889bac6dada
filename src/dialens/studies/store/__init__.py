"""Where a study's data are kept: sessions, answers, events, on SQLite or PostgreSQL.

Answers are only ever added, each screen's once, and what is acknowledged is on disk. Knows
studies and screens, nothing of pages; pages, recruiters and simulations build on it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
