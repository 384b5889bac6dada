"""`dialens study`: rating studies, from the first draft to the analysis."""

import typer

from dialens.cli import study_recruit
from dialens.cli.study_analyze import analyze
from dialens.cli.study_check import check
from dialens.cli.study_export import export
from dialens.cli.study_forget import forget
from dialens.cli.study_new import new
from dialens.cli.study_preregister import preregister
from dialens.cli.study_schema import schema
from dialens.cli.study_serve import serve
from dialens.cli.study_simulate import simulate
from dialens.cli.study_status import status

app = typer.Typer(no_args_is_help=True, help="Rating studies: design, try, run and analyse them.")


@app.callback()
def root() -> None:
    """Rating studies: design, try, run and analyse them."""


# In the order in which a study is made.
app.command("new")(new)
app.command("check")(check)
app.command("schema")(schema)
app.command("simulate")(simulate)
app.command("preregister")(preregister)
app.command("serve")(serve)
app.add_typer(study_recruit.app, name="recruit")
app.command("status")(status)
app.command("export")(export)
app.command("forget")(forget)
app.command("analyze")(analyze)
