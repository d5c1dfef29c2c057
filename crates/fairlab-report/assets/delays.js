// The distribution of delays from wakeup to run: all runs in one plot.

const PER_OCTAVE = 16;

// Counts of delays in steps of a 16th of an octave, from the lanes.
class DelayCounts {
  constructor() {
    this.counts = new Float64Array(64 * PER_OCTAVE);
    this.n = 0;
    this.most = 0;
  }

  add(ns) {
    this.counts[ns < 1 ? 0 : Math.floor(Math.log2(ns) * PER_OCTAVE) + 1]++;
    this.n++;
    if (ns > this.most) this.most = ns;
  }
}

// The delays that ended in [from, to), of the tasks and CPUs that the filters let pass.
function countDelays(timeline, from, to) {
  const counts = new DelayCounts();
  for (const { lane: index } of timeline.order) {
    const lane = timeline.lanes[index];
    const last = bound(lane.start, to, 0, lane.n);
    for (let i = bound(lane.start, from - 1, 0, lane.n); i < last; i++) {
      if (lane.woken[i] && lane.wait[i] >= 0 && !(lane.hits && !lane.hits[lane.task[i]])) {
        counts.add(lane.wait[i]);
      }
    }
  }
  return counts;
}

class DelayPlot {
  constructor(state) {
    this.state = state;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.series = [];
    this.height = 260;
  }

  update(timelines) {
    const isWindow = document.getElementById("delay-window").checked;
    this.series = timelines.map((timeline) => ({
      name: timeline.run.name,
      counts: isWindow ? countDelays(timeline, timeline.view.from, timeline.view.to)
        : countDelays(timeline, 0, timeline.run.span + 1),
    }));
    const told = this.series.map(({ name, counts }) =>
      `${name}: ${counts.n} wakeups${counts.n ? `, longest ${brief(counts.most)}` : ""}`);
    this.canvas.setAttribute("aria-label",
      `Distribution of delays from wakeup to run. ${told.join("; ")}. The table below has quantiles.`);
    this.draw();
  }

  draw() {
    this.width = Math.max(240, Math.floor(this.canvas.parentElement.clientWidth));
    this.paint(new CanvasSurface(this.canvas, this.width, this.height), this.width, this.height);
  }

  paint(surface, width, height) {
    const palette = theme();
    const left = 58, right = width - 12, top = 26, bottom = height - 30;
    surface.rect(0, 0, width, height, palette.plot);
    const used = this.series.filter(({ counts }) => counts.n > 0);
    if (!used.length) {
      surface.text(width / 2, height / 2, "no wakeup that ran is in view", palette.dim, "center");
      return;
    }
    const firsts = used.map(({ counts }) => counts.counts.findIndex((c) => c > 0));
    const lasts = used.map(({ counts }) => counts.counts.findLastIndex((c) => c > 0));
    const first = Math.max(0, Math.min(...firsts) - 4), last = Math.max(...lasts) + 4;
    const x = (bucket) => left + (bucket - first) / (last - first) * (right - left);
    for (let power = 0; power <= 13; power++) {
      for (const factor of [1, 2, 5]) {
        const ns = factor * 10 ** power;
        const at = x(Math.log2(ns) * PER_OCTAVE + 1);
        if (at < left || at > right) continue;
        surface.rect(at, top, 0.5, bottom - top, palette.line, factor === 1 ? 1 : 0.45);
        const room = (right - left) / (last - first) * PER_OCTAVE;
        if (factor === 1 || room > 42) surface.text(at, bottom + 11, brief(ns), palette.dim, "center");
      }
    }
    const isTail = this.state.delayForm() === "tail";
    const y = isTail ? this.tailAxis(surface, palette, left, right, top, bottom, used)
      : this.shareAxis(surface, palette, left, right, top, bottom, used);
    this.series.forEach(({ name, counts }, index) => {
      const colour = palette[`run${index % 4}`];
      const legend = `${name}: ${counts.n} wakeups`;
      surface.rect(left + index * (right - left) / this.series.length, 8, 14, 4, colour);
      surface.text(left + 20 + index * (right - left) / this.series.length, 10, legend, palette.text);
      if (!counts.n) return;
      const points = [];
      let rest = counts.n;
      for (let bucket = first; bucket <= last; bucket++) {
        const count = counts.counts[bucket] ?? 0;
        const before = y(isTail ? rest / counts.n : count / counts.n);
        points.push(x(bucket), before, x(bucket + 1), before);
        rest -= count;
        if (isTail && rest <= 0) { points.push(x(bucket + 1), bottom); break; }
      }
      surface.path(points, colour, 1.8);
    });
  }

  // Each step down is a tenth: the share that waited longer.
  tailAxis(surface, palette, left, right, top, bottom, used) {
    const most = Math.max(...used.map(({ counts }) => counts.n));
    const decades = Math.max(1, Math.ceil(Math.log10(most)));
    const y = (share) => share <= 0 ? bottom
      : Math.min(bottom, top - Math.log10(share) / decades * (bottom - top));
    for (let i = 0; i <= decades; i++) {
      const at = y(10 ** -i);
      surface.rect(left, at, right - left, 0.5, palette.line);
      surface.text(left - 5, at, `${Number((100 * 10 ** -i).toPrecision(2))} %`, palette.dim, "right");
    }
    return y;
  }

  shareAxis(surface, palette, left, right, top, bottom, used) {
    const most = Math.max(...used.map(({ counts }) => Math.max(...counts.counts) / counts.n));
    const y = (share) => bottom - share / most * (bottom - top) * 0.95;
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      surface.rect(left, y(part * most), right - left, 0.5, palette.line);
      surface.text(left - 5, y(part * most), `${Number((100 * part * most).toPrecision(2))} %`, palette.dim, "right");
    }
    return y;
  }
}
