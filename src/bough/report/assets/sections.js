// What stands in each section, and when it is drawn: charts only once they come into view.

function tile(label, figure, more, name) {
  return el("div", { class: name === "wide" ? "tile wide" : "tile" }, el("p", { class: "label", text: label }),
    el("p", { class: "figure" }, figure), more ? el("p", { class: "more", text: more }) : null);
}

const UNKNOWN = "The file alone does not say all of what was searched: a part of it is a function or an object of the program. "
  + "So there is no certificate and no belief here; result.report(...) in the program has them.";

// What a certificate says, in words.
function certified(certificate, { best, space, replayed }) {
  if (!certificate) return !best ? [] : [replayed ? "This searcher gives no certificate." : UNKNOWN];
  if (certificate.gap === null) return ["There is no certificate: nobody knows how many paths the tree has."];
  const things = space ? "params are" : "path is";
  const than = space ? `{ ${pairs(certificate.params)} }` : shortened(certificate.path) || "()";
  const said = [`With probability ${say(certificate.confidence)} no ${things} better than ${than} by more than the gap`
    + (certificate.conditional ? ", as far as kernel, noise and mean, which were learnt, are right." : ".")];
  if (certificate.partitions) {
    said.push(`So says partition ${certificate.partition + 1} of ${certificate.partitions}, whose turn it is to ask, of its cells: `
      + "it knows nothing finer than they are, and the others may say otherwise.");
  }
  return said;
}

// A path that may have a thousand steps, within a sentence.
const shortened = (path) => (path.length > 80 ? `${path.slice(0, 60)} … (${path.split(" ").length} steps)` : path);

const pairs = (params) => Object.entries(params ?? {}).map(([k, v]) => `${k} = ${typeof v === "number" ? say(v) : v}`).join(", ");

function drawSummary(state) {
  const { summary, certificate } = state.snapshot;
  const { best, trials, space } = summary;
  const tiles = [];
  if (best) {
    const what = best.params ? pairs(best.params) || "{}" : best.decoded ?? (best.path || "()");
    tiles.push(tile(best.params ? "best params" : summary.plan ? "best plan" : "best path", el("span", { id: "best-path", text: what }),
      !space && (best.params || best.decoded) ? `path ${best.path}` : null, "wide"));
    tiles.push(tile("its value", el("span", { id: "best-mean" }, number(best.mean)),
      best.std === null ? `seen ${times(best.visits)}`
        : `± ${say(best.std, 3)}, evaluated ${times(best.visits)}`));
  } else tiles.push(tile(space ? "best params" : "best path", "none yet", "nothing was told", "wide"));
  if (certificate && certificate.gap !== null) {
    const down = summary.direction === "minimize";
    tiles.push(tile("gap", el("span", { id: "gap" }, number(certificate.gap)),
      `at confidence ${say(certificate.confidence)}`));
    tiles.push(tile(`no ${space ? "params are" : "path is"} ${down ? "below" : "above"}`,
      el("span", { id: "bound" }, number(down ? certificate.lower : certificate.upper)),
      certificate.partitions ? `by partition ${certificate.partition + 1} of ${certificate.partitions}, given what was learnt`
        : certificate.conditional ? "given what was learnt" : ""));
  }
  tiles.push(tile("trials", el("span", { id: "told" }, number(trials.told)),
    [trials.failed ? `${say(trials.failed)} failed` : "", trials.running ? `${say(trials.running)} running` : ""]
      .filter(Boolean).join(", ") || "all told"));
  if (space) {
    tiles.push(tile("parameters", say(space.parameters), space.points === null ? "a continuum of points" : `${space.points} points`));
  } else {
    tiles.push(tile("paths in the tree", summary.arms ?? "not known",
      summary.depth === null ? "" : `depth ${summary.depth}`));
  }
  tiles.push(tile(`${summary.direction} with`, summary.searcher ?? "unknown",
    summary.stopped_by ? `stopped by ${summary.stopped_by}` : ""));
  body("summary").replaceChildren(el("div", { class: "tiles" }, ...tiles),
    ...certified(certificate, summary).map((text) => el("p", { class: "note", text })));
}

function sayNothing(section, text = "Nothing was told yet.") {
  body(section).replaceChildren(el("p", { class: "note", text }));
}

// Which partition is shown, if there are several.
function whose(state) {
  const { partition, partitions } = state.snapshot.tree;
  return partitions > 1 ? `partition ${partition + 1} of ${partitions}` : "";
}

