"""What people said of agents: sentences, charts and tables of the report of a study."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
