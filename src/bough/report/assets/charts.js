// Charts: their common layout, convergence, model and parameters.

// Only these buttons: some of plotly's would send data elsewhere.
const settings = { responsive: true, displaylogo: false, scrollZoom: false,
  modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]] };

function layout(more) {
  const axis = { gridcolor: style("--line"), zerolinecolor: style("--line"), automargin: true,
    exponentformat: "power" };
  const { xaxis, yaxis, ...rest } = more;
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: style("--ink"), family: "system-ui, sans-serif", size: 12 },
    margin: { l: 56, r: 12, t: 8, b: 44 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
    hoverlabel: { bgcolor: style("--raised"), bordercolor: style("--line"),
      font: { color: style("--ink") } },
    uirevision: "zoom", // changes keep the zoom of the reader
    xaxis: { ...axis, ...xaxis }, yaxis: { ...axis, ...yaxis, title: { standoff: 8, ...yaxis?.title } }, ...rest,
  };
}

function chart(place, traces, more, { buttons = true } = {}) {
  return Plotly.react(place, traces, layout(more), { ...settings, displayModeBar: buttons ? "hover" : false });
}

// A sample of the points from one number to another, all of them if they are few: evenly spaced
// ones, and the lowest and highest of each stretch, so that no outlier is lost.
function sampled(values, from, to, most = 6000) {
  const apart = Math.max(1, Math.ceil((to - from) / most));
  const chosen = new Set();
  for (let i = from; i < to; i += apart) chosen.add(i);
  const stretch = Math.ceil((to - from) / (most / 20)); // few, so that extremes do not look common
  for (let begin = from; apart > 1 && begin < to; begin += stretch) {
    let low = begin, high = begin;
    for (let i = begin; i < Math.min(to, begin + stretch); i++) {
      if (values[i] < values[low]) low = i;
      if (values[i] > values[high]) high = i;
    }
    chosen.add(low).add(high);
  }
  return [...chosen];
}

// The same for a logarithmic axis: an equal number of points from every stretch of equal width.
function spread(values, from, to, most = 6000) {
  if (to - from <= most) return sampled(values, from, to, most);
  const stretches = 60;
  const edge = (k) => Math.round((from + 1) * ((to + 1) / (from + 1)) ** (k / stretches)) - 1;
  const chosen = new Set();
  for (let k = 0; k < stretches; k++) {
    for (const i of sampled(values, edge(k), edge(k + 1), most / stretches)) chosen.add(i);
  }
  return [...chosen];
}

// ---------------------------------------------------------------- convergence

let logarithmic = true; // the scale of the evaluations

