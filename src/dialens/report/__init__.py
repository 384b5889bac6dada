"""Reports: one page model, charts, tables, and a short module that fills the page for each report.

Runs no test of its own: verdicts come from `analysis`. May import everything below; only the
command line builds on it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
