from ._against_people import JUDGES, MODELS, PEOPLE, judges_against_people, own_agreement

__all__ = ["JUDGES", "MODELS", "PEOPLE", "judges_against_people", "own_agreement"]
