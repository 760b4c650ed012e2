"""Write the reference pages: `python docs/reference.py`.

`api.md` is made from the docstrings and the signatures in the source, and the end of `commands.md`
from the help of the commands. A test compares both with what is committed.
"""

import ast
import functools
import importlib
import inspect
import pathlib
import re
import textwrap

import click

import bough
from bough.cli import main

DOCS = pathlib.Path(__file__).parent
SOURCE = DOCS.parent / "src"
MARK = "<!-- The rest of this page is written by docs/reference.py. -->"

#: Sections of the API page: names with their members; None stands for all that have a docstring.
SECTIONS = {
    "Search": {
        "bough.maximize": None,
        "bough.minimize": None,
        "bough.Result": None,
        "bough.Tree": None,
        "bough.GPTS": None,
        "bough.Arm": (),
        "bough.Certificate": (),
        "bough.Belief": None,
        "bough.Confidence": None,
        "bough.Study": None,
        "bough.Trial": ("steps",),
    },
    "Spaces": {
        "bough.Space": ("tree", "size", "encode", "decode", "to_json", "from_json"),
        "bough.Float": (),
        "bough.Int": (),
        "bough.Choice": (),
        "bough.Forest": ("ask", "tell", "fail", "forget", "best", "certificate"),
        "bough.SpaceSearcher": (),
        "bough.SpaceCertificate": (),
    },
    "scikit-learn": {"bough.integrations.sklearn.BoughSearchCV": ("fit",)},
    "Optuna": {"bough.integrations.optuna.GPTSSampler": ()},
    "Planning": {
        "bough.planning.plan": None,
        "bough.planning.Agent": None,
        "bough.planning.simulator_of": None,
        "bough.planning.recorded": None,
    },
    "Cycles": {
        "bough.planning.cycles.GPCycle": ("act", "learn", "certificate", "observations"),
        "bough.planning.cycles.UCycle": ("act", "learn", "certificate", "observations"),
        "bough.planning.cycles.CycleCertificate": (),
        "bough.planning.cycles.run": None,
        "bough.planning.cycles.CycleRun": ("mean", "certificate"),
        "bough.planning.cycles.NotDeterministic": (),
        "bough.planning.cycles.NotCommunicating": (),
    },
    "Games": {
        "bough.games.open_spiel": None,
        "bough.games.match": None,
        "bough.games.Position": None,
        "bough.games.Player": ("choose", "think", "effects"),
        "bough.games.UCT": (),
        "bough.games.RAVE": (),
        "bough.games.GRAVE": (),
        "bough.games.AlphaBeta": ("choose", "values"),
        "bough.games.OpenSpielMCTS": (),
        "bough.games.RandomPlayer": (),
        "bough.games.Decision": (),
        "bough.games.MoveValue": (),
        "bough.games.MatchResult": (
            "score", "interval", "elo", "wins", "draws", "losses", "seconds_per_move", "to_pandas",
        ),
        "bough.games.MatchGame": (),
    },
    "Generation": {
        "bough.generate": None,
        "bough.agenerate": None,
        "bough.GenerativeSearch": (
            "ask", "tell", "fail", "forget", "best", "nodes", "pending", "calls", "failed",
            "expected_costs", "can_pay", "curves",
        ),
        "bough.Answer": (),
        "bough.GenerationResult": (
            "best", "top", "lineage", "nodes", "tree", "calls", "failed", "cost", "to_pandas",
            "best_by_cost", "plot", "report",
        ),
        "bough.generation.Node": ("lineage",),
        "bough.generation.Job": (),
        "bough.generation.GenerationStudy": ("open", "ask", "tell", "fail", "close"),
        "bough.generation.read_treequest": None,
        "bough.generation.read_log": None,
        "bough.generation.write_log": None,
        "bough.generation.result_of": None,
    },
    "Exceptions": {
        "bough.Exhausted": (),
        "bough.ObjectiveError": (),
        "bough.PoolError": (),
        "bough.StudyError": (),
        "bough.WorkerDied": (),
    },
    "Stop rules": {
        f"bough.run.stopping.{name}": ()
        for name in (
            "Budget", "WallTime", "Patience", "Target", "ExpectedGap", "Gap", "IntervalWidth",
        )
    },
    "Constraints": {"bough.Outcome": (), "bough.exceptions.Infeasible": ()},
    "Pruning": {
        "bough.RunningTrial": ("report", "should_stop"),
        "bough.SuccessiveHalving": (),
        "bough.ProbabilityOfImprovement": (),
        "bough.run.pruning.PruneRule": ("thresholds",),
    },
    "Kernels, means, learning": {
        **{f"bough.kernels.{name}": () for name in ("Linear", "Gaussian", "Discounted",
           "Geometric", "Chi", "Labeled", "Same", "RBF", "Matern", "LinearFeatures", "Paths")},
        "bough.kernels.Kernel": None,
        "bough.kernels.LabelKernel": None,
        "bough.kernels.Hyperparameter": (),
        "bough.kernels.LogNormal": (),
        "bough.kernels.parse": None,
        "bough.means.Heuristic": (),
        "bough.learning.fit": None,
        "bough.learning.choose": None,
    },
    "Searchers": {
        "bough.Searcher": None,
        "bough.UCT": (),
        "bough.RandomSearch": (),
        "bough.GPB": (),
        **{f"bough.baselines.{name}": () for name in sorted(
            set(bough.baselines.__all__) - {"UCT", "RandomSearch", "GPB"})
        },
        "bough.searchers.register": None,
        "bough.searchers.base.Resumable": None,
        "bough.testing.SearcherConformance": (),
    },
    "Theory": {
        f"bough.theory.{name}": () for name in (
            "information_gain", "regret_bound", "node_regret_bound", "plays_needed", "spectrum",
            "Siblings", "Product",
        )
    },
    "Figures and the report": {
        **{f"bough.plotting.{name}": () for name in bough.plotting.__all__},
        "bough.report.write": None,
        "bough.report.page": None,
        "bough.report.write_match": None,
        "bough.report.match_page": None,
        "bough.report.fall_of": None,
        "bough.report.Fall": (),
    },
    "Problems and experiments": {
        "bough.problems.named": None,
        "bough.problems.Problem": None,
        "bough.experiments.compare": None,
    },
}  # fmt: skip

