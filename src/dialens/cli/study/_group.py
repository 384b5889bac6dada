"""`dialens study`: rating studies, from the first draft to the analysis."""

from dialens.cli._lazy import lazy_app

# In the order in which a study is made.
app = lazy_app(
    "Rating studies: design, try, run and analyse them.",
    {
        "new": (
            "dialens.cli.study._new:new",
            "Write a complete study to start from: the study file, its items, a schema.",
        ),
        "preview": (
            "dialens.cli.study._preview:preview",
            "Show a study in the browser while it is written, and edit it there.",
        ),
        "check": (
            "dialens.cli.study._check:check",
            "Check a study file, and say what it asks and costs.",
        ),
        "schema": (
            "dialens.cli.study._schema:schema",
            "Print the JSON Schema of study files, for editors and other programs.",
        ),
        "texts": (
            "dialens.cli.study._texts:texts",
            "Write what participants read beside a study's own words, to change or translate.",
        ),
        "simulate": (
            "dialens.cli.study._simulate:simulate",
            "Let simulated participants with known biases take a study.",
        ),
        "judge": (
            "dialens.cli.study._judge:judge",
            "Let language models take a study: the same screens, rules and columns as people.",
        ),
        "preregister": (
            "dialens.cli.study._preregister:preregister",
            "Freeze design, hypotheses and analysis plan, with a hash and the time.",
        ),
        "serve": (
            "dialens.cli.study._serve:serve",
            "Let people take a study in the browser, and watch it.",
        ),
        "links": (
            "dialens.cli.study._links:links",
            "Make a personal link for each person on a list.",
        ),
        "recruit": (
            "dialens.cli.study._recruit:app",
            "Recruit participants on Prolific or Amazon Mechanical Turk, and pay them.",
        ),
        "status": (
            "dialens.cli.study._status:status",
            "Say how many people completed each cell, and where people leave.",
        ),
        "operate": (
            "dialens.cli.study._operate:operate",
            "Show or change how a study is run, while people take part.",
        ),
        "exclude": (
            "dialens.cli.study._exclude:exclude",
            "Leave a person out of the analysis, and open the place for somebody else.",
        ),
        "code": (
            "dialens.cli.study._code:code",
            "Say whose completion code it is, and whether they were paid.",
        ),
        "backup": (
            "dialens.cli.study._backup:backup",
            "Copy database, key and files of a study together, while people take part.",
        ),
        "restore": (
            "dialens.cli.study._backup:restore",
            "Put a backup in place, so that the study goes on with everybody under way.",
        ),
        "retain": (
            "dialens.cli.study._retain:retain",
            "Delete what was kept for as long as the study says.",
        ),
        "exports": (
            "dialens.cli.study._exports:exports",
            "List exports, and those that still hold somebody who was deleted.",
        ),
        "export": (
            "dialens.cli.study._export:export",
            "Write ratings, questionnaires, answers and events as tables.",
        ),
        "forget": (
            "dialens.cli.study._forget:forget",
            "Delete everything a person left: answers, events, the encrypted id.",
        ),
        "analyze": (
            "dialens.cli.study._analyze:analyze",
            "Measure what biased the raters of a study, as well as what they said.",
        ),
        "model": (
            "dialens.cli.study._model:model",
            "Fit a mixed model to ratings from a formula: effects, variances, likelihood ratios.",
        ),
    },
    add_completion=False,
)
