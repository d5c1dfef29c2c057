// A run's timeline: a row for each CPU, an axis, and a strip of the whole run above.
//
// A pixel tells the truth about what lies under it: its filled height is the busy part of its time,
// its colour that of the longest stretch in it. Where stretches are wider than that they are drawn
// one by one, with their names.

const GUTTER = 70, AXIS = 22, STRIP = 34;
const SHORTEST = 50; // ns that fill the plot at the highest zoom

class Timeline {
  constructor(run, index, state) {
    this.run = run;
    this.index = index;
    this.state = state;
    this.lanes = null;
    this.view = { from: 0, to: run.span };
    this.past = [];
    this.chosen = { row: 0, at: -1 };
    this.mark = null;
    this.colours = [];
    this.build();
    this.arrange();
  }

  build() {
    const figure = document.createElement("figure");
    figure.className = "timeline";
    figure.innerHTML = `<figcaption></figcaption><canvas class="strip" aria-hidden="true"></canvas>
      <div class="rows"><div class="spacer"><canvas class="main" tabindex="0" role="application"
      aria-roledescription="timeline"></canvas></div></div><div class="tip" hidden></div>`;
    figure.querySelector("figcaption").textContent = this.run.name;
    this.figure = figure;
    this.strip = figure.querySelector(".strip");
    this.canvas = figure.querySelector(".main");
    this.rows = figure.querySelector(".rows");
    this.spacer = figure.querySelector(".spacer");
    this.tip = figure.querySelector(".tip");
    this.canvas.setAttribute("aria-label", `Timeline of ${this.run.name}: ` +
      `${this.run.cpus.length} CPUs, ${brief(this.run.span)}. Keys: w and s zoom, a and d move, ` +
      "arrows choose a CPU and step along its stretches, Enter zooms to the chosen stretch.");
    this.rows.addEventListener("scroll", () => this.draw());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("dblclick", (event) =>
      this.zoom(event.shiftKey ? 4 : 0.25, this.timeAt(event.offsetX)));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.strip.addEventListener("pointerdown", (event) => this.pressStrip(event));
  }

  // Rows after the filter of CPUs, in the order that was chosen.
  arrange() {
    const { cpus, order } = this.state;
    let rows = this.run.cpus.map((cpu, lane) => ({ cpu, lane }));
    if (cpus) rows = rows.filter(({ cpu }) => cpus.has(cpu.id));
    if (order === "number") rows.sort((a, b) => a.cpu.id - b.cpu.id);
    this.order = rows;
    const n = Math.max(1, rows.length);
    this.rowHeight = n <= 8 ? 30 : n <= 20 ? 22 : n <= 48 ? 15 : n <= 128 ? 10 : 7;
    this.chosen = { row: Math.min(this.chosen.row, n - 1), at: -1 };
  }

  // Colours by task index.
  recolour(colours) {
    this.palette = colours;
    const numbers = new Map();
    this.colours = this.run.tasks.map(([, name], i) => {
      if (i === 0) return colourNumber(colours.unknown);
      const key = this.state.colours === "name" ? name : i;
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return hueColour(numbers.get(key), colours.isDark);
    });
  }

  resize() {
    const width = Math.max(240, Math.floor(this.figure.clientWidth));
    const full = AXIS + this.order.length * this.rowHeight;
    const most = Math.max(160, Math.floor(window.innerHeight * 0.62));
    this.width = width;
    this.height = Math.min(full, most);
    if (this.rows.style.height !== `${this.height}px`) this.rows.style.height = `${this.height}px`;
    if (this.spacer.style.height !== `${full}px`) this.spacer.style.height = `${full}px`;
    this.width = Math.max(240, Math.floor(this.rows.clientWidth));
  }

  x(time) {
    return GUTTER + (time - this.view.from) / (this.view.to - this.view.from) * (this.width - GUTTER);
  }

  timeAt(x) {
    const part = (x - GUTTER) / (this.width - GUTTER);
    return this.view.from + Math.min(1, Math.max(0, part)) * (this.view.to - this.view.from);
  }

