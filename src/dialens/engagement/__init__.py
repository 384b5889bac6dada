"""Engagement learned from how people react (EnDex): dumps to shards, shards to a labelled dataset.

`ingest` reads Reddit dumps once, `label` finds posts and scores the reactions to them, and the rest
of the room makes negatives, ablations and models from that. Imports `models`, `text` and `corpus`.
"""
