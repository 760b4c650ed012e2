// What stands in each section, and when it is drawn: charts only once they come into view.

function tile(label, figure, more, name) {
  return el("div", { class: name === "wide" ? "tile wide" : "tile" }, el("p", { class: "label", text: label }),
    el("p", { class: "figure" }, figure), more ? el("p", { class: "more", text: more }) : null);
}

function drawSummary(state) {
  const { summary, certificate } = state.snapshot;
  const { best, trials } = summary;
  const tiles = [];
  if (best) {
    const what = best.params ? Object.entries(best.params).map(([k, v]) => `${k} = ${v}`).join(", ")
      : best.decoded ?? (best.path || "()");
    tiles.push(tile(best.params ? "best params" : "best path", el("span", { id: "best-path", text: what }),
      best.params || best.decoded ? `path ${best.path}` : null, "wide"));
    tiles.push(tile("its value", el("span", { id: "best-mean" }, number(best.mean)),
      best.std === null ? `seen ${plural(best.visits, "time")}`
        : `+- ${say(best.std, 3)}, evaluated ${plural(best.visits, "time")}`));
  } else tiles.push(tile("best path", "none yet", "nothing was told", "wide"));
  if (certificate && certificate.gap !== null) {
    const bound = summary.direction === "minimize" ? certificate.lower : certificate.upper;
    tiles.push(tile("gap", el("span", { id: "gap" }, number(certificate.gap)),
      `at confidence ${say(certificate.confidence)}`));
    tiles.push(tile(summary.direction === "minimize" ? "no path is below" : "no path is above",
      el("span", { id: "bound" }, number(bound)), certificate.conditional ? "given what was learnt" : ""));
  }
  tiles.push(tile("trials", el("span", { id: "told" }, number(trials.told)),
    [trials.failed ? `${say(trials.failed)} failed` : "", trials.running ? `${say(trials.running)} running` : ""]
      .filter(Boolean).join(", ") || "all told"));
  if (summary.arms || !(best && best.params)) {  // a space has points, and no tree of its own
    tiles.push(tile("paths in the tree", summary.arms ?? "not known",
      summary.depth === null ? "" : `depth ${summary.depth}`));
  }
  tiles.push(tile(`${summary.direction} with`, summary.searcher ?? "unknown",
    summary.stopped_by ? `stopped by ${summary.stopped_by}` : ""));
  const notes = [];
  if (certificate) {
    notes.push(certificate.gap === null
      ? "There is no certificate: nobody knows how many paths the tree has."
      : `With probability ${say(certificate.confidence)} no path is better than ${best && best.params ? "that of these params" : certificate.path || "()"} by more than the gap`
        + (certificate.conditional ? ", as far as kernel, noise and mean, which were learnt, are right." : "."));
  } else if (best) notes.push("This searcher gives no certificate.");
  body("summary").replaceChildren(el("div", { class: "tiles" }, ...tiles),
    ...notes.map((text) => el("p", { class: "note", text })));
}

function sayNothing(section, text = "Nothing was told yet.") {
  body(section).replaceChildren(el("p", { class: "note", text }));
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
    el("p", { class: "note", text: "Drag to zoom, double-click to go back. The bounds are those of what is believed in the end: what was learnt later is taken to have been known." }));
}

function makeTree(state) {
  if (!state.snapshot.along) return sayNothing("tree");
  body("tree").replaceChildren(
    el("nav", { class: "crumbs", id: "crumbs", "aria-label": "Path to the node" }),
    el("p", { class: "note", id: "node", role: "status" }),
    el("div", { class: "chart tall", id: "tree-chart", tabindex: "0", role: "application",
      "aria-label": "The tree; arrow keys go down, up and sideways", onkeydown: (event) => treeKeys(state, event) }),
    el("p", { class: "note", text: "Width: visits. Colour: mean, from blue (low) to yellow (high). Faint: uncertain. Hatched: unexplored. Click or use the arrow keys to go down; click the top to go up." }),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Children" }, el("table", { id: "tree-children" })),
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
  const parts = [];
  if (learnt) {
    parts.push(el("div", { class: "tiles", id: "learnt-tiles" }));
  } else parts.push(el("p", { class: "note", text: "There is no kernel to show of this searcher." }));
  parts.push(el("div", { class: "pair" },
    learnt ? el("div", {}, el("h3", { text: "What each depth adds" }), el("div", { class: "chart low", id: "increments-chart" })) : null,
    el("div", {}, el("h3", { text: "Along the best path" }), el("div", { class: "chart low", id: "along-chart" }))));
  body("learnt").replaceChildren(...parts);
}

function drawReproduce(state) {
  const { reproduce } = state.snapshot;
  const lines = [];
  if (reproduce.specification) {
    const quoted = `'${reproduce.file.replace(/'/g, "'\\''")}'`;
    lines.push("# The file holds everything. To look at it:", `bough study ${quoted}`,
      "", "# To go on where it was left, in Python:", `bough.${state.snapshot.summary.direction}(objective, ${reproduce.specification.space ? "space" : "tree"}, budget=..., study=${JSON.stringify(reproduce.file)})`,
      "", "# What is searched, and how:", JSON.stringify(reproduce.specification, null, 2));
  } else lines.push("# The searcher as it stood:", reproduce.searcher);
  lines.push("", "# Made with:", ...Object.entries(reproduce.versions).map(([name, version]) => `${name} ${version}`));
  body("reproduce").replaceChildren(el("pre", { tabindex: "0", text: lines.join("\n") }));
}
