"""Curation at scale: Reddit dumps to shards, shards to labelled data, on DuckDB or Spark."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
