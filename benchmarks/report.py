"""Cost of the report: `python -m benchmarks.report [trials ...]`.

Makes studies, writes their pages, and opens these in chromium. Needs the extras `report` and
`browser`, and chromium.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import time

import bough
from benchmarks.timing import timed
from bough.problems import named
from bough.report import write
from bough.studies.study import open_to_read

#: A script that measures the milliseconds of an action of the reader, until it is painted.
ACT = """async (act) => {
  const begin = performance.now();
  act();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - begin;
}"""
ACTS = {
    "sort by value": "() => document.querySelector('[data-sort=value]').click()",
    "down the tree": "() => document.querySelector('#tree-children button').click()",
    "another step": "() => { const s = document.getElementById('slice-name');"
    " s.selectedIndex = 3; s.dispatchEvent(new Event('change')); }",
}


def main():
    sizes = [int(float(word)) for word in sys.argv[1:]] or [1_000, 10_000, 100_000]
    names = ["trials", "study opened", "page made", "size", "to read", "first chart", *ACTS]
    print("| " + " | ".join(names) + " |")
    print("|---" * len(names) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for trials in sizes:
            cells = measured(pathlib.Path(folder), trials)
            print("| " + " | ".join([f"{trials:,}", *cells]) + " |", flush=True)


def measured(folder, trials):
    file, page = folder / f"{trials}.db", folder / f"{trials}.html"
    problem = named("smooth", seed=0)
    with bough.Study.create(file, problem.tree, rng=0, durability="process") as study:
        bough.maximize(problem, problem.tree, budget=trials, study=study)
    # (Of the processor: the machine may be shared.)
    opened, study = timed(lambda: open_to_read(file), time.process_time)
    made, _ = timed(lambda: write(study, page), time.process_time)
    cells = [f"{opened:.1f} s", f"{made:.1f} s", f"{os.path.getsize(page) / 1e6:.1f} MB"]
    return cells + browsed(page)


def browsed(file):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        page.goto(file.as_uri())
        ready = float(page.evaluate("document.documentElement.dataset.ready"))
        page.wait_for_selector("#convergence-chart .plot-container")
        chart = page.evaluate("performance.now()")
        for section in ("tree", "parameters", "model"):
            page.evaluate(f"document.getElementById('{section}').scrollIntoView()")
            page.wait_for_selector(f"#{section}[data-drawn]")
        acts = [page.evaluate(f"() => ({ACT})({act})") for act in ACTS.values()]
        browser.close()
    return [f"{ready / 1000:.1f} s", f"{chart / 1000:.1f} s", *(f"{ms:.0f} ms" for ms in acts)]


if __name__ == "__main__":
    main()
