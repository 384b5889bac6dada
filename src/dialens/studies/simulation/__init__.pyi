from ._people import World
from ._population import Population
from ._simulate import simulate_study, simulations
from ._small_talk import example, line, stand_in

__all__ = [
    "Population",
    "World",
    "example",
    "line",
    "simulate_study",
    "simulations",
    "stand_in",
]