# ---------------------------------------------------------------------- signatures


@functools.cache
def module_text(name):
    """Return the source of a module, whether it is compiled or not."""
    place = SOURCE / name.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return file.read_text()


@functools.cache
def module_source(name):
    """Return the parsed source of a module."""
    return ast.parse(module_text(name))


def definition(thing):
    """Return the syntax tree of a function or a class."""
    found = module_source(thing.__module__)
    for name in thing.__qualname__.split("."):
        found = next(node for node in found.body if getattr(node, "name", None) == name)
    return found


def signature(thing, name):
    """Return the call of a function or a class, as its source has it."""
    if inspect.isclass(thing):
        arguments, result = constructor(thing), None
    else:
        node = definition(inspect.unwrap(thing))
        arguments, result = listed(node.args), node.returns
        if arguments and arguments[0] in ("self", "cls"):
            arguments = arguments[1:]
    end = f") -> {plain(result)}" if result is not None else ")"
    line = f"{name}({', '.join(arguments)}{end}"
    if len(line) <= 90:
        return line
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), end])


def constructor(thing):
    """Return the arguments of a class: of its __init__, or the fields of a dataclass."""
    for base in thing.__mro__:
        if not base.__module__.startswith("bough"):
            continue
        body = definition(base).body
        made = [node for node in body if getattr(node, "name", None) in ("__init__", "__new__")]
        if made:
            return listed(made[0].args)[1:]
        if "__dataclass_fields__" in vars(base):
            return fields(thing)
    return []


def fields(thing):
    """Return the arguments of the constructor of a dataclass."""
    found = {}
    for base in reversed([base for base in thing.__mro__ if base.__module__.startswith("bough")]):
        for node in definition(base).body:
            if isinstance(node, ast.AnnAssign) and node.target.id in thing.__dataclass_fields__:
                field = thing.__dataclass_fields__[node.target.id]
                if field.init and not field.name.startswith("_"):
                    default = "" if node.value is None else f" = {ast.unparse(node.value)}"
                    found[field.name] = f"{field.name}: {plain(node.annotation)}" + (
                        " = ..." if default.startswith(" = field(") else default
                    )
    return list(found.values())


def commented(thing):
    """Return the fields of a class that have comments of the form `#: ...`, as a list."""
    lines, found = module_text(thing.__module__).splitlines(), []
    for node in definition(thing).body:
        if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_"):
            comment = lines[node.end_lineno - 1].partition("#: ")[2]
            before = lines[node.lineno - 2].strip()
            if not comment and before.startswith("#: "):
                comment = before[3:]
            if comment:
                found.append(f"- `{node.target.id}`: {escaped(comment)}")
    return "\n".join(found)


