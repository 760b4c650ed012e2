"""The command `bough bound`."""

import json

import pytest
from click.testing import CliRunner

from bough import theory
from bough.cli import main
from bough.kernels import Gaussian

ISSUE = "bound --branching 200 --depth 10 --kernel gaussian:5 --noise 1 --plays 1e9"


def run(line):
    return CliRunner().invoke(main, line.split())


def test_the_table():
    result = run(ISSUE)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("about 10^23 arms, gaussian:5, noise 1, 1e+09 plays")
    rows = {
        line.split()[0]: line.split() for line in result.output.splitlines() if line[:2] == "  "
    }
    assert rows["exact"][1] == "1.1488e+08"
    assert rows["greedy"][1] == "1.4179e+10"
    assert rows["best"][1] == "1.416e+10"
    assert rows["bast"][1] == "-"
    for name in ("waterfilling", "uniform", "hadamard", "theorem", "sum-beta", "ucb", "olop"):
        assert name in rows, name


def test_the_number_of_arms_is_not_rounded():
    line = "bound --branching 7 --depth 17 --kernel linear --noise 1 --plays 5"
    assert run(line).output.startswith(f"{7**17:,} arms")


def test_json():
    line = ISSUE + " --json --regret 0.1 --smallest-gap 0.01 --norm 2"
    facts = json.loads(run(line).output)
    setting = (Gaussian(5.0), 200, 10, 1.0)
    assert facts["plays"] == 10**9
    assert facts["information_gain"]["exact"] == theory.information_gain(*setting, 10**9)
    assert facts["regret"]["best"] == theory.regret_bound(*setting, 10**9)
    assert facts["average_regret"] == facts["regret"]["best"] / 1e9
    assert facts["plays_needed"] == theory.plays_needed(*setting, 0.1)
    assert facts["regret"]["agnostic"] > facts["regret"]["best"]
    assert facts["peers"]["bast"] > 0
    huge = "bound --branching 10 --depth 110 --kernel linear --noise 1 --plays 5 --smallest-gap 0.1"
    assert json.loads(run(huge + " --regret 0.1 --json").output)["plays_needed"] is None
    assert "plays needed: more than 1e100" in run(huge + " --regret 0.1").output


def test_other_kernels_and_trees():
    line = "bound --branching 4 --depth 5 --kernel discounted:0.5 --noise 0.3 --plays 1e5 --json"
    facts = json.loads(run(line).output)
    assert facts["peers"]["olop"] == pytest.approx(10**5 * (5 * 10**5) ** -0.5)
    for line in (
        "bound --branching 1 --depth 3 --kernel linear --noise 1 --plays 5",
        "bound --branching 2 --depth 0 --kernel linear --noise 1 --plays 5 --smallest-gap 1",
        "bound --branching 5 --depth 3 --kernel geometric:.5 --noise .1 --plays 1",
        "bound --branching 10 --depth 400 --kernel gaussian:1e6 --noise 1e-8 --plays 1e9",
        "bound --branching 5 --depth 3 --kernel linear --noise 1 --plays 9 --smallest-gap 1e-170",
        "bound --branching 5 --depth 3 --kernel linear --noise 1 --plays 9 --norm 1e200",
    ):
        result = run(line)
        assert result.exit_code == 0, result.output
        assert "nan" not in result.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (ISSUE.replace("--noise 1", "--noise 0"), "noise must be above zero, got 0"),
        (ISSUE.replace("1e9", "1.5"), "--plays must be a whole number, got '1.5'"),
        (ISSUE.replace("1e9", "many"), "--plays must be a number such as 1e9, got 'many'"),
        (ISSUE.replace("1e9", "1e500"), "--plays must be at most 1e100"),
        (ISSUE.replace("1e9", "nan"), "--plays must be a whole number"),
        (ISSUE.replace("1e9", "0"), "--plays must be at least 1, got '0'"),
        (ISSUE.replace("--plays 1e9", "--plays=-1e99999999"), "at least 1, got '-1e99999999'"),
        (ISSUE.replace("--plays 1e9", "--plays=-1e5000"), "at least 1, got '-1e5000'"),
        (ISSUE.replace("200", "0"), "branching must be at least 1, got 0"),
        (ISSUE.replace("gaussian:5", "gauss"), "--kernel must be one of"),
        (ISSUE + " --delta 2", "'--delta': 2.0 is not in the range 0<x<1"),
        (ISSUE + " --smallest-gap 0", "'--smallest-gap': 0.0 is not in the range x>0"),
        (ISSUE + " --regret 0", "'--regret': 0.0 is not in the range x>0"),
        (ISSUE.replace("--depth 10 ", ""), "Missing option '--depth'"),
    ],
)
def test_bad_input(line, message):
    result = run(line)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
