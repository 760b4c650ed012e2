// The sections of the page, its state, and the changes of a running study. Charts are drawn when
// they come into view.

function tile(label, figure, more, name) {
  return el("div", { class: name === "wide" ? "tile wide" : "tile" }, el("p", { class: "label", text: label }),
    el("p", { class: "figure" }, figure), more ? el("p", { class: "more", text: more }) : null);
}

const UNKNOWN = "The study file does not contain the whole tree or space: a part of it is a function or an object of the program. "
  + "So this page has no certificate and no belief; call result.report(...) in the program for these.";

// A certificate in words. (Only searchers of trees have an expected best.)
function certified(certificate, { best, space, replayed }) {
  if (!certificate) return !best ? [] : [replayed ? "This searcher has no certificate." : UNKNOWN];
  if (certificate.lower === null && certificate.upper === null) return ["There is no certificate yet: there are too few observations."];
  if (certificate.gap === null) return ["There is no certificate: the number of paths is unknown, the prior mean is a function, or the kernel is a function of whole paths."];
  const things = space ? "params are" : "path is";
  const than = space ? `{ ${pairs(certificate.params)} }` : shortened(certificate.path) || "()";
  const said = [`With probability ${say(certificate.confidence)} no ${things} better than ${than} by more than the gap`
    + (certificate.conditional ? ", given the fitted kernel, noise and mean." : ".")];
  if (certificate.partitions) {
    said.push(`These are the bounds of partition ${certificate.partition + 1} of ${certificate.partitions}, which asks next. `
      + "They hold for the cells of this partition, not for single points; other partitions have other bounds.");
  }
  return said;
}

// A path within a sentence; it may have a thousand steps.
const shortened = (path) => (path.length > 80 ? `${path.slice(0, 60)} … (${path.split(" ").length} steps)` : path);

const pairs = (params) => Object.entries(params ?? {}).map(([k, v]) => `${k} = ${typeof v === "number" ? say(v) : v}`).join(", ");

function drawSummary(state) {
  const { summary, certificate } = state.snapshot;
  const { best, observed, expected, warning, trials, space } = summary;
  const tiles = [];
  if (best) {
    const what = best.params ? pairs(best.params) || "{}" : best.decoded ?? (best.path || "()");
    tiles.push(tile(best.params ? "best params" : summary.plan ? "best plan" : "best path", el("span", { id: "best-path", text: what }),
      !space && (best.params || best.decoded) ? `path ${best.path}` : null, "wide"));
    const measured = best.visits && best.value !== null ? `, measured ${times(best.visits)}: ${say(best.value, 4)}` : "";
    if (best.std === null) tiles.push(tile("value", el("span", { id: "best-mean" }, number(best.mean)), `evaluated ${times(best.visits)}`));
    else tiles.push(tile("its mean", el("span", { id: "best-mean" }, number(best.mean)),
      `± ${say(best.std, 3)}${measured || `, evaluated ${times(best.visits)}`}`));
    if (observed && !summary.plan && best.std !== null) {
      const where = observed.params ? pairs(observed.params) || "{}" : shortened(observed.path) || "()";
      tiles.push(tile("best observed value", el("span", { id: "best-observed" }, number(observed.value)),
        observed.same ? space ? "at the best params" : "at the best path" : `measured at ${where}`));
    }
    if (expected) {
      tiles.push(tile("expected best", el("span", { id: "best-value" }, number(expected.mean, 4)), `± ${say(expected.std, 2)}`));
      tiles.push(tile("expected loss", el("span", { id: "expected-gap" }, number(expected.gap, 2)), "of this path"));
    }
  } else tiles.push(tile(space ? "best params" : "best path", "none yet", "no observations", "wide"));
  if (certificate && certificate.gap !== null) {
    const down = summary.direction === "minimize";
    tiles.push(tile("gap", el("span", { id: "gap" }, number(certificate.gap)),
      `at confidence ${say(certificate.confidence)}`));
    tiles.push(tile(`${down ? "lower" : "upper"} bound`,
      el("span", { id: "bound" }, number(down ? certificate.lower : certificate.upper)),
      `of all ${space ? "params" : "paths"}`
        + (certificate.partitions ? `, by partition ${certificate.partition + 1} of ${certificate.partitions}` : "")
        + (certificate.partitions || certificate.conditional ? ", given the fitted model" : "")));
  }
  tiles.push(tile("trials", el("span", { id: "completed" }, number(trials.completed)),
    [trials.infeasible ? `${say(trials.infeasible)} infeasible` : "", trials.pruned ? `${say(trials.pruned)} pruned` : "", trials.failed ? `${say(trials.failed)} failed` : "", trials.running ? `${say(trials.running)} running` : ""]
      .filter(Boolean).join(", ") || "all completed"));
  if (space) {
    tiles.push(tile("parameters", say(space.parameters), space.points === null ? "infinitely many points" : `${space.points} points`));
  } else {
    tiles.push(tile("paths in the tree", summary.arms ?? "unknown",
      summary.depth === null ? "" : `depth ${summary.depth}`));
  }
  tiles.push(tile(`${summary.direction}d by`, summary.searcher ?? "unknown",
    summary.stopped_by ? `stopped by ${summary.stopped_by}` : ""));
  body("summary").replaceChildren(el("div", { class: "tiles" }, ...tiles),
    ...(expected ? [el("p", { class: "note", id: "expected", text: `The best path of all is worth ${say(expected.mean, 4)} ± ${say(expected.std, 2)}; `
      + `the expected loss of this one is ${say(expected.gap, 2)}.` })] : []),
    ...(warning ? [el("p", { class: "note", id: "warning", text: `warning: ${warning}` })] : []),
    ...certified(certificate, summary).map((text) => el("p", { class: "note", text })));
}

