"""Empathy of replies: the sentences it is learned from, the fit, and how it is assessed."""
