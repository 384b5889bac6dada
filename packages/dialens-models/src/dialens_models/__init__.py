"""The larger models of dialens: a folder each, found by dialens once this package is installed."""