def listed(arguments):
    """Return each argument of a function as text."""
    found = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    for argument, default in zip(positional, defaults):
        found.append(written(argument, default))
        if arguments.posonlyargs and argument is arguments.posonlyargs[-1]:
            found.append("/")
    if arguments.vararg:
        found.append(f"*{written(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        found.append("*")
    found += map(written, arguments.kwonlyargs, arguments.kw_defaults)
    return found + ([f"**{written(arguments.kwarg, None)}"] if arguments.kwarg else [])


def written(argument, default):
    """Return an argument with its annotation and its default."""
    if argument.annotation is None:
        return argument.arg + (f"={ast.unparse(default)}" if default else "")
    typed = f"{argument.arg}: {plain(argument.annotation)}"
    return typed + (f" = {ast.unparse(default)}" if default else "")


def plain(annotation):
    """Return an annotation without the quotes of a forward reference."""
    quoted = isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
    return annotation.value if quoted else ast.unparse(annotation)


# ---------------------------------------------------------------------- docstrings


def escaped(text):
    """Escape what Markdown would take for emphasis or HTML, outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([*<])", r"\\\1", p) for p in parts)


def paragraphs(text):
    """Return prose and examples as Markdown."""
    found = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        code = part.lstrip().startswith(">>>")
        if code and found and found[-1].startswith("```pycon"):
            found[-1] = found[-1].removesuffix("```") + "\n" + part + "\n```"
        elif code:
            found.append(f"```pycon\n{part}\n```")
        else:
            found.append(part if part.startswith("    ") else escaped(part))
    return "\n\n".join(found)


def items(text):
    """Return a section of parameters as a list."""
    found = []
    for head, body in re.findall(r"^(\S.*)\n((?:[ \t]+.*\n|\s*\n)*)", text.rstrip() + "\n", re.M):
        names, _, kind = head.partition(" : ")
        names = ", ".join(f"`{name}`" for name in names.split(", "))
        words = escaped(" ".join(textwrap.dedent(body).split()))
        found.append(f"- {names}{f' ({escaped(kind)})' if kind else ''}: {words}".rstrip(": "))
    return "\n".join(found)


def described(docstring):
    """Return a docstring in the style of NumPy as Markdown."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring), flags=re.M)
    found = [paragraphs(parts[0])]
    for title, text in zip(parts[1::2], parts[2::2]):
        if title not in ("Examples", "Notes", "References"):
            listing, example, code = text.partition("\n>>>")
            text = f"{items(listing)}\n\n{paragraphs(example.lstrip() + code)}"
        else:
            text = paragraphs(text)
        found.append(f"**{title}**\n\n{text.strip()}")
    return "\n\n".join(part for part in found if part.strip())


# ---------------------------------------------------------------------- pages


def resolved(name):
    """Return the object of a dotted name."""
    place, thing = name.split("."), None
    for end in range(len(place), 0, -1):
        try:
            thing = importlib.import_module(".".join(place[:end]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, place[end:], thing)
    raise ModuleNotFoundError(name)


def members(thing, chosen):
    """Return the members of a class that are described, with their names."""
    if not inspect.isclass(thing):
        return {}
    if chosen is None:
        bases = [base for base in thing.__mro__ if base.__module__.startswith("bough")]
        names = dict.fromkeys(name for base in bases for name in vars(base))
        chosen = [name for name in names if not name.startswith("_")]
    found = {name: inspect.getattr_static(thing, name) for name in chosen}
    return {
        name: member
        for name, member in found.items()
        if inspect.getdoc(getattr(thing, name))
        and (callable(member) or is_property(member) or hasattr(member, "__func__"))
    }


def is_property(member):
    """Return whether a member is read without a call."""
    return isinstance(member, property | functools.cached_property)


def entry(name, chosen):
    """Return the description of a function or a class."""
    thing = resolved(name)
    parts = [f"### {name}"]
    if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception)):
        parts.append(f"```py\n{signature(thing, name.rpartition('.')[2])}\n```")
    parts.append(described(thing.__doc__))
    if inspect.isclass(thing) and commented(thing):
        parts.append(f"**Attributes**\n\n{commented(thing)}")
    for member, found in members(thing, chosen).items():
        call = f"property {member}" if is_property(found) else ""
        if not call:
            call = signature(getattr(found, "__func__", found), member)
        parts.append(f"```py\n{call}\n```\n\n{described(inspect.getdoc(getattr(thing, member)))}")
    return "\n\n".join(parts)


def api_page():
    """Return the API page."""
    head = (
        "# API\n\n<!-- This page is written by docs/reference.py. -->\n\n"
        "Everything that is public, from its docstrings. The guides have more examples."
    )
    sections = [
        "\n\n".join([f"## {title}", *(entry(name, chosen) for name, chosen in names.items())])
        for title, names in SECTIONS.items()
    ]
    return "\n\n".join([head, *sections]) + "\n"


def helps(command, name, parent=None):
    """Yield the words of every command with its help, as the command prints it."""
    settings = {"terminal_width": 90, **command.context_settings}
    with click.Context(command, parent, info_name=name, **settings) as context:
        yield context.command_path, command.get_help(context)
        if isinstance(command, click.Group):
            for name in sorted(command.list_commands(context)):
                yield from helps(command.get_command(context, name), name, context)


def commands_page(text):
    """Return the page of the commands with its generated part written again."""
    parts = [text.partition(MARK)[0].rstrip(), MARK, "## Reference"]
    parts += [f"### {words}\n\n```text\n{said}\n```" for words, said in helps(main, "bough")]
    return "\n\n".join(parts) + "\n"


PAGES = {"api.md": lambda text: api_page(), "commands.md": commands_page}

if __name__ == "__main__":
    for page, made in PAGES.items():
        text = (DOCS / page).read_text()
        (DOCS / page).write_text(made(text))
