"""Trait models of dialens, for research only: a folder each, found by dialens once installed."""
