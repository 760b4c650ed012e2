"""What is installed is what is in `src/`, and imports quickly."""

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


def test_nothing_heavy_is_imported():
    code = "import sys, bough; print(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "bough" in modules
    heavy = {"scipy", "click", "tqdm", "matplotlib", "sklearn", "cython", "Cython"}
    assert not heavy & set(modules)


def test_theory_knows_kernels_and_confidence_only():
    """Nor does `import bough` import it: no search needs it."""
    code = "import sys, bough; print(*[m for m in sys.modules if m.startswith('bough.theory')])"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.split() == []
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
