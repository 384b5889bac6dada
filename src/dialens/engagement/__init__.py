"""Engagement learned from how people react (EnDex): dumps to shards, shards to a labelled dataset.

`ingest` reads Reddit dumps once, `label` finds posts and scores the reactions to them, and the rest
makes negatives, ablations and models from that. May import `models` and what is below it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