// What a section says besides its chart, which news may change.
function drawNotes(state) {
  const { at: { length: bounds }, of_cell: ofCell } = state.snapshot.convergence;
  $("convergence-note").textContent = `Drag to zoom, double-click to go back.${bounds
    ? " The bounds are those of what is believed in the end: what was learnt later is taken to have been known." : ""}`
    + (bounds && whose(state) ? ` They are those of ${whose(state)}, whose turn it is to ask.` : "")
    + (bounds && ofCell ? " The best cell is that which it takes for the best; the best params above are what all of them together say, "
      + "so that their value may differ." : "");
  if ($("tree-note")) $("tree-note").textContent = state.snapshot.tree.cells
    ? `A partition of the space: each step cuts the range of a parameter in two, or makes a choice.${whose(state)
      ? ` Shown is ${whose(state)}, whose turn it is to ask; the others cut elsewhere, and in another order.` : ""}` : "";
}

function makeConvergence(state) {
  if (!state.snapshot.along) return sayNothing("convergence");
  const button = el("button", { type: "button", text: "logarithmic", "aria-pressed": String(wide), onclick: () => {
    wide = !wide;
    button.setAttribute("aria-pressed", String(wide));
    drawConvergence(state);
  } });
  body("convergence").replaceChildren(el("div", { class: "tools" }, button),
    el("div", { class: "chart", id: "convergence-chart", role: "img",
      "aria-label": "Values, best value and bounds against evaluations" }),
    el("p", { class: "note", id: "convergence-note" }));
}

function makeTree(state) {
  if (!state.snapshot.along) return sayNothing("tree");
  if (state.snapshot.summary.space && state.snapshot.tree.parent.length === 1) return sayNothing("tree", "There are no cells to show.");
  body("tree").replaceChildren(
    el("nav", { class: "crumbs", id: "crumbs", "aria-label": "Path to the node" }),
    el("p", { class: "note", id: "node", role: "status" }),
    el("div", { class: "chart tall", id: "tree-chart", tabindex: "0", role: "application",
      "aria-label": "The tree; arrow keys go down, up and sideways, Page Down to narrow branches", onkeydown: (event) => treeKeys(state, event) }),
    el("p", { class: "note", id: "tree-note" }),
    el("p", { class: "note", text: "Width: visits. Colour: mean, from blue (low) to yellow (high). Faint: uncertain. Outlined: the way to the best. Hatched: unexplored. Grey: children too narrow to draw. Click or use the arrow keys to go down (Page Down: to the grey ones); click the top to go up." }),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Children" }, el("table", { id: "tree-children" })),
    el("div", { class: "tools" }, el("button", { type: "button", id: "tree-more", hidden: "", onclick: () => moreChildren(state) })),
    el("p", { class: "note", id: "tree-rest" }));
}

function makeParameters(state) {
  if (!state.snapshot.along) return sayNothing("parameters");
  if (!state.snapshot.parameters.names.length) return sayNothing("parameters", "There is nothing to choose.");
  const choice = el("select", { id: "slice-name", "aria-label": "Parameter", onchange: (event) => {
    parameter = state.snapshot.parameters.names[event.target.selectedIndex];
    drawSlice(state);
  } });
  body("parameters").replaceChildren(el("div", { class: "pair" },
    el("div", {}, el("h3", { text: "Which matter" }), el("div", { class: "chart", id: "importance-chart" })),
    el("div", {}, el("h3", { text: "One by one" }), el("div", { class: "tools" }, choice),
      el("div", { class: "chart", id: "slice-chart" }))),
  el("p", { class: "note", text: "The share of the variance of the values that each explains by itself, among the trials of the search, which are no random sample." }));
}

function makeLearnt(state) {
  const { learnt, along } = state.snapshot;
  if (!along) return sayNothing("learnt");
  const panel = (title, id) => el("div", {}, el("h3", { text: title }), el("div", { class: "chart low", id }));
  body("learnt").replaceChildren(
    learnt ? el("div", { class: "tiles", id: "learnt-tiles" })
      : el("p", { class: "note", text: state.snapshot.summary.replayed ? "There is no kernel to show of this searcher." : UNKNOWN }),
    el("div", { class: "pair" }, ...[
      learnt?.relevance ? panel("Relevance of parameters", "relevance-chart") : null,
      learnt ? panel(learnt.relevance ? "What each cut adds" : "What each depth adds", "increments-chart") : null,
      panel(learnt?.relevance ? "Towards the best params" : "Along the best path", "along-chart")].filter(Boolean)),
    el("p", { class: "note", id: "learnt-note" }));
}

// JSON with a line for each entry of the first levels only.
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
    lines.push("# The file holds everything. To look at it:", `bough study ${quoted}`,
      "", "# To go on where it was left, in Python:", `bough.${state.snapshot.summary.direction}(objective, ${reproduce.specification.space ? "space" : "tree"}, budget=..., study=${JSON.stringify(reproduce.file)})`,
      "", "# What is searched, and how:", laidOut(reproduce.specification));
  } else lines.push("# The searcher as it stood:", reproduce.searcher);
  lines.push("", "# Made with:", ...Object.entries(reproduce.versions).map(([name, version]) => `${name} ${version}`));
  body("reproduce").replaceChildren(el("pre", { tabindex: "0", text: lines.join("\n") }));
}
