// Plays a story: frames that Python has recorded from an engine. Nothing here knows any algorithm.
"use strict";

const story = JSON.parse(document.getElementById("story").textContent);
const { names, places, edges, owner, hands, frames } = story;
const n = names.length;
const $ = (id) => document.getElementById(id);
const picture = $("picture");

// A frame holds the vertices that differ from the frame before: [role, mate, points, note, colour].
const states = [];
for (const frame of frames) {
  const state = states.length ? states[states.length - 1].slice() : [];
  for (const [v, values] of Object.entries(frame.set)) state[v] = values;
  states.push(state);
}
const longest = names.map((_, v) => Math.max(...states.map((state) => state[v][3].length)));

// ---- geometry: in pixels, so that letters keep their size on any screen ----

let width, height, radius, at, sides, roomy;

function fit() {
  ({ clientWidth: width, clientHeight: height } = picture);
  const most = Math.max(0, ...longest);
  const span = [0, 1].map((k) => {
    const values = places.map((place) => place[k]);
    return { low: Math.min(...values), range: Math.max(...values) - Math.min(...values) };
  });
  const margin = most ? [Math.min(width / 6, 28 + 4.5 * most), 42] : [34, 34];
  const room = [width - 2 * margin[0], height - 2 * margin[1]];
  const fill = span.map(({ range }, k) => room[k] / Math.max(range, 1e-9));
  const scale = fill.map((value) => Math.min(value, 2.4 * Math.min(...fill)));
  const lead = [width, height].map((size, k) => (size - scale[k] * span[k].range) / 2);
  at = places.map((place) => place.map((value, k) => lead[k] + scale[k] * (value - span[k].low)));
  spread(Math.min(64, 0.62 * Math.sqrt((room[0] * room[1]) / Math.max(n, 1))), margin);

  const nearest = at.map((p, v) => Math.min(1e9, ...at.map((q, u) => (u === v ? 1e9 : distance(p, q)))));
  nearest.sort((a, b) => a - b);
  const spacing = n ? nearest[Math.floor(n / 5)] : 100;
  radius = Math.max(3.5, Math.min(19, 0.3 * spacing));
  roomy = spacing > 30 + 2.4 * most;
  sides = [];
  for (let v = 0; v < n; v++) sides.push(sideOf(v));
}

// Push vertices apart that are nearer than the gap, and keep them inside.
function spread(gap, margin) {
  for (let sweep = 0; sweep < 80; sweep++)
    for (let v = 0; v < n; v++) {
      for (let u = 0; u < v; u++) {
        const apart = distance(at[u], at[v]);
        if (apart >= gap) continue;
        const push = at[v].map((value, k) => ((value - at[u][k]) / (apart || 1)) * 0.25 * (gap - apart));
        at[v] = at[v].map((value, k) => value + push[k]);
        at[u] = at[u].map((value, k) => value - push[k]);
      }
      at[v] = at[v].map((value, k) => Math.max(margin[k], Math.min([width, height][k] - margin[k], value)));
    }
}

const distance = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);

function toSegment(p, a, b) {
  const along = [b[0] - a[0], b[1] - a[1]];
  const square = along[0] ** 2 + along[1] ** 2 || 1;
  const t = Math.max(0, Math.min(1, ((p[0] - a[0]) * along[0] + (p[1] - a[1]) * along[1]) / square));
  return distance(p, [a[0] + t * along[0], a[1] + t * along[1]]);
}

const around = names.map(() => []);
for (const [u, v] of edges) around[u].push(v), around[v].push(u);

// Where the longest note of v disturbs least, beside v: far from edges, vertices, and the notes of those before v.
function sideOf(v) {
  const half = 4 * Math.max(longest[v], 3);
  let best = null;
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, -1], [0, 1], [0.75, -0.75], [-0.75, -0.75], [0.75, 0.75], [-0.75, 0.75]]) {
    const middle = [at[v][0] + dx * (radius + 8 + half), at[v][1] + dy * (radius + 14)];
    let cost = 0.02 * Math.abs(dy);
    sides.forEach(([x, y], u) => {
      if (longest[u] && Math.abs(y - middle[1]) < 15 && Math.abs(x - middle[0]) < half + 4 * longest[u]) cost += 200;
    });
    for (const shift of [-half, -half / 2, 0, half / 2, half]) {
      const p = [middle[0] + shift, middle[1]];
      if (p[0] < 3 || p[0] > width - 3 || p[1] < 9 || p[1] > height - 9) cost += 200;
      for (const u of around[v]) cost += toSegment(p, at[u], at[v]) < 12 ? 3 : 0;
      for (let u = 0; u < n; u++) if (u !== v && distance(p, at[u]) < radius + 10) cost += 6;
      for (const [a, b] of roomy ? edges : []) if (a !== v && b !== v && toSegment(p, at[a], at[b]) < 9) cost += 1;
    }
    if (!best || cost < best.cost) best = { cost, middle };
  }
  return best.middle;
}