  draw() {
    this.resize();
    this.paintStrip(new CanvasSurface(this.strip, this.width, STRIP));
    this.paint(new CanvasSurface(this.canvas, this.width, this.height), this.width, this.height);
  }

  // The whole run: how busy all CPUs together were, and which part is in view.
  paintStrip(surface) {
    const { palette, run } = this;
    const plot = this.width - GUTTER;
    surface.rect(GUTTER, 0, plot, STRIP, palette.alt);
    const { steps, busy } = run.coarse;
    const sums = new Float64Array(steps);
    for (let i = 0; i < busy.length; i++) sums[i % steps] += busy[i];
    const most = 255 * Math.max(1, run.cpus.length);
    for (let i = 0; i < steps; i++) {
      const height = sums[i] / most * (STRIP - 4);
      const x = GUTTER + i / steps * plot;
      surface.rect(x, STRIP - height, plot / steps + 0.5, height, palette.busy);
    }
    const left = GUTTER + this.view.from / run.span * plot;
    const right = GUTTER + this.view.to / run.span * plot;
    surface.rect(GUTTER, 0, Math.max(0, left - GUTTER), STRIP, palette.plot, 0.6);
    surface.rect(right, 0, Math.max(0, this.width - right), STRIP, palette.plot, 0.6);
    surface.frame(left + 0.5, 0.5, Math.max(2, right - left - 1), STRIP - 1, palette.select, 1.5);
    surface.text(GUTTER - 6, STRIP / 2, "whole run", palette.dim, "right");
  }

  paint(surface, width, height) {
    const { palette, rowHeight } = this;
    surface.rect(0, 0, width, height, palette.plot);
    const scroll = this.rows.scrollTop;
    const first = Math.floor(scroll / rowHeight);
    const last = Math.min(this.order.length, Math.ceil((scroll + height - AXIS) / rowHeight));
    for (let row = first; row < last; row++) {
      const y = AXIS + row * rowHeight - scroll;
      const { cpu, lane } = this.order[row];
      const before = row > 0 ? this.order[row - 1].cpu : null;
      if (row % 2) surface.rect(GUTTER, y, width - GUTTER, rowHeight, palette.alt);
      if (this.lanes) {
        this.paintLane(surface, this.lanes[lane], y, width);
      } else {
        this.paintCoarse(surface, lane, y, width);
      }
      // Siblings stand together; a line parts cores, a strong one LLCs.
      if (before && this.state.order === "near") {
        if (before.llc !== cpu.llc || before.node !== cpu.node) {
          surface.rect(0, y - 1, width, 1.5, palette.dim);
        } else if (before.core !== cpu.core && rowHeight > 7) {
          surface.rect(GUTTER, y - 0.5, width - GUTTER, 0.5, palette.line);
        }
      }
    }
    this.paintMarks(surface, first, last, scroll, width, height);
    surface.rect(0, AXIS, GUTTER, height - AXIS, palette.plot);
    this.paintLabels(surface, first, last, scroll);
    this.paintAxis(surface, width);
  }

  // Before the lanes are unpacked: the overview that came with the description.
  paintCoarse(surface, lane, y, width) {
    const { steps, busy } = this.run.coarse;
    const tall = this.rowHeight - 2;
    const plot = width - GUTTER;
    const heights = new Float32Array(plot);
    for (let i = 0; i < plot; i++) heights[i] = busy[lane * steps + Math.floor(i * steps / plot)] / 255 * tall;
    const colours = new Uint32Array(plot).fill(colourNumber(this.palette.busy));
    surface.columns(GUTTER, y + 1, tall, heights, colours);
  }

  paintLane(surface, lane, y, width) {
    const { from, to } = this.view;
    const kinds = this.state.kinds;
    const first = lane.after(from);
    const last = bound(lane.start, to, first, lane.n);
    if (kinds.has("run")) {
      if (last - first < 2 * (width - GUTTER)) {
        this.paintStretches(surface, lane, first, last, y, width);
      } else {
        this.paintPixels(surface, lane, y, width);
      }
    }
    if (kinds.has("lost")) this.paintLosses(surface, lane, y, width);
    if (kinds.has("wait")) this.paintWaits(surface, lane, first, last, y, width);
    if (kinds.has("placed") || kinds.has("missed") || kinds.has("move")) {
      this.paintPoints(surface, lane, y, width);
    }
  }

