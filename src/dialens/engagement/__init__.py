"""Engagement learned from how people react (EnDex): dumps to shards, shards to a labelled dataset.

`ingest` reads Reddit dumps once, `label` finds posts and scores the reactions to them, and the rest
of the room makes negatives, ablations and models from that. Imports `models`, `text` and `corpus`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
