"""Where participants come from: people by link, Amazon Mechanical Turk, Prolific.

One protocol (`Recruiter`), one module a platform, nothing kept beside what the platforms and the
study's database know. Nobody is rejected without a person saying so, and nothing that spends money
spends it twice. May import `studies`; commands and pages build on it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