// Beside the middle of an edge, clear of its arrows, on a side where no vertex and no label is; or nowhere.
function besideEdge(u, v, label, labels) {
  const long = distance(at[u], at[v]) || 1;
  const aside = [(at[v][1] - at[u][1]) / long, (at[u][0] - at[v][0]) / long];
  const half = 4 * label.length;
  const away = 11 + half * Math.abs(aside[0]) + 6 * Math.abs(aside[1]);
  const crowd = (p) => {
    if (p[0] < half || p[0] > width - half || p[1] < 8 || p[1] > height - 8) return Infinity;
    for (const q of at)
      if (Math.abs(p[0] - q[0]) < radius + half + 4 && Math.abs(p[1] - q[1]) < radius + 10) return Infinity;
    for (const [x, y, reach] of labels) if (Math.abs(p[1] - y) < 14 && Math.abs(p[0] - x) < half + reach) return Infinity;
    return edges.filter(([a, b]) => toSegment(p, at[a], at[b]) < 9).length;
  };
  const spots = [away, -away].map((step) => aside.map((value, k) => (at[u][k] + at[v][k]) / 2 + step * value));
  spots.sort((p, q) => crowd(p) - crowd(q));
  return crowd(spots[0]) < 3 ? spots[0] : null;
}

// ---- drawing ----

function element(kind, attributes, parent, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent?.append(made);
  return made;
}

const SMALLEST = 7; // pixels of a letter
let drawn;

function build() {
  fit();
  picture.replaceChildren();
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const layer = (name) => element("g", { class: name }, picture);
  if (owner) drawRegions(layer("regions"));
  const lines = layer("edges");
  const weights = layer("weights");
  drawn = { edges: [], weights: [], vertices: [], notes: [], arrows: null };
  const labels = roomy ? sides.map(([x, y], v) => [x, y, longest[v] ? 4 * longest[v] : -99]) : []; // x, y, half width
  for (const [u, v, thick, label] of edges) {
    const [[x1, y1], [x2, y2]] = [at[u], at[v]];
    const line = { x1, y1, x2, y2, class: "edge", "data-ends": `${u} ${v}`, "stroke-width": thick };
    drawn.edges.push(element("line", line, lines));
    const spot = label && besideEdge(u, v, label, labels);
    if (spot) labels.push([...spot, 4 * label.length]);
    drawn.weights.push(spot ? element("text", { class: "weight", x: spot[0], y: spot[1] }, weights, label) : null);
  }
  if (owner) nameRegions(weights, labels);
  drawn.arrows = layer("arrows");
  const discs = layer("vertices");
  const notes = layer("notes");
  const fitting = (1.75 * radius) / 0.64; // letters of one pixel
  for (let v = 0; v < n; v++) {
    const [x, y] = at[v];
    const group = element("g", { "data-vertex": v, transform: `translate(${x} ${y})` }, discs);
    element("rect", { class: "ring", rx: radius + 4 }, group);
    element("rect", { class: "disc" }, group);
    const name = shortened([...names[v]], Math.floor(fitting / SMALLEST));
    const size = Math.min(15, fitting / Math.max(2, name.length));
    const text = element("text", { class: "name", "font-size": size }, group, name);
    const wide = text.getComputedTextLength() / (1.85 * radius); // letters may be wide
    if (wide > 1) text.setAttribute("font-size", size / wide);
    element("title", {}, group, names[v]); // where the name does not fit
    drawn.vertices.push(group);
    drawn.notes.push(element("text", { class: "note", "text-anchor": "middle", x: sides[v][0], y: sides[v][1] }, notes));
  }
  show(now);
}

function shortened(letters, most) {
  if (letters.length > most) letters = most > 2 ? [...letters.slice(0, most - 1), "…"] : [];
  return letters.join("");
}

function setSquare(shape, half, round) {
  for (const [name, value] of [["x", -half], ["y", -half], ["width", 2 * half], ["height", 2 * half], ["rx", round]])
    shape.setAttribute(name, value);
}

// Reds are squares, all others discs: who cannot see the colours sees the shapes.
function drawVertex(v, [role, , , note, colour]) {
  const group = drawn.vertices[v];
  group.setAttribute("class", `vertex ${role} ${colour}`);
  const [ring, disc] = group.children;
  const half = colour === "red" ? 0.9 * radius : radius;
  const round = colour === "red" ? 2 : radius;
  setSquare(disc, half, round);
  setSquare(ring, half + 4.5, round + 4.5);
  drawn.notes[v].textContent = roomy || role === "current" || role === "candidate" ? note : "";
}

