"""Parts that all commands share: output, errors, exit codes, `--traceback`, modules of the user.

A command that is added to a `Shell` gets its error handling and `--traceback`; it prints by `echo`.
"""

import importlib
import importlib.util
import json
import math
import os
import pathlib
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from types import ModuleType
from typing import IO, Any, TypeVar

import click

from bough import kernels
from bough._text import UNPRINTABLE, brief, escaped, printable
from bough.exceptions import ObjectiveError
from bough.kernels import Kernel

#: The class of a tree or space.
Domain = TypeVar("Domain")


class Finite(click.FloatRange):
    """A finite number in a range: click accepts NaN in any range."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Parse a number, or fail with the name of its option."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        # Without bounds click would write "x<=None" in the help.
        return "" if self.min is None and self.max is None else super()._describe_range()


#: Exceptions that a user can cause, whose messages need no type in front of them.
EXPECTED = (ValueError, TypeError, OSError, ImportError, RuntimeError)
INTERRUPTED = 130
EXIT_CODES = """\b
Exit codes:
  0    success
  1    failure: see the message
  2    invalid options or arguments
  130  interrupted by Ctrl-C
"""
#: The types of a file that exists, and of a file to write.
FILE = click.Path(exists=True, dir_okay=False, path_type=pathlib.Path)
NEW_FILE = click.Path(dir_okay=False, path_type=pathlib.Path)
COUNT = click.IntRange(min=1)
#: The number of parameters whose importance is printed, the most important ones.
MOST_PARAMETERS = 10
POSITIVE = Finite(min=0, min_open=True)

#: Bold and its end: the only escape sequences that the commands print.
_OURS = r"\x1b\[(?:0|1)m"
_SHOWN = re.compile(f"{_OURS}|[{UNPRINTABLE}]")


def safe(text: str) -> str:
    r"""Return a text with escapes for control characters, which names and reasons may contain.

    >>> safe("\x1b[1mbold\x1b[0m,\nnot a \x1b]0;title\x07")
    '\x1b[1mbold\x1b[0m,\nnot a \\x1b]0;title\\x07'
    """
    return _SHOWN.sub(lambda m: m[0] if m[0] in "\n\t" or len(m[0]) > 1 else escaped(m), text)


def echo(text: str = "", *, err: bool = False, nl: bool = True, exact: bool = False) -> None:
    """Print a text, with escapes for control characters.

    With `exact`, output to a file or to another program is left as it is.
    """
    keep = exact and not _is_terminal(sys.stderr if err else sys.stdout)
    # (click strips everything that looks like a color unless `color` is True.)
    click.echo(text if keep else safe(text), err=err, nl=nl, color=True if keep else None)


def print_facts(facts: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print facts as JSON, or a text that says the same."""
    echo(json.dumps(facts, indent=2) if as_json else text)


def parse_kernel(text: str, *, fitted: bool) -> Kernel:
    """Return a kernel such as `gaussian:3`; the rest takes its defaults, or is to be fitted."""
    try:
        return kernels.parse(text, fitted=fitted)
    except ValueError as error:
        raise click.UsageError(f"--{error}.") from None


def _is_terminal(stream: IO[str]) -> bool:
    return stream.isatty()


@contextmanager
def prints_apart(*, as_json: bool) -> Iterator[None]:
    """Send what functions of the user print, in any process, to standard error if JSON is printed.

    Otherwise leave it as it is.
    """
    if not as_json:
        yield
        return
    output, kept = sys.stdout, None
    with suppress(AttributeError, OSError, ValueError):  # closed, or replaced by what is no file
        if output.fileno() == 1:
            output.flush()
            kept = os.dup(1)
            os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            output.flush()
            os.dup2(kept, 1)
            os.close(kept)


def run_and_print(
    search: Callable[[], Any],
    facts_of: Callable[[Any, float], dict[str, Any]],
    page_of: Callable[[dict[str, Any], Any], str],
    *,
    as_json: bool,
    file: str | None,
    failure_of: Callable[[Any], str | None] | None = None,
) -> None:
    """Run a search, print the facts of its result or the page of them, and exit accordingly."""
    begin = time.perf_counter()
    failure: BaseException | None = None
    try:
        with prints_apart(as_json=as_json):
            result = search()
        message = (failure_of or _all_failed)(result)
    except ObjectiveError as error:
        result, failure, message = error.result, error, str(error)
    except SystemExit as error:
        result, failure = error.result, error  # type: ignore[attr-defined]
        message = f"the objective ended the program: {error!r}"
    facts = facts_of(result, time.perf_counter() - begin)
    if message is not None:
        facts["error"] = message
    echo(json.dumps(facts, indent=2) if as_json else page_of(facts, result))
    if message is not None:
        raise click.ClickException(message) from failure
    if result.stopped_by == "interrupt":
        if file is not None:
            echo(f"interrupted; run the same command again to resume {file}", err=True)
        sys.exit(INTERRUPTED)


def _all_failed(result: Any) -> str | None:
    """Return why a run has found nothing, None if it has found something."""
    history = result.history
    if result.stopped_by == "interrupt" or not history.failed == len(history) > 0:
        return None
    if result.stopped_by == "failures":
        count = f"all of the first {len(history)} trials failed"
    else:
        count = f"all trials ({len(history):,}) failed"
    reason = brief(history.trials[-1].reason)
    return f"{count}, the last by {reason} (--on-error stop --traceback shows where)"


