from ._section import ProfileSection, profile_section
from ._trait_section import Character, character, profile_of

__all__ = [
    "Character",
    "ProfileSection",
    "character",
    "profile_of",
    "profile_section",
]