function drawArrow(u, v, kind) {
  const [p, q] = [at[u], at[v]];
  const long = distance(p, q) || 1;
  const along = [(q[0] - p[0]) / long, (q[1] - p[1]) / long];
  const point = (step, aside) => [p[0] + along[0] * step - along[1] * aside, p[1] + along[1] * step + along[0] * aside];
  const draw = (d, name) => element("path", { d, class: name, "data-arrow": `${u} ${v}` }, drawn.arrows);
  if (kind === "edge") {
    draw(`M${point(radius, 0)}L${point(long - radius, 0)}`, "arrow ask");
    return;
  }
  if (hands && kind !== "notice") {
    const palm = Math.min(4.5, 0.4 * radius);
    const [a, b] = [point(radius, 0), point(Math.max(long / 2 - palm, radius + 1), 0)];
    draw(`M${a}L${b}`, `arrow hand ${kind}`);
    element("circle", { cx: b[0], cy: b[1], r: palm, class: `head ${kind}` }, drawn.arrows);
    return;
  }
  const size = Math.min(1, radius / 11);
  const [aside, tip] = [5 * size, long - radius - 3];
  draw(`M${point(radius + 3, aside)}L${point(tip - 8 * size, aside)}`, `arrow ${kind}`);
  if (kind === "refused") {
    const m = point(long / 2, aside);
    draw(`M${m[0] - 5},${m[1] - 5}l10,10m0,-10l-10,10`, "head refused");
  } else {
    const [left, right] = [point(tip - 10 * size, aside - 5.5 * size), point(tip - 10 * size, aside + 5.5 * size)];
    draw(`M${point(tip, aside)}L${left}L${right}Z`, `head ${kind}`);
  }
}

// ---- owners as regions: the cells of points that are nearest to each vertex ----

const HUES = ["#cc79a7", "#e3c800", "#0072b2", "#d55e00", "#009e73", "#8a8f94", "#56b4e9", "#e69f00"];

// The part of a polygon (corners with the vertex beyond the side that follows) that is nearer to p than to q.
function clip(polygon, p, q, beyond) {
  const towards = (c) => (c[0] - (p[0] + q[0]) / 2) * (q[0] - p[0]) + (c[1] - (p[1] + q[1]) / 2) * (q[1] - p[1]);
  const kept = [];
  polygon.forEach(([corner, side], i) => {
    const [next] = polygon[(i + 1) % polygon.length];
    const [a, b] = [towards(corner), towards(next)];
    const cut = () => corner.map((value, k) => value + ((next[k] - value) * a) / (a - b));
    if (a <= 0) kept.push([corner, side]);
    if (a <= 0 && b > 0) kept.push([cut(), beyond]);
    if (a > 0 && b <= 0) kept.push([cut(), side]);
  });
  return kept;
}

function drawRegions(layer) {
  const groups = HUES.map((hue) => element("g", { class: "region", fill: hue, stroke: hue }, layer));
  at.forEach((p, v) => {
    let cell = [[0, 0], [width, 0], [width, height], [0, height]].map((corner) => [corner, -1]);
    at.forEach((q, u) => (cell = u === v || distance(p, q) < 1e-6 ? cell : clip(cell, p, q, u)));
    if (!cell.length) return;
    element("path", { d: `M${cell.map(([corner]) => corner).join("L")}Z` }, groups[owner[v]]);
    cell.forEach(([[x1, y1], side], i) => {
      const [[x2, y2]] = cell[(i + 1) % cell.length];
      if (side > v && owner[side] !== owner[v]) element("line", { x1, y1, x2, y2, class: "border" }, layer);
    });
  });
}

function nameRegions(layer, labels) {
  for (const rank of new Set(owner)) {
    const spot = emptiest(rank, labels);
    if (!spot) continue;
    element("text", { class: "rank", x: spot[0], y: spot[1] }, layer, `rank ${rank}`);
    labels.push([...spot, 26]);
  }
}

function ownerAt(p) {
  const gaps = at.map((q) => distance(p, q));
  return owner[gaps.indexOf(Math.min(...gaps))];
}