  colourOf(lane, i) {
    const task = lane.task[i];
    if (lane.hits && task && !lane.hits[task]) return colourNumber(this.palette.other);
    if (this.state.colours === "wait" && task) return waitColour(lane.wait[i], this.palette.isDark);
    return this.colours[task];
  }

  paintStretches(surface, lane, first, last, y, width) {
    const height = this.rowHeight - 2;
    for (let i = first; i < last; i++) {
      const left = Math.max(GUTTER, this.x(lane.start[i]));
      const right = Math.min(width, this.x(lane.end[i]));
      const wide = Math.max(0.6, right - left);
      surface.rect(left, y + 1, wide, height, colourText(this.colourOf(lane, i)));
      if (wide > 6 && height > 8) surface.rect(right - 0.5, y + 1, 0.5, height, this.palette.plot);
      if (wide > 34 && height >= 11 && lane.task[i]) {
        const name = taskName(this.run, lane.task[i]);
        const letters = Math.floor((wide - 6) / 6.2);
        const text = name.length <= letters ? name : letters > 3 ? `${name.slice(0, letters - 1)}…` : "";
        const isFaint = lane.hits && !lane.hits[lane.task[i]];
        if (text) surface.text(left + 3, y + 1 + height / 2, text,
          isFaint ? this.palette.dim : this.palette.isDark ? "#fff" : "#111");
      }
    }
  }

  paintPixels(surface, lane, y, width) {
    const tall = this.rowHeight - 2;
    const plot = width - GUTTER;
    const step = (this.view.to - this.view.from) / plot;
    const heights = new Float32Array(plot), colours = new Uint32Array(plot);
    // What the filter hides, behind what it lets pass.
    const faint = lane.hits ? new Float32Array(plot) : null;
    let i = lane.after(this.view.from);
    let all = lane.before(lane.busy, this.view.from, i);
    let hit = lane.before(lane.hit, this.view.from, i);
    for (let x = 0; x < plot; x++) {
      const time = this.view.from + (x + 1) * step;
      const next = lane.after(time, i);
      const allNext = lane.before(lane.busy, time, next);
      const hitNext = lane.before(lane.hit, time, next);
      if (faint) faint[x] = Math.min(1, (allNext - all) / step) * tall;
      if (hitNext > hit) {
        // A sliver is seen as well.
        heights[x] = Math.max(1, Math.min(1, (hitNext - hit) / step) * tall);
        const best = lane.longest(i, Math.min(lane.n, next + 1));
        if (best >= 0) colours[x] = this.colourOf(lane, best);
      }
      i = next;
      all = allNext;
      hit = hitNext;
    }
    if (faint) {
      const other = new Uint32Array(plot).fill(colourNumber(this.palette.other));
      surface.columns(GUTTER, y + 1, tall, faint, other);
    }
    surface.columns(GUTTER, y + 1, tall, heights, colours);
  }

  paintLosses(surface, lane, y, width) {
    for (const [cpu, from, ns] of this.run.losses) {
      if (this.run.cpus[cpu] !== lane.cpu || from > this.view.to || from + ns < this.view.from) continue;
      const left = Math.max(GUTTER, this.x(from));
      const wide = Math.max(2, Math.min(width, this.x(from + ns)) - left);
      surface.rect(left, y + 1, wide, this.rowHeight - 2, this.palette.missed, 0.3);
    }
  }

