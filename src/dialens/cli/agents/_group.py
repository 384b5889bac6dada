"""`dialens agents`: things that talk: which there are, talking with them, letting them talk."""

from dialens.cli._lazy import lazy_app

app = lazy_app(
    "Agents: train or connect them, talk with them, collect conversations.",
    {
        "kinds": (
            "dialens.cli.agents._kinds:kinds",
            "List the kinds of agents and say which are ready, or show the settings of one.",
        ),
        "scenarios": (
            "dialens.cli.agents._scenarios:scenarios",
            "List the packs of simulated users that ship, or print the scenarios of one.",
        ),
        "train": (
            "dialens.cli.agents._train:train",
            "Train an agent on conversations (extra `train`); on a GPU if there is one.",
        ),
        "chat": (
            "dialens.cli.agents._chat:chat",
            "Talk with an agent on the terminal; its answers appear as they come.",
        ),
        "collect": (
            "dialens.cli.agents._collect:collect",
            "Let agents talk with each other, or with you, and keep it as a corpus.",
        ),
    },
    add_completion=False,
)
