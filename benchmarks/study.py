"""The study of docs/experiments: `python -m benchmarks.study [--seeds 50]`.

It runs one `bough compare`, and writes tables, figures and pages; finished runs are stored in
`runs.jsonl` there, so the same command resumes after an interruption. All statements about the
outcome are computed from the runs.
"""

import argparse
import pathlib
import shlex

from bough.experiments import compare, write

#: The problems, with their descriptions.
PROBLEMS = {
    "drawn:gaussian:2:noise=0.1": "drawn from the prior of a Gaussian kernel, little noise",
    "drawn:gaussian:2:noise=0.5": "the same, much noise",
    "drawn:linear:noise=0.1": "drawn from the prior of the linear kernel, little noise",
    "drawn:linear:noise=0.5": "the same, much noise",
    "discounted:uniform:noise=0.05": "a discounted tree of 5^10 paths, little noise",
    "discounted:bernoulli": "the same with steps that pay 0 or 1: much noise",
    "smooth:noise=0.02": "a discounted tree with weights that sum to 1, very little noise",
    "smooth:noise=0.3": "the same, much noise",
    "noisy-branin": "a continuous function on a partition of its box",
    "trap": "the tree of Coquelin and Munos where averages mislead, without noise",
}
SEARCHERS = {
    "gpts": "`GPTS(tree)`, without arguments: kernel, noise and mean are fitted",
    "gpts-known": "`GPTS` with the kernel, noise and mean of the problem, if it has a prior",
    "gpts:select=arm": "`GPTS` with fitted hyperparameters, by the rule of the paper",
    "uct": "`UCT`, tuned",
    "bast": "`BAST`, tuned",
    "hoo": "`HOO`, tuned",
    "olop": "`OLOP`, tuned",
    "kl_olop": "`KLOLOP`, tuned",
    "random": "`RandomSearch`",
}

PAGE = """\
# Experiments: a comparison of searchers

{problems} problems with known optima, {seeds} seeds each, {budget:,} plays per run:

    {command}

- [summary.md](summary.md): where `gpts` is ahead of the others, where it is behind, and its cost.
- [regrets.md](regrets.md), [regrets.csv](regrets.csv): simple and cumulative regret and plays of
  sub-optimal paths against plays, and the constants that were tuned. [tuning.csv](tuning.csv) has
  the score of every constant that was tried.
- [seconds.md](seconds.md): the same against the seconds spent in `ask` and `tell`.
- the folder `figures`: the same as one figure for each problem.

`python -m benchmarks.study` writes these pages, including this one. All statements about the
results are computed from the runs.

## Problems and searchers

| problem | description |
|---|---|
{problem_rows}

| searcher | description |
|---|---|
{searcher_rows}

UCB1, LinRel, GPB, Gittins, Lookahead and TwoLevel compare all paths at every play: most of these
trees are too large for them.

## Notes

- Each seed is another problem, the same for all searchers, including the noise of each play.
- The constants of the searchers without a model are tuned for each problem, by their mean simple
  regret on {tuning_seeds} other seeds. Grids (`bough.experiments.GRIDS`) are
  extended while the best value is at one of their ends, so that no searcher is limited by its grid.
  No constant of `gpts` was tuned for a single problem.
- Sums of rewards are observed, not the rewards of single steps, for which OLOP was designed. If a
  problem has no discount, that of OLOP is tuned, too.
- Intervals are bootstrap intervals of means over seeds, at 95 %. Searchers are compared by
  paired differences. Of many comparisons between equals, about one in forty counts as ahead, and
  one in forty as behind.
- Seconds are those of `ask` and `tell` on one machine. Rewards here take microseconds; if they
  take milliseconds, the cost of a searcher hardly matters.
"""


def main():
    """Run the comparison and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--tuning-seeds", type=int, default=16)
    parser.add_argument("--budget", type=int, default=3000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/experiments"))
    given = parser.parse_args()
    words = ["bough", "compare", *PROBLEMS, "--searchers", ",".join(SEARCHERS)]
    words += ["--budget", str(given.budget), "--seeds", str(given.seeds)]
    command = shlex.join([*words, "--tuning-seeds", str(given.tuning_seeds)])
    given.out.mkdir(parents=True, exist_ok=True)
    found = compare(
        list(PROBLEMS), list(SEARCHERS), budget=given.budget, seeds=given.seeds,
        tuning_seeds=given.tuning_seeds, workers=given.workers, study=given.out / "runs.jsonl",
    )  # fmt: skip
    for figure in (given.out / "figures").glob("*.png"):  # of problems that are no longer there
        figure.unlink()
    for file in write(found, given.out, command):
        print("written:", file)
    page = PAGE.format(
        command=command,
        problems=len(PROBLEMS),
        problem_rows="\n".join(f"| `{name}` | {what} |" for name, what in PROBLEMS.items()),
        searcher_rows="\n".join(f"| `{name}` | {what} |" for name, what in SEARCHERS.items()),
        seeds=given.seeds,
        tuning_seeds=given.tuning_seeds,
        budget=given.budget,
    )
    (given.out / "README.md").write_text(page, encoding="utf-8")
    for (problem, searcher), why in found.failures.items():
        print(f"not run: {searcher} on {problem}: {why}")


if __name__ == "__main__":
    main()