function makeEmpty(section, text = "No observations yet.") {
  body(section).replaceChildren(el("p", { class: "note", text }));
}

// The partition that is shown, if there are several.
function whose(state) {
  const { partition, partitions } = state.snapshot.tree;
  return partitions > 1 ? `partition ${partition + 1} of ${partitions}` : "";
}

// The notes below charts, which may change.
function drawNotes(state) {
  const { at: { length: bounds }, of_cell: ofCell } = state.snapshot.convergence;
  $("convergence-note").textContent = `Drag to zoom, double-click to reset.${bounds
    ? " All bounds are computed with the final hyperparameters." : ""}`
    + (bounds && whose(state) ? ` They are those of ${whose(state)}, which asks next.` : "")
    + (bounds && ofCell ? " The best cell is that of this partition; the best params above combine all partitions, "
      + "so their value may differ." : "");
  if ($("tree-note")) $("tree-note").textContent = state.snapshot.tree.cells
    ? `A partition of the space: each step halves the range of a parameter, or makes a choice.${whose(state)
      ? ` This is ${whose(state)}, which asks next; other partitions have other cuts, in another order.` : ""}` : "";
}

function makeConvergence(state) {
  if (!state.snapshot.along) return makeEmpty("convergence");
  const button = el("button", { type: "button", text: "logarithmic", "aria-pressed": String(logarithmic), onclick: () => {
    logarithmic = !logarithmic;
    button.setAttribute("aria-pressed", String(logarithmic));
    drawConvergence(state);
  } });
  body("convergence").replaceChildren(el("div", { class: "tools" }, button),
    el("div", { class: "chart", id: "convergence-chart", role: "img",
      "aria-label": "Values, best value and bounds against evaluations" }),
    el("p", { class: "note", id: "convergence-note" }));
}

function makeTree(state) {
  if (!state.snapshot.along) return makeEmpty("tree");
  if (state.snapshot.summary.space && state.snapshot.tree.parent.length === 1) return makeEmpty("tree", "There are no cells.");
  body("tree").replaceChildren(
    el("nav", { class: "crumbs", id: "crumbs", "aria-label": "Path to the node" }),
    el("p", { class: "note", id: "node", role: "status" }),
    el("div", { class: "chart tall", id: "tree-chart", tabindex: "0", role: "application",
      "aria-label": "Explored tree; arrow keys move down, up and sideways, Page Down opens narrow children", onkeydown: (event) => treeKeys(state, event) }),
    el("p", { class: "note", id: "tree-note" }),
    el("p", { class: "note", text: "Width: visits. Color: mean, from blue (low) to yellow (high). Faint: uncertain. Outlined: path to the best. Hatched: unexplored. Gray: children too narrow to draw. Click or use the arrow keys to move down (Page Down: to the gray ones); click the top to move up." }),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Children" }, el("table", { id: "tree-children" })),
    el("div", { class: "tools" }, el("button", { type: "button", id: "tree-more", hidden: "", onclick: () => moreChildren(state) })),
    el("p", { class: "note", id: "tree-rest" }));
}