// The place in a region that is farthest from everything else, labels included.
function emptiest(rank, labels) {
  let best = null;
  for (let i = 1; i < 40; i++)
    for (let j = 1; j < 30; j++) {
      const p = [28 + (i / 40) * (width - 56), 14 + (j / 30) * (height - 28)];
      const gaps = at.map((q) => distance(p, q));
      if (ownerAt(p) !== rank) continue;
      const astray = [-26, 26].some((shift) => ownerAt([p[0] + shift, p[1]]) !== rank); // part of the word is
      const free = Math.min(...gaps.map((gap) => gap - radius), ...edges.map(([u, v]) => toSegment(p, at[u], at[v])));
      const hit = labels.some(([x, y, half]) => Math.abs(p[1] - y) < 16 && Math.abs(p[0] - x) < half + 26);
      const gap = Math.min(free, 40) - (hit ? 40 : 0) - (astray ? 20 : 0) - 0.02 * Math.min(...gaps.filter((_, v) => owner[v] === rank));
      if (!best || gap > best.gap) best = { gap, p };
    }
  return best?.p;
}

// ---- frames ----

let now = 0;
let timer = null;

// Arrays of the engine, one a row: [name, items, which are shaded].
function showArrays(arrays) {
  const box = $("arrays");
  box.hidden = !arrays.length;
  box.firstElementChild.replaceChildren(
    ...arrays.map(([name, items, shaded]) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = name;
      const cells = items.map((item, i) => {
        const cell = document.createElement("td");
        cell.textContent = item;
        cell.classList.toggle("shaded", Boolean(shaded[i]));
        return cell;
      });
      row.append(head, ...cells);
      return row;
    }),
  );
}

function show(index) {
  now = Math.max(0, Math.min(frames.length - 1, index));
  const { line, caption, arrows, arrays } = frames[now];
  const state = states[now];
  const mate = (v) => state[v][1];
  state.forEach((values, v) => drawVertex(v, values));
  edges.forEach(([u, v], i) => {
    const matched = mate(u) === v && mate(v) === u;
    const gone = !matched && (mate(u) >= 0 || mate(v) >= 0);
    drawn.edges[i].setAttribute("class", `edge${matched ? " matched" : gone ? " gone" : ""}`);
    drawn.weights[i]?.setAttribute("class", `weight${gone ? " gone" : ""}`);
  });
  drawn.arrows.replaceChildren();
  const told = new Set(arrows.map(([u, v]) => `${u} ${v}`));
  state.forEach(([, , v], u) => {
    const paired = v >= 0 && mate(u) === v && mate(v) === u;
    if (v >= 0 && !paired && !told.has(`${u} ${v}`)) drawArrow(u, v, "points");
  });
  for (const arrow of arrows) drawArrow(...arrow);
  $("caption").textContent = caption;
  showArrays(arrays ?? []);
  [...$("code").children].forEach((item, i) => {
    item.classList.toggle("lit", i === line);
    if (i === line) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  });
  $("slider").value = now;
  $("count").textContent = `${now + 1} / ${frames.length}`;
  $("first").disabled = $("back").disabled = now === 0;
  $("last").disabled = $("step").disabled = now === frames.length - 1;
  try {
    history.replaceState(null, "", `#${now + 1}`);
  } catch {} // a browser may forbid it in a frame, or so often; the page does without
}

function pause() {
  clearTimeout(timer);
  timer = null;
  $("play").classList.remove("playing");
  $("play").setAttribute("aria-label", "Play");
}

function play() {
  if (now === frames.length - 1) show(0);
  $("play").classList.add("playing");
  $("play").setAttribute("aria-label", "Pause");
  const tick = () => {
    show(now + 1);
    if (now === frames.length - 1) pause();
    else timer = setTimeout(tick, Number($("pace").value));
  };
  timer = setTimeout(tick, Number($("pace").value) / 2);
}

const go = (index) => (pause(), show(index));
const toggle = () => (timer === null ? play() : pause());
const actions = {
  first: () => go(0),
  back: () => go(now - 1),
  play: toggle,
  step: () => go(now + 1),
  last: () => go(frames.length - 1),
};
const keys = { Home: "first", ArrowLeft: "back", " ": "play", ArrowRight: "step", End: "last" };

for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);
$("slider").max = frames.length - 1;
$("slider").addEventListener("input", (event) => go(Number(event.target.value)));
addEventListener("keydown", (event) => {
  const action = keys[event.key];
  if (!action || event.target.tagName === "SELECT" || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  actions[action]();
});
addEventListener("keyup", (event) => {
  if (event.key === " " && event.target.tagName === "BUTTON") event.preventDefault(); // else it would also be a click
});
// Who asked for little motion gets no flicker: only the slower paces, and the slowest to begin with.
if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
  for (const choice of [...$("pace").options]) if (Number(choice.value) < 1000) choice.remove();
  $("pace").selectedIndex = 0;
}
const wanted = () => Math.round(Number(location.hash.slice(1))) - 1 || 0;
addEventListener("hashchange", () => go(wanted()));

now = wanted();
new ResizeObserver(build).observe(picture); // also at the start
