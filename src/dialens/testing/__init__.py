"""Checks that what you bring keeps its promises: metrics, readers, agents, instruments, recruiters.

Each check takes one and raises an `AssertionError` that says which promise is broken. Ours pass the
same checks. For the tests of packages that extend dialens; nothing else imports it. `assert_gate`
is for those who test an agent.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