  // A wait is drawn on the CPU where it ended in running, below what ran meanwhile.
  paintWaits(surface, lane, first, last, y, width) {
    const thick = this.rowHeight > 12 ? 4 : 2;
    const bottom = y + this.rowHeight - thick;
    const { palette } = this;
    if (last - first < 2 * (width - GUTTER)) {
      // One that began before may end just right of the view.
      for (let i = first; i < Math.min(lane.n, last + 2); i++) {
        if (lane.wait[i] <= 0 || (lane.hits && !lane.hits[lane.task[i]])) continue;
        const left = Math.max(GUTTER, this.x(lane.start[i] - lane.wait[i]));
        const right = Math.min(width, this.x(lane.start[i]));
        if (right <= GUTTER || left >= width) continue;
        surface.rect(left, bottom, Math.max(0.6, right - left), thick,
          lane.woken[i] ? palette.wait : palette.preempt);
      }
      return;
    }
    const plot = width - GUTTER;
    const step = (this.view.to - this.view.from) / plot;
    const heights = new Float32Array(plot), colours = new Uint32Array(plot);
    const colour = colourNumber(palette.wait);
    let i = bound(lane.start, this.view.from, 0, lane.n);
    for (let x = 0; x < plot; x++) {
      const next = bound(lane.start, this.view.from + (x + 1) * step, i, lane.n);
      const part = (lane.waited[next] - lane.waited[i]) / step;
      if (part > 0.02) {
        heights[x] = thick;
        colours[x] = withOpacity(colour, part);
      }
      i = next;
    }
    surface.columns(GUTTER, bottom, thick, heights, colours);
  }

  // Moves and placements as small triangles, what was missed last and so on top. Those that would
  // lie on one another are drawn once.
  paintPoints(surface, lane, y, width) {
    const { points } = lane;
    const { kinds } = this.state;
    const from = bound(points.time, this.view.from, 0, points.n);
    const to = bound(points.time, this.view.to, from, points.n);
    const size = Math.min(5, this.rowHeight / 3);
    for (const [isLast, wanted] of [[false, kinds.has("move") || kinds.has("placed")], [true, kinds.has("missed")]]) {
      let drawn = -size;
      for (let i = from; wanted && i < to; i++) {
        if (lane.hits && !lane.hits[points.task[i]]) continue;
        const kind = points.kind[i] & ~UNSURE;
        const isMissed = kind > 0 && this.run.sorts[kind - 1][1];
        if (isMissed !== isLast && !(isMissed && !kinds.has("missed"))) continue;
        if (!isLast && !kinds.has(kind === 0 ? "move" : "placed")) continue;
        const x = this.x(points.time[i]);
        if (x - drawn < size) continue;
        if (x > width) break;
        drawn = x;
        const colour = isLast ? this.palette.missed : kind === 0 ? this.palette.move : this.palette.placed;
        surface.path([x - size * 0.7, y + 1, x + size * 0.7, y + 1, x, y + 1 + size], colour, 1, true);
      }
    }
  }

  // The place of a finding, the chosen stretch, and the time that is being chosen.
  paintMarks(surface, first, last, scroll, width, height) {
    const { mark, chosen, palette } = this;
    if (mark) {
      const left = this.x(mark.from), right = this.x(mark.from + mark.ns);
      surface.rect(left, AXIS, Math.max(1.5, right - left), height - AXIS, palette.select, 0.16);
      surface.rect(left - 0.5, AXIS, 1, height - AXIS, palette.select);
      for (let row = first; row < last; row++) {
        if (!mark.cpus.includes(this.order[row].cpu.id)) continue;
        const y = AXIS + row * this.rowHeight - scroll;
        surface.frame(Math.max(GUTTER, left) - 1, y + 0.5, Math.max(4, right - Math.max(GUTTER, left)) + 2,
          this.rowHeight - 1, palette.select, 1.5);
      }
    }
    if (this.lanes && chosen.at >= 0 && chosen.row >= first && chosen.row < last) {
      const lane = this.lanes[this.order[chosen.row].lane];
      const y = AXIS + chosen.row * this.rowHeight - scroll;
      const left = Math.max(GUTTER, this.x(lane.start[chosen.at]));
      const right = Math.min(width, this.x(lane.end[chosen.at]));
      if (right > GUTTER && left < width) {
        surface.frame(left - 0.5, y + 0.5, Math.max(2, right - left) + 1, this.rowHeight - 1, palette.text, 2);
      }
    }
    if (this.range) {
      const left = this.x(Math.min(this.range.from, this.range.to));
      const right = this.x(Math.max(this.range.from, this.range.to));
      surface.rect(left, AXIS, right - left, height - AXIS, palette.select, 0.25);
      surface.text((left + right) / 2, AXIS + 10, brief(Math.abs(this.range.to - this.range.from)),
        palette.text, "center");
    }
  }

