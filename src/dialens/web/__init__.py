"""The pages of a study: what participants see in the browser, and what researchers watch.

Stands on top, beside `dialens.cli`, and may import everything below; nothing imports it but the
command that serves a study. `study_app` puts the application together: pages for participants,
pages for researchers, the same as JSON, and a guard with limits around them. Answers are stored by
`dialens.studies.store`; no page remembers anything but a signed cookie. Needs the extra `studies`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