function makeParameters(state) {
  if (!state.snapshot.along) return makeEmpty("parameters");
  if (!state.snapshot.parameters.names.length) return makeEmpty("parameters", "There are no parameters.");
  const choice = el("select", { id: "slice-name", "aria-label": "Parameter", onchange: (event) => {
    parameter = state.snapshot.parameters.names[event.target.selectedIndex];
    drawSlice(state);
  } });
  body("parameters").replaceChildren(el("div", { class: "pair" },
    el("div", {}, el("h3", { text: "Importance" }), el("div", { class: "chart", id: "importance-chart" })),
    el("div", {}, el("h3", { text: "Values by parameter" }), el("div", { class: "tools" }, choice),
      el("div", { class: "chart", id: "slice-chart" }))),
  el("p", { class: "note", text: `Importance: the share of the variance of the values ${state.snapshot.parameters.low[0] === null
    ? "that a step adds to the steps before it, by the kernel."
    : "that a parameter explains by itself, among the trials of the search, which are not a random sample."}` }));
}

// The section is hidden where there are no labels.
function makeEffects(state) {
  if (!state.snapshot.effects) return body("effects").replaceChildren();
  body("effects").replaceChildren(
    el("div", { class: "chart", id: "effects-chart", role: "img", "aria-label": "Effects of labels with their intervals" }),
    el("p", { class: "note", id: "effects-note" }));
}

function makeModel(state) {
  const { model, along } = state.snapshot;
  if (!along) return makeEmpty("model");
  const panel = (title, id) => el("div", {}, el("h3", { text: title }), el("div", { class: "chart low", id }));
  body("model").replaceChildren(
    model ? el("div", { class: "tiles", id: "model-tiles" })
      : el("p", { class: "note", text: state.snapshot.summary.replayed ? "This searcher has no kernel." : UNKNOWN }),
    panel(state.snapshot.summary.space ? "Belief along the path to the best params" : "Belief along the best path", "along-chart"),
    el("p", { class: "note", id: "model-note" }));
}

// JSON with a line for each entry of the first levels.
function laidOut(value, levels = 2, indent = "") {
  if (levels === 0 || typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  const inner = `${indent}  `;
  const lines = Object.entries(value).map(([name, part]) => `${inner}${JSON.stringify(name)}: ${laidOut(part, levels - 1, inner)}`);
  return lines.length ? `{\n${lines.join(",\n")}\n${indent}}` : "{}";
}

function drawReproduce(state) {
  const { reproduce } = state.snapshot;
  const lines = [];
  if (reproduce.specification) {
    const quoted = `'${reproduce.file.replace(/'/g, "'\\''")}'`;
    lines.push("# Show the study:", `bough study ${quoted}`,
      "", "# Resume it in Python:", `bough.${state.snapshot.summary.direction}(objective, ${reproduce.specification.space ? "space" : "tree"}, budget=..., study=${JSON.stringify(reproduce.file)})`,
      "", "# Specification:", laidOut(reproduce.specification));
  } else lines.push("# Searcher:", reproduce.searcher);
  lines.push("", "# Versions:", ...Object.entries(reproduce.versions).map(([name, version]) => `${name} ${version}`));
  body("reproduce").replaceChildren(el("pre", { tabindex: "0", text: lines.join("\n") }));
}

// ---------------------------------------------------------------- the state of the page

function parsed(id) {
  return JSON.parse($(id).textContent);
}

const state = {
  snapshot: parsed("snapshot-data"),
  trials: null,
  names: [], // parameters that have columns of their own
  // Trials with a value, in the order in which they ended.
  completed() {
    if (!this.order) {
      const ended = this.trials.ended;
      this.order = [];
      for (let i = 0; i < this.count; i++) if (this.trials.state[i] === "c") this.order.push(i);
      this.order.sort((a, b) => ended[a] - ended[b] || a - b);
    }
    return this.order;
  },
  // The choices of the trials for one name: a parameter, or a step of their paths.
  choice(name) {
    const column = this.trials.choices?.[name];
    if (column) {
      const { categories, at } = column;
      return { categories, at: (i) => at[i], text: (i) => (at[i] === null ? "" : categories ? categories[at[i]] : say(at[i])) };
    }
    const step = Number(name.replace("step ", "")) - 1;
    const at = (i) => { const found = this.trials.path[i].split(" ")[step]; return found ? Number(found) : null; };
    return { categories: null, at, text: (i) => String(at(i) ?? "") };
  },
  get count() { return this.trials.state.length; },
  take(trials) {
    this.order = null;
    if (trials.begin && this.trials) {
      const added = trials.value.length;
      for (const name of ["value", "ended", "path", "took", "noise"]) {
        if (!this.trials[name] && !trials[name]) continue; // an optional column that is absent
        const before = this.trials[name] ?? Array(trials.begin).fill(null);
        trials[name] = before.slice(0, trials.begin).concat(trials[name] ?? Array(added).fill(null));
      }
      trials.state = this.trials.state.slice(0, trials.begin) + trials.state;
      trials.reason = { ...this.trials.reason, ...trials.reason };
    }
    this.trials = trials;
    this.names = Object.keys(trials.choices ?? {});
  },
};

const sections = {
  summary: { make() {}, draw: drawSummary },
  convergence: { make: makeConvergence, draw: drawConvergence, chart: true },
  tree: { make: makeTree, draw: drawTree, chart: true },
  trials: { make: makeTable, draw: drawTable },
  parameters: { make: makeParameters, draw: drawParameters, chart: true },
  effects: { make: makeEffects, draw: drawEffects, chart: true },
  model: { make: makeModel, draw: drawModel, chart: true },
  reproduce: { make() {}, draw: drawReproduce },
};
const seen = new Set();

function draw(name) {
  const section = sections[name];
  if (section.chart && !state.snapshot.along) return; // no observations
  if (name === "effects" && !state.snapshot.effects) return;
  section.draw(state);
  document.querySelector(`#${name}`).dataset.drawn = "yes";
}

function drawAll() {
  if (state.snapshot.along) drawNotes(state);
  for (const [name, section] of Object.entries(sections)) if (!section.chart || seen.has(name)) draw(name);
}

function watchCharts() {
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting || seen.has(entry.target.id)) continue;
      seen.add(entry.target.id);
      draw(entry.target.id);
    }
  }, { rootMargin: "200px" });
  for (const [name, section] of Object.entries(sections)) if (section.chart) observer.observe($(name));
}

