from ._contents import study_files
from ._restoring import Restored, restore
from ._taking import Backup, back_up

__all__ = ["Backup", "Restored", "back_up", "restore", "study_files"]
