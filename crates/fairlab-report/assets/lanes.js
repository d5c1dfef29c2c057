// What happened on each CPU, unpacked; the layout of the bytes is told in lanes.rs.

async function inflate(text) {
  const packed = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  number() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 0x80) return byte;
    // Shifts are enough for 28 bits; beyond them only multiplication is exact.
    let value = byte & 0x7f, scale = 128;
    do {
      byte = bytes[this.at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    return value;
  }

  numbers(array) {
    for (let i = 0; i < array.length; i++) array[i] = this.number();
    return array;
  }

  raw(count) {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }
}

// The summary levels: each keeps, of this many neighbours of the level below, the longest stretch.
const FAN = 16;

class Lane {
  constructor(cpu, reader) {
    this.cpu = cpu;
    const n = cpu.stretches, m = cpu.points;
    this.n = n;
    this.start = reader.numbers(new Float64Array(n));
    this.end = reader.numbers(new Float64Array(n));
    let time = 0;
    for (let i = 0; i < n; i++) {
      this.start[i] += time;
      time = this.start[i] + this.end[i];
      this.end[i] = time;
    }
    this.task = reader.numbers(new Uint32Array(n));
    this.stop = reader.raw(n);
    // ns before the start, or -1; and whether it began with a wakeup.
    this.wait = reader.numbers(new Float64Array(n));
    this.woken = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      const packed = this.wait[i] - 1;
      this.woken[i] = packed % 2 === 1 ? 1 : 0;
      this.wait[i] = packed < 0 ? -1 : Math.floor(packed / 2);
    }
    this.points = {
      n: m,
      time: reader.numbers(new Float64Array(m)),
      kind: reader.raw(m),
      task: reader.numbers(new Uint32Array(m)),
      other: reader.numbers(new Uint32Array(m)),
      delay: reader.numbers(new Float64Array(m)),
    };
    for (let i = 1; i < m; i++) this.points.time[i] += this.points.time[i - 1];
    this.busy = this.sums((i) => (this.task[i] ? this.end[i] - this.start[i] : 0));
    this.filter(null);
  }

  sums(value) {
    const sums = new Float64Array(this.n + 1);
    for (let i = 0; i < this.n; i++) sums[i + 1] = sums[i] + value(i);
    return sums;
  }

  // Keeps sums and levels for the tasks in `hits` (all when null).
  filter(hits) {
    const { start, end, task, wait } = this;
    const isHit = (i) => (hits ? hits[task[i]] : task[i]);
    this.hits = hits;
    this.hit = hits ? this.sums((i) => (isHit(i) ? end[i] - start[i] : 0)) : this.busy;
    this.waited = this.sums((i) => (isHit(i) && wait[i] > 0 ? wait[i] : 0));
    const length = (i) => (isHit(i) ? end[i] - start[i] : -1);
    this.levels = [];
    let below = null, count = this.n;
    while (count > FAN) {
      const level = new Uint32Array(Math.ceil(count / FAN));
      for (let i = 0; i < level.length; i++) {
        const to = Math.min(count, (i + 1) * FAN);
        let best = below ? below[i * FAN] : i * FAN;
        for (let j = i * FAN + 1; j < to; j++) {
          const other = below ? below[j] : j;
          if (length(other) > length(best)) best = other;
        }
        level[i] = best;
      }
      this.levels.push(level);
      below = level;
      count = level.length;
    }
  }

  // The longest stretch of [from, to) that the filter lets pass, or -1.
  longest(from, to) {
    let best = -1, bestLength = 0;
    const see = (i) => {
      if (this.hits ? !this.hits[this.task[i]] : !this.task[i]) return;
      const length = this.end[i] - this.start[i];
      if (length > bestLength) { best = i; bestLength = length; }
    };
    for (let depth = 0; from < to; depth++) {
      const level = depth ? this.levels[depth - 1] : null;
      const isTop = depth === this.levels.length;
      while (from < to && (isTop || from % FAN)) { see(level ? level[from] : from); from++; }
      while (from < to && to % FAN) { to--; see(level ? level[to] : to); }
      from /= FAN;
      to /= FAN;
    }
    return best;
  }

  // Index of the first stretch that ends after `time`.
  after(time, from = 0) {
    return bound(this.end, time, from, this.n);
  }

  // Time before `time` that `sums` counts; `i` is after(time).
  before(sums, time, i) {
    const begun = i < this.n && this.start[i] < time && sums[i + 1] > sums[i];
    return sums[i] + (begun ? time - this.start[i] : 0);
  }
}

// Index of the first value above `time` in sorted values.
function bound(values, time, low, high) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] > time) high = middle; else low = middle + 1;
  }
  return low;
}

const UNSURE = 0x80;

// What a point is: a move, or a placement by its sort.
function pointSort(run, kind) {
  const sort = kind & ~UNSURE;
  if (sort === 0) return { what: "moved here", isMove: true, isMissed: false };
  const [what, isMissed] = run.sorts[sort - 1];
  return { what: kind & UNSURE ? `${what} (not sure)` : what, isMove: false, isMissed };
}

async function loadLanes(run, index) {
  const reader = new Reader(await inflate(document.getElementById(`lanes-${index}`).textContent));
  return run.cpus.map((cpu) => new Lane(cpu, reader));
}