  paintLabels(surface, first, last, scroll) {
    const { palette, rowHeight } = this;
    const every = Math.ceil(11 / rowHeight);
    for (let row = first; row < last; row++) {
      const { cpu } = this.order[row];
      const y = AXIS + row * rowHeight - scroll;
      // Bands tell LLCs apart.
      const llc = cpu.llc ?? -1;
      if (llc >= 0) surface.rect(0, y, 4, rowHeight, llc % 2 ? palette.dim : palette.line);
      const isChosen = row === this.chosen.row && document.activeElement === this.canvas;
      if (row % every === 0 || isChosen) {
        surface.text(GUTTER - 6, y + rowHeight / 2, `CPU ${cpu.id}`,
          isChosen ? palette.select : palette.text, "right");
      }
    }
  }

  paintAxis(surface, width) {
    const { palette, view } = this;
    surface.rect(0, 0, width, AXIS, palette.plot);
    const span = view.to - view.from;
    const wanted = span / Math.max(2, (width - GUTTER) / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((s) => s >= wanted) ?? wanted;
    const [unit, scale] = step >= 1e9 ? ["s", 1e9] : step >= 1e6 ? ["ms", 1e6]
      : step >= 1e3 ? ["us", 1e3] : ["ns", 1];
    for (let k = Math.ceil(view.from / step); k * step <= view.to; k++) {
      const x = this.x(k * step);
      surface.rect(x, AXIS - 5, 1, 5, palette.dim);
      if (x < width - 30) {
        const value = Number((k * step / scale).toPrecision(15));
        surface.text(x + 3, AXIS / 2 - 2, `${value.toLocaleString("en").replace(/,/g, " ")} ${unit}`, palette.dim);
      }
    }
    surface.rect(GUTTER, AXIS - 1, width - GUTTER, 1, palette.line);
  }

  // Moves the view, as far as the run goes; the view before can be had back.
  show(from, to, isStep = true) {
    const { span } = this.run;
    const length = Math.min(span, Math.max(SHORTEST, to - from));
    from = Math.min(Math.max(0, from), span - length);
    if (isStep) {
      this.past.push(this.view);
      if (this.past.length > 100) this.past.shift();
    }
    this.view = { from, to: from + length };
    this.state.viewed(this);
  }

  zoom(factor, around = (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view;
    this.show(around - (around - from) * factor, around + (to - around) * factor);
  }

  pan(part) {
    const by = (this.view.to - this.view.from) * part;
    this.show(this.view.from + by, this.view.to + by);
  }

  all() {
    this.mark = null;
    this.show(0, this.run.span);
  }

  back() {
    const view = this.past.pop();
    if (view) this.show(view.from, view.to, false);
  }

  // Goes to a place, with as much again on both sides.
  go(from, ns, cpus) {
    this.mark = { from, ns, cpus };
    const row = this.order.findIndex(({ cpu }) => cpu.id === cpus[0]);
    if (row >= 0) {
      this.chosen = { row, at: -1 };
      this.scrollTo(row);
    }
    const room = Math.max(ns * 0.75, 2000);
    this.show(from - room, from + ns + room);
  }

  scrollTo(row) {
    const top = row * this.rowHeight;
    const room = this.height - AXIS - this.rowHeight;
    if (top < this.rows.scrollTop) this.rows.scrollTop = top;
    else if (top > this.rows.scrollTop + room) this.rows.scrollTop = top - room;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      w: () => this.zoom(0.5), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
      s: () => this.zoom(2), "-": () => this.zoom(2),
      a: () => this.pan(-0.25), d: () => this.pan(0.25),
      ArrowUp: () => this.choose(this.chosen.row - 1, null),
      ArrowDown: () => this.choose(this.chosen.row + 1, null),
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      Enter: () => this.enter(),
      0: () => this.all(), Home: () => this.all(),
      Backspace: () => this.back(), Escape: () => { this.mark = null; this.draw(); },
    };
    const action = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (action) {
      event.preventDefault();
      action();
    }
  }

  // Chooses a row, and of it a stretch (none when null), and says what it is.
  choose(row, at) {
    row = Math.min(this.order.length - 1, Math.max(0, row));
    this.chosen = { row, at: at ?? -1 };
    this.scrollTo(row);
    this.draw();
    if (!this.lanes || row < 0) return;
    const { cpu, lane } = this.order[row];
    this.state.tell(at === null ? this.placeText(cpu) : this.stretchText(this.lanes[lane], at));
  }

  // To the next stretch of the chosen CPU that the filter lets pass; the view follows.
  step(by) {
    if (!this.lanes || !this.order.length) return;
    const lane = this.lanes[this.order[this.chosen.row].lane];
    let at = this.chosen.at >= 0 ? this.chosen.at + by
      : by > 0 ? lane.after(this.view.from) : lane.after(this.view.to) - 1;
    while (at >= 0 && at < lane.n && lane.hits && !lane.hits[lane.task[at]]) at += by;
    if (at < 0 || at >= lane.n) return;
    if (lane.end[at] < this.view.from || lane.start[at] > this.view.to) {
      const half = (this.view.to - this.view.from) / 2;
      this.show(lane.start[at] - half, lane.start[at] + half);
    }
    this.choose(this.chosen.row, at);
  }

  enter() {
    const { row, at } = this.chosen;
    if (!this.lanes || at < 0) return;
    const lane = this.lanes[this.order[row].lane];
    const wait = Math.max(0, lane.wait[at]);
    const room = Math.max(200, (lane.end[at] - lane.start[at] + wait) * 0.2);
    this.show(lane.start[at] - wait - room, lane.end[at] + room);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) {
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.pan(event.deltaX / (this.width - GUTTER));
      }
      return;
    }
    event.preventDefault();
    this.zoom(Math.exp(Math.max(-0.7, Math.min(0.7, event.deltaY / 250))), this.timeAt(event.offsetX));
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.tip.hidden = true;
    const begin = { x: event.offsetX, time: this.timeAt(event.offsetX), view: this.view };
    const isRange = event.shiftKey;
    let hasMoved = false;
    const move = (next) => {
      if (Math.abs(next.offsetX - begin.x) > 3) hasMoved = true;
      if (!hasMoved) return;
      if (isRange) {
        this.range = { from: begin.time, to: this.timeAt(next.offsetX) };
        this.draw();
        return;
      }
      const by = (begin.x - next.offsetX) / (this.width - GUTTER) * (begin.view.to - begin.view.from);
      this.show(begin.view.from + by, begin.view.to + by, false);
    };
    const end = () => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", end);
      this.canvas.removeEventListener("pointercancel", end);
      const range = this.range;
      this.range = null;
      if (range) this.show(Math.min(range.from, range.to), Math.max(range.from, range.to));
      else if (hasMoved) this.past.push(begin.view);
      else this.click(event.offsetX, event.offsetY);
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
  }

  pressStrip(event) {
    const to = (x) => {
      const middle = (x - GUTTER) / (this.width - GUTTER) * this.run.span;
      const half = (this.view.to - this.view.from) / 2;
      this.show(middle - half, middle + half, false);
    };
    this.past.push(this.view);
    this.strip.setPointerCapture(event.pointerId);
    const move = (next) => to(next.offsetX);
    to(event.offsetX);
    this.strip.addEventListener("pointermove", move);
    this.strip.addEventListener("pointerup",
      () => this.strip.removeEventListener("pointermove", move), { once: true });
  }

  // What lies under a place: the row, its stretch (or -1) and its points.
  under(x, y) {
    if (!this.lanes || x < 0 || y < AXIS) return null;
    const row = Math.floor((y - AXIS + this.rows.scrollTop) / this.rowHeight);
    const entry = this.order[row];
    if (!entry) return null;
    const lane = this.lanes[entry.lane];
    const near = (this.view.to - this.view.from) / (this.width - GUTTER);
    const time = this.timeAt(x);
    let at = lane.after(time - near);
    const to = bound(lane.start, time + near, at, lane.n);
    const count = to - at;
    at = count > 1 ? lane.longest(at, to) : count === 1 ? at : -1;
    const first = bound(lane.points.time, time - 4 * near, 0, lane.points.n);
    const last = bound(lane.points.time, time + 4 * near, first, lane.points.n);
    return { row, entry, lane, at, count, time, first, last };
  }

  click(x, y) {
    const found = this.under(x, y);
    if (found) this.choose(found.row, found.at >= 0 ? found.at : null);
  }

  hover(event) {
    if (event.buttons) return;
    const found = event.offsetX >= 0 ? this.under(event.offsetX, event.offsetY) : null;
    if (!found) { this.tip.hidden = true; return; }
    const lines = event.offsetX < GUTTER ? [this.placeText(found.entry.cpu)] : this.tipLines(found);
    this.tip.textContent = lines.join("\n");
    this.tip.hidden = false;
    const box = this.figure.getBoundingClientRect();
    const left = event.clientX - box.left + 14;
    this.tip.style.left = `${Math.max(0, Math.min(left, box.width - this.tip.offsetWidth - 4))}px`;
    const top = event.clientY - box.top + 16;
    this.tip.style.top = `${top}px`;
  }

  tipLines({ entry, lane, at, count, time, first, last }) {
    const lines = [`${clock(this.run, time)} s  (+${duration(time)})`];
    if (at < 0) {
      lines.push(`CPU ${entry.cpu.id}: idle`);
    } else {
      if (count > 1) lines.push(`${count} stretches within a pixel; the longest:`);
      lines.push(...this.stretchText(lane, at).split("; "));
    }
    let told = 0;
    for (let i = first; i < last && told < 4; i++) {
      const { kinds } = this.state;
      const sort = pointSort(this.run, lane.points.kind[i]);
      const isShown = sort.isMove ? kinds.has("move")
        : kinds.has("placed") || (sort.isMissed && kinds.has("missed"));
      if (!isShown || (lane.hits && !lane.hits[lane.points.task[i]])) continue;
      lines.push(`▾ ${this.pointText(lane, i, sort)}`);
      told++;
    }
    return lines;
  }

  placeText(cpu) {
    const llc = cpu.llc === null ? "" : `, LLC ${cpu.llc}`;
    return `CPU ${cpu.id}: core ${cpu.core}${llc}, node ${cpu.node}`;
  }

  stretchText(lane, i) {
    const task = lane.task[i];
    const parts = [
      task ? `${taskName(this.run, task)} on CPU ${lane.cpu.id}` : `CPU ${lane.cpu.id}: not known what ran`,
      `from ${clock(this.run, lane.start[i])} s`,
      `for ${duration(lane.end[i] - lane.start[i])}`,
    ];
    if (lane.wait[i] >= 0 && task) {
      parts.push(`waited ${duration(lane.wait[i])} after ${lane.woken[i] ? "it was woken" : "it was preempted"}`);
    }
    const stop = STOPS[String.fromCharCode(lane.stop[i])];
    if (stop) parts.push(`then ${stop}`);
    return parts.join("; ");
  }

  pointText(lane, i, sort) {
    const { points } = lane;
    const task = taskName(this.run, points.task[i]);
    const other = points.other[i] ? points.other[i] - 1 : null;
    if (sort.isMove) return `${task} moved here from CPU ${other}`;
    const better = other === null ? "" : `, CPU ${other} would have been better`;
    const delay = points.delay[i] ? `, ran after ${duration(points.delay[i] - 1)}` : "";
    return `${task}: ${sort.what}${better}${delay}`;
  }
}