function drawConvergence(state) {
  const place = $("convergence-chart");
  const { convergence: data } = state.snapshot;
  const values = state.completed().map((i) => state.trials.value[i]);
  const count = data.count;
  const far = logarithmic && count > 2;
  const points = (far ? spread : sampled)(values, 0, values.length);
  // With one bound that is known from the beginning there is no band before there are both.
  const both = (ends) => ends.map((end, i) =>
    data.lower[i] === null || data.upper[i] === null ? null : end);
  const bounded = both(data.lower).some((low) => low !== null);
  const gap = data.at.map((_, i) =>
    data.lower[i] === null || data.upper[i] === null ? "-" : say(data.upper[i] - data.lower[i], 4));
  const hover = "%{y:.6g} after %{x}";
  const recommended = data.of_cell ? "best cell" : "recommended";
  const mode = count > 2 ? "lines" : "lines+markers"; // one point is invisible as a line
  const traces = [
    { name: "values", type: "scattergl", mode: "markers", x: points.map((i) => i + 1),
      y: points.map((i) => values[i]), marker: { color: style("--value"), size: 4 },
      hovertemplate: `${hover}<extra>value</extra>` },
    { name: "best value", mode, line: { shape: "hv", color: style("--best"), width: 2 },
      x: [...data.best_at, count], y: [...data.best, data.best.at(-1)],
      hovertemplate: `${hover}<extra>best value</extra>` },
    { name: recommended, mode, line: { color: style("--mean"), width: 2, dash: "dot" }, x: data.at,
      y: data.mean, hovertemplate: `mean ${hover}<extra>${recommended}</extra>` },
  ];
  if (bounded) {
    const line = { color: style("--bound"), width: 1 };
    traces.push(
      { name: "lower bound", mode, line, x: data.at, y: both(data.lower), showlegend: false,
        hovertemplate: `${hover}<extra>lower bound</extra>` },
      { name: "bounds on the best", mode, line, x: data.at, y: both(data.upper), fill: "tonexty",
        fillcolor: style("--band"), customdata: gap,
        hovertemplate: `${hover}, gap %{customdata}<extra>upper bound</extra>` });
    // Where a bound is beyond the axis there is a mark at its edge.
    const marks = [["lower", "triangle-down"], ["upper", "triangle-up"]].flatMap(([name, symbol], side) =>
      data.clipped[side].map((x) => ({ x, y: data.limits[side], symbol, name, bound: data[name][data.at.indexOf(x)] })));
    if (marks.length) traces.push({ name: "bound beyond the axis", mode: "markers", cliponaxis: false,
      x: marks.map(({ x }) => x), y: marks.map(({ y }) => y),
      marker: { color: style("--bound"), size: 8, symbol: marks.map(({ symbol }) => symbol) },
      customdata: marks.map(({ name, bound }) => `${name} bound ${bound === null ? "infinite" : say(bound, 6)}`),
      hovertemplate: "%{customdata} after %{x}<extra></extra>" });
  }
  chart(place, traces, { xaxis: { title: { text: "evaluations" }, type: far ? "log" : "linear",
    exponentformat: "none", separatethousands: true, dtick: (far && count >= 100) || count <= 2 ? 1 : undefined },
    yaxis: { title: { text: "value" }, range: data.limits ?? undefined }, hovermode: "closest", uirevision: String(far) }).then(() => {
    if (place.dataset.zooms) return;
    place.dataset.zooms = "yes";
    // Draw every point of the visible part after zooming in.
    place.on("plotly_relayout", (change) => {
      const range = place.layout.xaxis.range;
      if (!("xaxis.range[0]" in change || "xaxis.autorange" in change)) return;
      const now = state.completed().map((i) => state.trials.value[i]);
      const far = place.layout.xaxis.type === "log";
      const [from, to] = "xaxis.autorange" in change ? [0, now.length] : range.map((x) => (far ? 10 ** x : x));
      const a = Math.max(0, Math.floor(from) - 1), b = Math.min(now.length, Math.ceil(to));
      const seen = (far ? spread : sampled)(now, a, Math.max(a, b));
      Plotly.restyle(place, { x: [seen.map((i) => i + 1)], y: [seen.map((i) => now[i])] }, [0]);
    });
  });
}

// ---------------------------------------------------------------- model

function drawModel(state) {
  const { model, along } = state.snapshot;
  if (model) {
    $("model-tiles").replaceChildren(tile(model.fitted ? "fitted kernel" : "kernel",
      el("span", { text: rounded(model.kernel), title: model.kernel }), "", "wide"),
      tile("noise", number(model.noise), model.exact ? "values are exact: this is the variation within a cell"
        : "standard deviation of a value"),
      tile("mean", number(model.mean), "prior mean"));
  }
  if (along) drawAlong(along, state.snapshot.tree.bounds);
  $("model-note").textContent = model && whose(state)
    ? `Kernel, noise and mean are shared by all partitions; the path is that of ${whose(state)}.` : "";
}

function drawAlong(along, [low, high]) {
  const depth = along.mean.map((_, i) => i);
  const edge = (sign) => along.mean.map((m, i) => (along.std[i] === null ? null
    : Math.min(Math.max(m + sign * 2 * along.std[i], low ?? -Infinity), high ?? Infinity)));
  chart($("along-chart"), [
    { x: depth, y: edge(-1), mode: "lines", line: { width: 0 }, hoverinfo: "skip" },
    { x: depth, y: edge(1), mode: "lines", line: { width: 0 }, fill: "tonexty",
      fillcolor: style("--band"), hoverinfo: "skip" },
    { x: depth, y: along.mean, mode: "lines+markers", line: { color: style("--mean") },
      customdata: along.std.map((s, i) => [say(s, 3), plural(along.visits[i], "visit"), brief(along.names[i] || "root")]),
      hovertemplate: "depth %{x}, %{customdata[2]}<br>%{y:.6g} ± %{customdata[0]}, %{customdata[1]}<extra></extra>" },
  ], { showlegend: false, xaxis: { title: { text: "depth" }, dtick: depth.length > 20 ? undefined : 1 },
    yaxis: { title: { text: "value, ± 2 standard deviations" } } });
}

