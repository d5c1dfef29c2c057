// Puts the parts together: what the controls mean, and what is drawn when.

const runs = JSON.parse(document.getElementById("runs").textContent);
const byId = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];

const state = {
  kinds: new Set(), cpus: null, tasks: "", order: "near", colours: "task",
  delayForm: () => byId("delay-form").value,
  viewed, tell,
};

for (const run of runs) {
  const busy = atob(run.overview);
  run.coarse = { steps: run.steps, busy: Uint8Array.from(busy, (c) => c.charCodeAt(0)) };
}
const timelines = runs.map((run, index) => new Timeline(run, index, state));
const occupancies = timelines.map((timeline) => new OccupancyPlot(timeline));
const delays = new DelayPlot(state);
let active = timelines[0];
let isReady = false;

function tell(text) {
  byId("detail").textContent = text;
}

// A timeline has moved: so do those that are linked to it.
let isFollowing = false;
function viewed(timeline) {
  active = timeline;
  if (byId("linked")?.checked && !isFollowing) {
    isFollowing = true;
    for (const other of timelines) {
      if (other !== timeline) other.show(timeline.view.from, timeline.view.to);
    }
    isFollowing = false;
    active = timeline;
  }
  soon();
}

// Draws once per frame however much has changed; what counts everything waits until it is calm.
let isAsked = false, calm = 0;
function soon() {
  if (!isAsked) {
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      drawTimelines();
    });
  }
  document.documentElement.dataset.calm = "no";
  clearTimeout(calm);
  calm = setTimeout(drawRest, 120);
}

function drawTimelines() {
  for (const timeline of timelines) timeline.draw();
  const { from, to } = active.view;
  byId("window").textContent = `${brief(to - from)} from ${clock(active.run, from)} s`;
}

function drawRest() {
  if (!isReady) return;
  clearTimeout(calm);
  for (const plot of occupancies) plot.draw(byId("occupancy-by").value);
  delays.update(timelines);
  if (byId("listing").open) list();
  remember();
  // For those who wait for it, as tests do.
  const told = document.documentElement.dataset;
  told.drawn = String(Number(told.drawn ?? 0) + 1);
  told.calm = "yes";
}

function recolour() {
  const colours = theme();
  for (const timeline of timelines) timeline.recolour(colours);
  soon();
}

function readControls() {
  state.kinds = new Set(all(".kind:checked").map((box) => box.value));
  state.cpus = cpuSet(byId("cpu-filter").value);
  state.order = byId("order").value;
  state.colours = byId("colours").value;
  const tasks = byId("task-filter").value;
  const isNew = tasks !== state.tasks;
  state.tasks = tasks;
  for (const timeline of timelines) {
    timeline.arrange();
    if (isNew) filterLanes(timeline);
  }
  recolour();
}

function filterLanes(timeline) {
  const hits = taskSet(timeline.run, state.tasks);
  if (!hits && !timeline.lanes?.[0]?.hits) return;
  for (const lane of timeline.lanes ?? []) lane.filter(hits);
}

// The first stretches in view as a table.
const LISTED = 200;
function list() {
  const box = byId("listing").querySelector("div");
  box.replaceChildren();
  for (const timeline of timelines) {
    const rows = [];
    for (const { cpu, lane: index } of timeline.order) {
      const lane = timeline.lanes[index];
      const first = lane.after(timeline.view.from);
      const last = bound(lane.start, timeline.view.to, first, lane.n);
      let listed = 0;
      for (let i = first; i < last && listed < LISTED; i++) {
        if (lane.hits && !lane.hits[lane.task[i]]) continue;
        listed++;
        rows.push([lane.start[i], cpu.id, taskName(timeline.run, lane.task[i]),
          duration(lane.end[i] - lane.start[i]), lane.wait[i] >= 0 ? duration(lane.wait[i]) : "",
          STOPS[String.fromCharCode(lane.stop[i])] ?? ""]);
      }
    }
    rows.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const table = document.createElement("table");
    const caption = table.createCaption();
    caption.textContent = `${timeline.run.name}: the first ${Math.min(LISTED, rows.length)} stretches in view`;
    const head = table.createTHead().insertRow();
    for (const text of ["from s", "CPU", "task", "ran for", "waited", "then"]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = text;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const [from, ...cells] of rows.slice(0, LISTED)) {
      const row = body.insertRow();
      for (const text of [clock(timeline.run, from), ...cells]) row.insertCell().textContent = text;
    }
    box.append(table);
  }
}

