"""The `bough` command: a group whose commands are imported when they are used."""

import importlib

import click
from click.shell_completion import CompletionItem

from bough.cli.shell import EXIT_CODES, Shell

#: Commands, each the `command` of the module of its name, and their lines in `bough --help`.
COMMANDS = {
    "bound": "Bound information gain and regret.",
    "compare": "Compare searchers on known problems.",
    "completion": "Print a script that completes commands on Tab.",
    "generate": "Search with a generator of answers.",
    "plan": "Act in a Gymnasium environment.",
    "play": "Play a game, or a match of two players.",
    "report": "Write the page of a study.",
    "search": "Search a tree for its best path.",
    "study": "Show, export or import a study.",
    "tune": "Optimize a function of parameters.",
    "watch": "Serve the page of a study as it grows.",
}


class _LazyShell(Shell):
    """A group that knows the names and the help lines of its commands before it imports them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module = importlib.import_module(f"bough.cli.{cmd_name}")
            self.add_command(module.command, cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=_LazyShell,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=EXIT_CODES,
)
@click.version_option(package_name="bough")
def main() -> None:
    """Find the best path through a tree that is too large to enumerate.

    \b
    bough search smooth --budget 10000
    bough search rewards.py:total --branching 4 --depth 8 --study run.db
    bough tune train.py:loss --minimize --budget 200
    bough watch run.db
    bough COMMAND --help
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
