"""Judges beside people: may one stand in, what does it save, how steady is it.

alternative_test(people, judge, fit="numbers").winning_rate
prediction_powered(people, judge, judge_alone).estimate
cheapest_mix(1.0, 0.1, r=0.6, price=2.0, judge_price=0.01)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
