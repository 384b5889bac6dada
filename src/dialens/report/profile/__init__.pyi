from ._section import ProfileSection, profile_section
from ._trait_section import Character, character

__all__ = [
    "Character",
    "ProfileSection",
    "character",
    "profile_section",
]