// The view is in the address, so that a place can be sent to others.
function remember() {
  const { from, to } = active.view;
  const isWhole = from === 0 && to === active.run.span;
  const hash = isWhole ? "" : `#run=${active.index}&from=${Math.round(from)}&to=${Math.round(to)}`;
  if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname);
}

function recall() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const timeline = timelines[Number(wanted.get("run"))];
  if (timeline && wanted.has("from")) timeline.show(Number(wanted.get("from")), Number(wanted.get("to")));
}

function wire() {
  for (const timeline of timelines) byId("timelines").append(timeline.figure);
  for (const plot of occupancies) byId("occupancy-plots").append(plot.figure);
  byId("delay-plot").append(delays.canvas);
  const names = new Set(runs.flatMap((run) => run.tasks.slice(1).map(([, name]) => name)));
  for (const name of [...names].filter(Boolean).sort().slice(0, 500)) {
    byId("task-names").append(new Option(name));
  }
  const actions = { in: (t) => t.zoom(0.5), out: (t) => t.zoom(2), left: (t) => t.pan(-0.5),
    right: (t) => t.pan(0.5), all: (t) => t.all(), back: (t) => t.back() };
  for (const button of all("[data-do]")) {
    button.addEventListener("click", () => actions[button.dataset.do](active));
  }
  for (const input of all(".kind, #task-filter, #cpu-filter, #colours, #order")) {
    input.addEventListener("input", readControls);
  }
  for (const input of all("#delay-form, #delay-window, #occupancy-by")) {
    input.addEventListener("input", soon);
  }
  byId("linked")?.addEventListener("input", () => viewed(active));
  byId("listing").addEventListener("toggle", soon);
  for (const button of all(".go")) {
    button.addEventListener("click", () => {
      const { run, from, ns, cpus } = button.dataset;
      const timeline = timelines[Number(run)];
      timeline.go(Number(from), Number(ns), cpus ? cpus.split(",").map(Number) : []);
      const heads = button.closest("table").tHead.rows[0].cells;
      const cells = [...button.closest("tr").cells].map((cell, i) =>
        cell.textContent && heads[i].textContent.endsWith(" us")
          ? `${heads[i].textContent.slice(0, -3)} ${cell.textContent} us` : cell.textContent);
      tell(cells.filter(Boolean).join("; "));
      byId("timeline").scrollIntoView({ block: "start" });
      timeline.canvas.focus({ preventScroll: true });
    });
  }
  for (const box of all(".sort")) box.addEventListener("input", filterFindings);
  filterFindings();
  for (const place of all(".save")) {
    const plots = { timeline: () => timelines, delays: () => [delays], occupancy: () => occupancies };
    for (const form of ["svg", "png"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `Save ${form.toUpperCase()}`;
      button.addEventListener("click", () => plots[place.dataset.plot]().forEach((plot, i) =>
        savePlot(plot, `${place.dataset.plot}-${i + 1}`, form)));
      place.append(button);
    }
  }
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme().isDark ? "light" : "dark";
    recolour();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  window.addEventListener("resize", soon);
  for (const timeline of timelines) {
    timeline.canvas.addEventListener("focus", () => { active = timeline; timeline.draw(); });
    timeline.canvas.addEventListener("blur", () => timeline.draw());
  }
}

function filterFindings() {
  const sorts = new Set(all(".sort:checked").map((box) => box.value));
  let shown = 0;
  for (const row of all("#findings tbody tr")) {
    row.hidden = !sorts.has(row.dataset.sort);
    if (!row.hidden) shown++;
  }
  byId("none-found").hidden = shown > 0;
}

async function unpackAll() {
  for (const timeline of timelines) {
    timeline.lanes = await loadLanes(timeline.run, timeline.index);
    filterLanes(timeline);
  }
  isReady = true;
  recall();
  drawTimelines();
  drawRest();
  performance.mark("fairlab-ready");
  document.documentElement.dataset.state = "ready";
}

wire();
readControls();
// Now, not with the next frame.
drawTimelines();
performance.mark("fairlab-painted");
// The lanes stand behind this script.
document.addEventListener("DOMContentLoaded", () => unpackAll().catch((error) => {
  document.documentElement.dataset.state = "failed";
  tell(`the timeline's data cannot be unpacked: ${error.message}; use a browser of 2023 or later`);
  throw error;
}));