class Shell(click.Group):
    """A group of commands whose errors are one line, or a traceback with `--traceback`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _add_traceback_option(self)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, with `--traceback`."""
        _add_traceback_option(cmd)
        super().add_command(cmd, name)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Make the context of a call, without colors if NO_COLOR is set."""
        try:
            context = super().make_context(*args, **options)
        except click.ClickException as error:
            error.message = safe(error.message)  # type: ignore[misc]
            raise
        if os.environ.get("NO_COLOR"):
            context.color = False
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and turn an exception into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except click.ClickException as error:
            reason = error.__cause__ or error.__context__
            if ctx.meta.get("bough.traceback") and reason is not None:
                _print_traceback(reason)
            error.message = safe(error.message)  # type: ignore[misc]
            raise
        except BrokenPipeError:
            raise  # the reader has ended, as `| head` does: click ends silently
        except Exception as error:
            if ctx.meta.get("bough.traceback"):
                _print_traceback(error)
            named = isinstance(error, EXPECTED) or type(error).__module__.startswith("bough.")
            message = str(error) if named and str(error) else repr(error)
            message = "; ".join([message, *getattr(error, "__notes__", [])])
            message += "" if named else " (--traceback shows where it comes from)"
            raise click.ClickException(safe(message)) from error


def _print_traceback(error: BaseException) -> None:
    echo("".join(traceback.format_exception(error)), err=True, nl=False)


def _add_traceback_option(command: click.Command) -> None:
    """Add `--traceback` to a command and to those below it."""
    if any(parameter.name == "traceback" for parameter in command.params):
        return
    command.params.append(
        click.Option(
            ["--traceback"],
            is_flag=True,
            expose_value=False,
            callback=_note_traceback,
            help="Full traceback of an error.",
        )
    )
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _add_traceback_option(below)


def _note_traceback(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta["bough.traceback"] = True


@contextmanager
def warnings_in_words() -> Iterator[None]:
    """Print warnings as plain messages, without the lines of code that raised them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        echo(f"warning: {warning.message}", err=True)


def importance_facts(source: Any) -> list[dict[str, Any]]:
    """Return the importance of each parameter of a space with its interval, as plain values."""
    from bough.plotting.parameters import importance_data  # it takes a while to import

    rows = zip(*importance_data(source), strict=True)
    return [
        {"name": name, "share": float(share), "low": float(low), "high": float(high)}
        for name, share, low, high in rows
    ]


def importance_lines(facts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the importance of each parameter as labeled texts."""
    width = max((len(printable(row["name"])) for row in facts), default=0)
    return [
        (
            "" if i else "importance",
            f"{printable(row['name']):<{width}}  {row['share']:.2f} "
            f"[{row['low']:.2f}, {row['high']:.2f}] of the variance",
        )
        for i, row in enumerate(facts[:MOST_PARAMETERS])
    ]


# ---------------------------------------------------------------------- modules of the user


def load_module(where: str) -> ModuleType:
    """Return a file, imported as Python would run it, or a module."""
    context = click.get_current_context(silent=True)
    with prints_apart(as_json=context is not None and bool(context.params.get("as_json"))):
        return _load_module(where)


def _load_module(where: str) -> ModuleType:
    try:
        if not where.endswith(".py"):
            sys.path.insert(0, "")
            return importlib.import_module(where)
        spec = importlib.util.spec_from_file_location(pathlib.Path(where).stem, where)
        if spec is None or spec.loader is None or not pathlib.Path(where).exists():
            raise click.UsageError(f"there is no file {where}.")
        sys.path.insert(0, str(pathlib.Path(where).parent.resolve()))  # as Python itself does
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # so that its functions can go to other processes
        spec.loader.exec_module(module)
        return module
    except click.UsageError:
        raise
    except (Exception, SystemExit) as error:  # a module of the user may raise anything
        raise click.UsageError(f"cannot import {where}: {error!r}") from None


def function_of(module: ModuleType, where: str, name: str) -> Callable[[Any], Any]:
    """Return a function of a module that was loaded from `where`."""
    function = getattr(module, name, None)
    if not callable(function):
        raise click.UsageError(f"{where} has no function {name}.")
    return function  # type: ignore[no-any-return]


def split_name(text: str, domain: str) -> tuple[str, str, str]:
    """Return the parts of FILE.py:FUNCTION or FILE.py:FUNCTION:DOMAIN.

    The name of the domain is by default that of its class in lower case.
    """
    where, *names = text.split(":")
    if not where or len(names) not in (1, 2) or not all(names):
        raise click.UsageError(f"{text!r} is not FILE.py:FUNCTION or FILE.py:FUNCTION:{domain}.")
    return where, names[0], names[1] if len(names) == 2 else domain.lower()


def domain_of(module: ModuleType, where: str, kind: type[Domain], name: str) -> Domain:
    """Return the tree or space of a module by its name."""
    found = getattr(module, name, None)
    if isinstance(found, kind):
        return found
    others = [key for key, value in vars(module).items() if isinstance(value, kind)]
    hint = f": write {name} = bough.{kind.__name__}(...) there."
    if others:
        hint = f"; it has {', '.join(others)}: name one after a second colon."
    raise click.UsageError(f"{where} has no bough.{kind.__name__} called {name}{hint}")
