// The explored tree: an icicle of the levels below one node, and a table of its children.
//
// Children that would be narrower than LEAST pixels are drawn as one box, "and 37 more", which can be
// opened like a node: then only these children are drawn, wide enough to be seen.

const DEPTH = 4; // number of levels that are drawn
const LEAST = 22; // pixels: a narrower box can be neither read nor clicked
const FRONTIER = 0.06; // share of a node's width for its unexplored children
const ROWS_OF_CHILDREN = 20;

let here = 0; // the current node
let among = null; // the steps to those of its children that are drawn; null for all of them
let listed = ROWS_OF_CHILDREN; // number of children in the table
let known = null; // the tree of the current node
let family = null; // children of each node, computed once for a snapshot

function children(tree) {
  if (family?.of === tree) return family.lists;
  const lists = tree.parent.map(() => []);
  for (let n = 1; n < tree.parent.length; n++) lists[tree.parent[n]].push(n);
  for (const list of lists) list.sort((a, b) => tree.step[a] - tree.step[b]);
  family = { of: tree, lists };
  return lists;
}

function way(tree, node) {
  const nodes = [];
  for (let n = node; n > 0; n = tree.parent[n]) nodes.push(n);
  return [0, ...nodes.reverse()];
}

const called = (tree, n) => (n === 0 ? "root" : tree.names ? tree.names[n] : String(tree.step[n]));
const pathOf = (tree, n) => way(tree, n).slice(1).map((m) => tree.step[m]).join(" ");
// The path of a node as text; in a space its cuts, of which there may be many.
const placeOf = (tree, n) => (tree.cells ? way(tree, n).slice(1).map((m) => called(tree, m)).join(", ") : pathOf(tree, n));

function interval(tree, n) {
  const mean = tree.mean[n], std = tree.std[n];
  if (std === null) return "-";
  const [low, high] = tree.bounds;
  const end = (sign) => say(Math.min(Math.max(mean + sign * 1.96 * std, low ?? -Infinity), high ?? Infinity), 4);
  return `${end(-1)} to ${end(1)}`;
}

function unexplored(tree, n) {
  const count = tree.unexplored[n];
  if (count === "more") return "infinitely many children unexplored";
  return count === null ? "" : count > 0 ? `${say(count)} ${count === 1 ? "child" : "children"} unexplored` : "";
}

function facts(tree, n) {
  return [`mean ${say(tree.mean[n])}`, tree.std[n] === null ? "" : `95 % ${interval(tree, n)}`,
    plural(tree.visits[n], "visit"), unexplored(tree, n)].filter(Boolean);
}

const bestOf = (state, nodes) => {
  const { tree, summary } = state.snapshot;
  const sign = summary.direction === "minimize" ? -1 : 1;
  return nodes.reduce((a, b) => (sign * tree.mean[b] > sign * tree.mean[a] ? b : a));
};

// The children of a node that are drawn: all, unless the reader has opened a group of them.
function shownChildren(tree, n) {
  const all = children(tree)[n];
  return n === here && among !== null ? all.filter((child) => among.has(tree.step[child])) : all;
}

// ---------------------------------------------------------------- colors

// Dark blue to yellow, as in the figures: readable with color blindness, on light and dark.
const SCALE = [[0, 32, 77], [66, 77, 108], [124, 123, 120], [188, 174, 108], [255, 234, 70]];