// ---------------------------------------------------------------- effects of labels

function drawEffects(state) {
  const { labels, mean, std, low, high, visits, total } = state.snapshot.effects;
  const rows = labels.map((_, i) => i);
  $("effects-chart").style.height = `${Math.max(10, 5 + 1.4 * labels.length)}rem`;
  // Effects that may be 0 have a color of their own.
  const group = (name, color, chosen) => ({ name, type: "scatter", mode: "markers", x: chosen.map((i) => mean[i]), y: chosen,
    marker: { color, size: 8 }, error_x: { type: "data", array: chosen.map((i) => high[i] - mean[i]), color },
    customdata: chosen.map((i) => [plain(labels[i]), say(std[i], 3), plural(visits[i], "evaluation")]),
    hovertemplate: "%{customdata[0]}: %{x:.4g} ± %{customdata[1]}, %{customdata[2]}<extra></extra>" });
  const apart = (i) => low[i] > 0 || high[i] < 0;
  chart($("effects-chart"), [group("95 % interval", style("--best"), rows.filter(apart)),
    group("95 % interval that contains 0", style("--soft"), rows.filter((i) => !apart(i)))]
    .filter(({ y }) => y.length),
  { showlegend: true, hovermode: "closest", xaxis: { title: { text: "effect on the value" } },
    yaxis: { range: [rows.length - 0.5, -0.5], tickvals: rows, ticktext: labels.map(brief) } });
  $("effects-note").textContent = "The contribution of each label to the value of a path, relative to the average label of the same depths, estimated by the model; the best first"
    + (total > labels.length ? `: the ${labels.length} largest effects of ${say(total)}.` : ".");
}

// ---------------------------------------------------------------- parameters

let parameter = null; // the parameter of the slice

function drawParameters(state) {
  const { names, shares, low, high } = state.snapshot.parameters;
  if (!names.length) return; // a tree of one path
  const shown = Math.min(names.length, 15);
  chart($("importance-chart"), [{ type: "bar", orientation: "h",
    x: shares.slice(0, shown), y: names.slice(0, shown).map((_, i) => i),
    marker: { color: style("--best") },
    error_x: { type: "data", symmetric: false, visible: low[0] !== null, array: shares.slice(0, shown).map((share, i) => high[i] - share),
      arrayminus: shares.slice(0, shown).map((share, i) => share - low[i]) },
    customdata: shares.slice(0, shown).map((_, i) => low[i] === null ? "" : `, 95 % interval ${say(low[i], 3)} to ${say(high[i], 3)}`),
    hovertemplate: "%{x:.3f} of the variance%{customdata}<extra></extra>" }],
  { xaxis: { title: { text: "share of the variance of the values" }, range: [0, 1] },
    yaxis: { autorange: "reversed", tickvals: names.slice(0, shown).map((_, i) => i),
      ticktext: names.slice(0, shown).map(brief) } });
  const choice = $("slice-name"); // names and their order may have changed
  choice.replaceChildren(...names.map((text) => el("option", { text })));
  choice.selectedIndex = Math.max(0, names.indexOf(parameter));
  drawSlice(state);
}

function drawSlice(state) {
  const name = parameter ?? state.snapshot.parameters.names[0];
  if (name === undefined) return;
  const column = state.choice(name);
  const has = state.completed().filter((i) => column.at(i) !== null);
  const values = has.map((i) => state.trials.value[i]);
  const few = values.length > 20000 ? sampled(values, 0, values.length, 20000)
    : values.map((_, i) => i);
  const at = few.map((k) => column.at(has[k]));
  const positive = !column.categories && at.every((x) => x > 0);
  const far = positive && Math.max(...at) > 100 * Math.min(...at);
  const ticks = column.categories
    ? { tickvals: column.categories.map((_, i) => i), ticktext: column.categories.map(brief),
      range: [-0.5, column.categories.length - 0.5] } : {};
  chart($("slice-chart"), [{ type: "scattergl", mode: "markers", x: at,
    y: few.map((k) => values[k]), customdata: few.map((k) => has[k]),
    marker: { color: style("--value"), size: 5 },
    hovertemplate: "trial %{customdata}: %{y:.6g}<extra></extra>" }],
  { xaxis: { title: { text: plain(name) }, type: far ? "log" : "linear", ...ticks },
    yaxis: { title: { text: "value" } }, hovermode: "closest", uirevision: name });
}
