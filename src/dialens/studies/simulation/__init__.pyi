from ._people import World
from ._population import Population
from ._simulate import simulate_study, simulations
from ._small_talk import example, line
from ._talk import converse

__all__ = [
    "Population",
    "World",
    "converse",
    "example",
    "line",
    "simulate_study",
    "simulations",
]