function color(share, certainty) {
  const at = Math.min(0.9999, Math.max(0, share)) * (SCALE.length - 1);
  const low = SCALE[Math.floor(at)], high = SCALE[Math.floor(at) + 1];
  const mixed = low.map((c, i) => Math.round(c + (high[i] - c) * (at % 1)));
  // Faint colors are mixed with the background here, to choose dark or light letters.
  const ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
  const weight = 0.2 + 0.8 * (certainty ?? 1);
  const [r, g, b] = mixed.map((c, i) => Math.round(weight * c + (1 - weight) * ground[i]));
  return { fill: `rgb(${r},${g},${b})`, letters: 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#000" : "#fff" };
}

// ---------------------------------------------------------------- boxes and their widths

// The children of a node that are drawn in a width of pixels, with their widths, and the others.
// They share the width by their visits, and those that would be too narrow form one group. At the
// current node some of the most visited are drawn in any case, so that groups of groups have an end.
function divided(tree, nodes, width, forced) {
  const ranked = nodes.slice().sort((a, b) => tree.visits[b] - tree.visits[a]);
  const sums = [0];
  for (const n of ranked) sums.push(sums.at(-1) + tree.visits[n]);
  const all = sums.at(-1), total = ranked.length;
  const others = (k) => (k === total ? 0 : Math.max(LEAST, width * (all - sums[k]) / all));
  const fits = (k) => tree.visits[ranked[k - 1]] * (width - others(k)) >= LEAST * sums[k];
  let count = total;
  while (count > 0 && !fits(count)) count--;
  const most = Math.max(count, Math.min(forced, total));
  const natural = most === count && count !== total - 1;
  count = most === total - 1 ? total : most; // a single child is not a group
  const room = natural ? others(count) : Math.min(others(count), width - Math.min(width, count * LEAST));
  const free = width - room - (natural ? 0 : Math.min(width - room, count * LEAST));
  const least = natural || !count ? 0 : (width - room - free) / count;
  const wide = ranked.slice(0, count).map((n) => ({ n, width: least + free * tree.visits[n] / sums[count] }));
  wide.sort((a, b) => tree.step[a.n] - tree.step[b.n]); // by step
  return { wide, rest: ranked.slice(count), room };
}

// All boxes below a node: nodes, groups of narrow ones, and unexplored children, with their widths.
function boxesBelow(tree, root, width) {
  const boxes = [{ kind: "node", node: root, parent: null, width }];
  for (let i = 0, depth = 0, end = 1; depth < DEPTH && i < end; depth++, end = boxes.length) {
    for (; i < end; i++) {
      const box = boxes[i];
      if (box.kind !== "node") continue;
      const nodes = shownChildren(tree, box.node);
      const ahead = nodes.length && (box.node !== here || among === null)
        && tree.unexplored[box.node] !== 0 && tree.unexplored[box.node] !== null;
      const hidden = nodes.length ? tree.hidden[box.node] : 0;
      const frontier = ahead && box.width > 2 * LEAST ? Math.max(FRONTIER * box.width, Math.min(LEAST, box.width / 4)) : 0;
      const forced = i === 0 ? Math.floor(box.width / (2 * LEAST)) : 0;
      const { wide, rest, room } = divided(tree, nodes, box.width - frontier, forced);
      for (const child of wide) boxes.push({ kind: "node", node: child.n, parent: i, width: child.width });
      if (rest.length) boxes.push({ kind: "group", node: box.node, parent: i, width: room, rest, hidden });
      if (frontier) boxes.push({ kind: "frontier", node: box.node, parent: i, width: frontier });
    }
  }
  return boxes;
}

function groupText(state, box) {
  const { tree } = state.snapshot;
  const best = bestOf(state, box.rest);
  const visits = box.rest.reduce((sum, n) => sum + tree.visits[n], 0);
  const more = `${say(box.rest.length)} more`;
  const label = box.width > 190 ? `and ${more}, best ${say(tree.mean[best], 3)}` : box.width > 55 ? more : `+${say(box.rest.length)}`;
  const text = `<b>and ${more}</b>, too narrow to draw: click to see them<br>${plural(visits, "visit")}`
    + `<br>the best: ${brief(called(tree, best))}, mean ${say(tree.mean[best])}`
    + (box.hidden ? `<br>${say(box.hidden)} rarely visited ones are not on this page` : "");
  return { label, text };
}

// The nodes on the path to the best arm.
function wayToBest(state) {
  const { tree, along } = state.snapshot;
  const nodes = new Set([0]);
  let n = 0;
  for (const step of along.path) {
    n = children(tree)[n].find((child) => tree.step[child] === step);
    if (n === undefined) break;
    nodes.add(n);
  }
  return nodes;
}

// Changes renumber the nodes: go to the same node again, as far as it exists. (In a space another
// partition may be shown, whose steps are other cuts: there names are compared.)
function stay(tree) {
  const key = (of, n) => (of.cells ? called(of, n) : of.step[n]);
  const keys = known === null || known === tree ? [] : way(known, here).slice(1).map((n) => key(known, n));
  if (known !== tree) here = 0;
  if (known !== tree && tree.cells) among = null;
  known = tree;
  for (const wanted of keys) {
    const next = children(tree)[here].find((n) => key(tree, n) === wanted);
    if (next === undefined) { among = null; break; }
    here = next;
  }
}

function drawTree(state) {
  const { tree } = state.snapshot;
  if (!$("tree-chart")) return; // there are no nodes
  stay(tree);
  drawCrumbs(state);
  const place = $("tree-chart");
  const boxes = boxesBelow(tree, here, place.clientWidth || 900);
  const means = boxes.filter((box) => box.kind === "node").map((box) => tree.mean[box.node]);
  const low = Math.min(...means), high = Math.max(...means);
  const plainFill = (name) => ({ fill: style(name), letters: style("--ink") });
  const onWay = wayToBest(state);
  const drawn = boxes.map((box, i) => {
    const n = box.node;
    if (box.kind === "group") return { ...groupText(state, box), ...plainFill("--line"), shape: "" };
    if (box.kind === "frontier") {
      return { label: "?", text: `<b>unexplored</b><br>${unexplored(tree, n)}`, ...plainFill("--raised"), shape: "/" };
    }
    const share = high > low ? (tree.mean[n] - low) / (high - low) : 0.5;
    const name = i === 0 && among !== null ? `${say(shownChildren(tree, n).length)} narrow children of ${called(tree, n)}` : called(tree, n);
    const where = tree.cells ? "" : `<br>path ${pathOf(tree, n) || "()"}`;
    const good = onWay.has(n) ? "<br>on the path to the best" : "";
    return { label: brief(name), text: `<b>${plain(name)}</b>${where}${good}<br>${facts(tree, n).join("<br>")}`,
      ...color(share, tree.certainty[n]), shape: "" };
  });
  const pick = (name) => drawn.map((box) => box[name]);
  const trace = { type: "icicle", ids: boxes.map((_, i) => String(i)), labels: pick("label"),
    parents: boxes.map((box) => (box.parent === null ? "" : String(box.parent))),
    // Plotly draws nothing if children sum up to more than their parent by rounding.
    values: boxes.map((box) => box.width * (box.parent === null ? 1 : 1 - 1e-9)), branchvalues: "total",
    customdata: boxes.map((_, i) => i), hovertext: pick("text"), hoverinfo: "text",
    sort: false, tiling: { orientation: "v", pad: 1 }, pathbar: { visible: false },
    textposition: "middle center", textfont: { color: pick("letters") }, root: { color: "rgba(0,0,0,0)" },
    marker: { colors: pick("fill"), pattern: { shape: pick("shape"), fgcolor: style("--soft"), size: 6 },
      line: { width: boxes.map((box) => (box.kind === "node" && onWay.has(box.node) ? 2.5 : 1)),
        color: boxes.map((box) => style(box.kind === "node" && onWay.has(box.node) ? "--bound" : "--ground")) } } };
  place.boxes = boxes;
  chart(place, [trace], { margin: { l: 0, r: 0, t: 4, b: 0 }, uniformtext: { minsize: 10, mode: "hide" } },
    { buttons: false })
    .then(() => {
      if (place.dataset.clicks) return;
      place.dataset.clicks = "yes";
      place.on("plotly_icicleclick", (event) => {
        const box = place.boxes[event.points[0].customdata];
        if (box.kind === "group") goToGroup(state, box);
        else if (box.node === here) goUp(state);
        else goTo(state, box.node);
        return false; // plotly knows only the boxes that are drawn
      });
    });
  drawChildren(state);
}

function goTo(state, node, steps = null) {
  if (node < 0) return;
  here = node;
  among = steps;
  listed = ROWS_OF_CHILDREN;
  drawTree(state);
}

function goToGroup(state, box) {
  goTo(state, box.node, new Set(box.rest.map((n) => state.snapshot.tree.step[n])));
}

function goUp(state) {
  goTo(state, among !== null ? here : state.snapshot.tree.parent[here]);
}

function drawCrumbs(state) {
  const { tree } = state.snapshot;
  const nodes = way(tree, here);
  const crumb = (text, current, onclick) => el("button", { type: "button", text, "aria-current": current ? "true" : null, onclick });
  const group = among === null ? null : `${say(shownChildren(tree, here).length)} narrow ones`;
  refill($("crumbs"), ...nodes.map((n) => crumb(called(tree, n), n === here && !group, () => goTo(state, n))),
    group ? crumb(group, true, () => drawTree(state)) : null);
  $("node").textContent = `${placeOf(tree, here) || "root"}: ${facts(tree, here).join(", ")}`;
}

function drawChildren(state) {
  const { tree } = state.snapshot;
  const lists = children(tree);
  const better = state.snapshot.summary.direction === "minimize" ? -1 : 1; // the best first
  const ranked = shownChildren(tree, here).slice().sort((a, b) => better * (tree.mean[b] - tree.mean[a]));
  const rows = ranked.slice(0, listed).map((n) => el("tr", {},
    el("td", {}, el("button", { type: "button", text: called(tree, n),
      "aria-label": `go to ${called(tree, n)}`, onclick: () => {
        goTo(state, n);
        $("tree-children").querySelector("button")?.focus();
      } })),
    el("td", { class: "number" }, number(tree.mean[n])),
    el("td", { class: "number", text: interval(tree, n) }),
    el("td", { class: "number", text: say(tree.visits[n]) }),
    el("td", { class: "number", text: lists[n].length + tree.hidden[n] }),
    el("td", { class: "number", text: tree.unexplored[n] === "more" ? "infinite" : say(tree.unexplored[n]) })));
  const rest = [];
  if (tree.hidden[here]) rest.push(`${say(tree.hidden[here])} rarely visited children are not on this page`);
  if (unexplored(tree, here)) rest.push(unexplored(tree, here));
  const left = ranked.length - rows.length;
  refill($("tree-children"),
    el("thead", {}, el("tr", {}, ...[tree.cells ? "cell" : "step", "mean", "95 % interval", "visits", "explored below", "unexplored below"]
      .map((name, i) => el("th", { scope: "col", text: name, class: i ? "number" : null })))),
    el("tbody", {}, ...rows));
  $("tree-more").hidden = left === 0;
  $("tree-more").textContent = `show ${say(Math.min(left, 10 * ROWS_OF_CHILDREN))} more of ${say(left)}`;
  $("tree-rest").textContent = rest.join("; ");
}

function moreChildren(state) {
  listed += 10 * ROWS_OF_CHILDREN;
  drawChildren(state);
}

// Arrows: down to the most visited child, up to the parent, left and right to siblings; Page Down to
// the children that are too narrow to be drawn, Page Up back from them.
function treeKeys(state, event) {
  const { tree } = state.snapshot;
  const go = {
    ArrowDown() {
      const nodes = shownChildren(tree, here);
      if (nodes.length) goTo(state, nodes.reduce((a, b) => (tree.visits[b] > tree.visits[a] ? b : a)));
    },
    ArrowUp: () => goUp(state),
    PageUp: () => goTo(state, here),
    PageDown() {
      const group = $("tree-chart").boxes.find((box) => box.kind === "group" && box.parent === 0);
      if (group) goToGroup(state, group);
    },
    Home: () => goTo(state, 0),
    ArrowLeft: () => beside(-1),
    ArrowRight: () => beside(1),
  }[event.key];
  const beside = (by) => {
    const siblings = here ? children(tree)[tree.parent[here]] : [0];
    const target = siblings[siblings.indexOf(here) + by];
    if (target !== undefined) goTo(state, target);
  };
  if (!go) return;
  event.preventDefault();
  go();
}
