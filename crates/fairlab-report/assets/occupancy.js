// How busy each LLC, core or node was over the time in view: a row each, the darker the busier.

const OCCUPANCY_STEP = 4; // pixels

class OccupancyPlot {
  constructor(timeline) {
    this.timeline = timeline;
    this.figure = document.createElement("figure");
    this.figure.innerHTML = '<figcaption></figcaption><canvas role="img"></canvas>';
    this.figure.querySelector("figcaption").textContent = timeline.run.name;
    this.canvas = this.figure.querySelector("canvas");
  }

  groups(by) {
    const groups = new Map();
    this.timeline.run.cpus.forEach((cpu, lane) => {
      const key = by === "llc" ? cpu.llc ?? `CPU ${cpu.id}` : cpu[by];
      const name = typeof key === "string" ? key : `${by === "llc" ? "LLC" : by} ${key}`;
      if (!groups.has(name)) groups.set(name, { name, lanes: [] });
      groups.get(name).lanes.push(lane);
    });
    return [...groups.values()];
  }

  draw(by) {
    if (!this.timeline.lanes) return;
    this.rows = this.groups(by);
    const n = this.rows.length;
    this.rowHeight = n <= 12 ? 22 : n <= 40 ? 13 : n <= 160 ? 6 : 3;
    this.width = Math.max(240, Math.floor(this.figure.clientWidth));
    this.height = n * this.rowHeight + 24;
    this.paint(new CanvasSurface(this.canvas, this.width, this.height), this.width, this.height);
    this.canvas.setAttribute("aria-label",
      `Busy part of each ${by} over ${brief(this.timeline.view.to - this.timeline.view.from)}; ` +
      "tables for the whole run are below.");
  }

  paint(surface, width, height) {
    const { timeline } = this;
    const { palette, view } = timeline;
    surface.rect(0, 0, width, height, palette.plot);
    const columns = Math.max(1, Math.floor((width - GUTTER - 52) / OCCUPANCY_STEP));
    const step = (view.to - view.from) / columns;
    const right = GUTTER + columns * OCCUPANCY_STEP;
    const every = Math.ceil(11 / this.rowHeight);
    this.rows.forEach(({ name, lanes }, row) => {
      const busy = new Float64Array(columns);
      for (const index of lanes) {
        const lane = timeline.lanes[index];
        let i = lane.after(view.from), sum = lane.before(lane.hit, view.from, i);
        for (let column = 0; column < columns; column++) {
          const time = view.from + (column + 1) * step;
          i = lane.after(time, i);
          const next = lane.before(lane.hit, time, i);
          busy[column] += (next - sum) / step / lanes.length;
          sum = next;
        }
      }
      const y = row * this.rowHeight;
      const tall = this.rowHeight > 4 ? this.rowHeight - 1 : this.rowHeight;
      surface.rect(GUTTER, y, right - GUTTER, tall, palette.alt);
      for (let column = 0; column < columns; column++) {
        const part = Math.min(1, busy[column]);
        if (part > 0.004) surface.rect(GUTTER + column * OCCUPANCY_STEP, y, OCCUPANCY_STEP, tall, palette.run0, part);
      }
      if (row % every === 0) {
        const mean = busy.reduce((a, b) => a + b, 0) / columns;
        surface.text(GUTTER - 6, y + this.rowHeight / 2, name, palette.text, "right");
        surface.text(right + 6, y + this.rowHeight / 2, `${(100 * mean).toFixed(1)} %`, palette.dim);
      }
    });
    // The scale.
    const y = height - 14;
    for (let i = 0; i < 60; i++) surface.rect(GUTTER + i * 2, y, 2, 8, palette.run0, (i + 1) / 60);
    surface.text(GUTTER + 126, y + 4, "0 to 100 % of the CPUs' time in a step of " +
      `${brief(step)}${timeline.state.tasks ? ", by the chosen tasks" : ""}`, palette.dim);
  }
}
