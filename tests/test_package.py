"""The installed files, the public names, and what is imported when."""

import ast
import pathlib
import subprocess
import sys
from importlib import resources

import pytest

import bough

SOURCE = pathlib.Path(__file__).parent.parent / "src" / "bough"


def files(folder):
    found = {str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if p.is_file()}
    return {name for name in found if "__pycache__" not in name}


def test_everything_in_the_source_is_installed():
    sources = {name for name in files(SOURCE) if pathlib.Path(name).name != "meson.build"}
    modules = {name.removesuffix(".pxd") for name in sources if name.endswith(".pxd")}
    assert modules
    sources -= {name + ending for name in modules for ending in (".py", ".pxd")}
    installed = files(str(resources.files("bough")))
    compiled = {name for name in installed if name.endswith((".so", ".pyd"))}
    assert {name.split(".")[0] for name in compiled} == {"_cyutility", *modules}
    assert installed - compiled == sources


def imported(code):
    """Return the modules that a new process has imported once it has run some code."""
    code += "; import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_bough_imports_nothing_else():
    found = imported("import bough")
    assert {name for name in found if name.split(".")[0] == "bough"} == {"bough"}
    heavy = {
        "numpy",
        "scipy",
        "click",
        "tqdm",
        "asyncio",
        "dataclasses",
        "multiprocessing",
        "sqlite3",
    }
    assert not heavy & found


def test_a_search_imports_what_it_needs():
    found = imported(
        "import bough; tree = bough.Tree(2, 3); "
        "bough.maximize(sum, tree, budget=5, searcher=bough.UCT(tree, rng=0), progress=False)"
    )
    heavy = {
        "scipy",
        "click",
        "tqdm",
        "asyncio",
        "multiprocessing",
        "matplotlib",
        "sklearn",
        "Cython",
    }
    assert not heavy & {name.split(".")[0] for name in found}
    others = {
        "cli",
        "experiments",
        "games",
        "generation",
        "planning",
        "plotting",
        "report",
        "theory",
    }
    assert not {f"bough.{name}" for name in others} & found


def test_lists_of_public_names_agree():
    imports = {}
    for node in ast.walk(ast.parse((SOURCE / "__init__.py").read_text())):
        if isinstance(node, ast.ImportFrom):
            imports |= {alias.name: node.module for alias in node.names}
    del imports["import_module"], imports["TYPE_CHECKING"], imports["Any"]
    assert sorted(imports) == sorted(bough.__all__)
    assert {name: home for name, home in imports.items() if home != "bough"} == bough._MODULES
    assert set(bough.__all__) <= set(dir(bough))


@pytest.mark.parametrize(
    "name", ["baselines.UCT", "searchers.UCT", "games.Player", "problems", "exceptions", "report"]
)
def test_modules_are_imported_on_first_use(name):
    imported(f"import bough; bough.{name}")


def test_theory_knows_kernels_and_confidence_only():
    allowed = {"bough", "bough._validation", "bough.confidence", "bough.kernels"}
    for file in (SOURCE / "theory").glob("*.py"):
        for line in ast.walk(ast.parse(file.read_text())):
            if isinstance(line, ast.ImportFrom) and line.module.split(".")[0] == "bough":
                assert line.module in allowed or line.module.startswith("bough.theory"), file.name
                if line.module == "bough":
                    assert {name.name for name in line.names} <= {"kernels", "theory"}, file.name


def test_public_names_exist():
    assert sorted(bough.__all__) == sorted(set(bough.__all__))
    for name in bough.__all__:
        assert getattr(bough, name) is not None


def test_names_of_baselines_are_found():
    with pytest.raises(AttributeError, match="it is bough.baselines.BAST"):
        bough.BAST  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'mean'$"):
        bough.mean  # noqa: B018
