from ._people import World
from ._population import Population
from ._simulate import simulate_study, simulations
from ._small_talk import example, last_message, line, stand_in

__all__ = [
    "Population",
    "World",
    "example",
    "last_message",
    "line",
    "simulate_study",
    "simulations",
    "stand_in",
]