// ---------------------------------------------------------------- changes of a running study

async function follow() {
  const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  let version = "", pause = 1;
  for (;;) {
    await wait(document.hidden ? 5 * pause : pause);
    try {
      const asked = performance.now();
      const answer = await fetch(`snapshot?version=${version}&settled=${state.trials.settled}`);
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const changes = answer.status === 204 ? null : await answer.json();
      if (changes) {
        const other = version && version.split(".")[0] !== changes.version.split(".")[0]; // the file was read again
        version = changes.version;
        state.snapshot = changes.snapshot;
        state.take(changes.trials);
        makeChanging(other);
        drawAll();
      }
      pause = Math.max(1, (performance.now() - asked) / 250); // spend at most a fifth of the time on this
      $("live").textContent = `following, ${plural(state.count, "trial")}, `
        + `updated at ${new Date().toLocaleTimeString()}`;
    } catch (error) {
      $("live").textContent = `connection lost: ${error.message}; retrying`;
      pause = Math.min(30, 2 * pause);
    }
    document.documentElement.dataset.version = version;
  }
}

// A section about labels, only if there are some.
function showEffects() {
  const none = !state.snapshot.effects;
  $("effects").hidden = none;
  document.querySelector('#sections a[href="#effects"]').hidden = none;
}

// Make sections whose parts depend on the snapshot; choices of the reader stay.
function makeChanging(all) {
  showEffects();
  for (const [name, section] of Object.entries(sections)) {
    const there = body(name).querySelector(".chart");
    if (section.chart && (all || !there || !state.snapshot.along)) section.make(state);
  }
}

function start() {
  state.take(parsed("trials-data"));
  $("sections").replaceChildren(...Object.keys(sections).map((name) =>
    el("a", { href: `#${name}`, text: document.querySelector(`#${name} > h2`).textContent })));
  showEffects();
  for (const section of Object.values(sections)) section.make(state);
  drawAll();
  document.documentElement.dataset.ready = performance.now().toFixed(0);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  if (document.body.dataset.follow === "yes") follow();
}

start();
// plotly.js is large and comes last: charts wait until the page is complete.
document.addEventListener("DOMContentLoaded", watchCharts);
