// Times, lists and colours in words. All times are ns since the first event of their run.

// Exact, in the largest unit that leaves a whole number before the point: "12.345 us".
function duration(ns) {
  ns = Math.round(ns);
  if (ns < 1000) return `${ns} ns`;
  const [unit, scale, digits] =
    ns < 1e6 ? ["us", 1e3, 3] : ns < 1e9 ? ["ms", 1e6, 6] : ["s", 1e9, 9];
  const whole = Math.floor(ns / scale);
  const rest = String(ns - whole * scale).padStart(digits, "0");
  return `${whole}.${rest.replace(/(\d{3})(?=\d)/g, "$1 ")} ${unit}`;
}

// Three digits, for axes and labels: "12.3 us".
function brief(ns) {
  const [unit, scale] =
    ns < 1e3 ? ["ns", 1] : ns < 1e6 ? ["us", 1e3] : ns < 1e9 ? ["ms", 1e6] : ["s", 1e9];
  return `${Number((ns / scale).toPrecision(3))} ${unit}`;
}

// Seconds on the clock of the trace, to the ns.
function clock(run, ns) {
  const time = BigInt(run.from) + BigInt(Math.round(ns));
  const second = 1000000000n;
  return `${time / second}.${String(time % second).padStart(9, "0")}`;
}

const STOPS = {
  "+": "was preempted", R: "was still runnable", S: "went to sleep", D: "went to sleep uninterruptibly",
  X: "ended", Z: "ended", T: "was stopped", t: "was traced", P: "was parked", I: "went idle (kernel thread)",
};

function taskName(run, index) {
  const [pid, name] = run.tasks[index];
  return index === 0 ? "not known" : `${name}:${pid}`;
}

// "0-3,8" as a set; null for no restriction.
function cpuSet(text) {
  if (!text.trim()) return null;
  const cpus = new Set();
  for (const part of text.split(",")) {
    const range = /^\s*(\d+)\s*(?:-\s*(\d+)\s*)?$/.exec(part);
    if (!range) continue;
    const first = Number(range[1]);
    const last = Math.min(Number(range[2] ?? first), first + 65536);
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return cpus;
}

// Which tasks a filter names: a part of the name, a number, or both as name:number.
function taskSet(run, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const hits = new Uint8Array(run.tasks.length);
  for (let i = 1; i < hits.length; i++) {
    const [pid, name] = run.tasks[i];
    hits[i] = String(pid) === wanted || `${name}:${pid}`.toLowerCase().includes(wanted) ? 1 : 0;
  }
  return hits;
}

// Colours from the style sheet, so that both themes are told in one place.
function theme() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["text", "dim", "line", "plot", "alt", "busy", "other", "unknown", "wait", "preempt",
    "missed", "placed", "move", "select", "run0", "run1", "run2", "run3"];
  const colours = Object.fromEntries(names.map((name) => [name, of(name)]));
  colours.isDark = of("dark") === "1";
  return colours;
}

// Colours are numbers, 0xAABBGGRR as pixels have them, with a string for those who want one.
function colourText(colour) {
  const hex = (shift) => ((colour >>> shift) & 255).toString(16).padStart(2, "0");
  return `#${hex(0)}${hex(8)}${hex(16)}`;
}

function colourNumber(text) {
  const value = parseInt(text.slice(1), 16);
  return (0xff000000 | (value & 255) << 16 | (value & 0xff00) | value >> 16) >>> 0;
}

function withOpacity(colour, part) {
  return ((colour & 0xffffff) | Math.round(Math.min(1, part) * 255) << 24) >>> 0;
}

// Hue in degrees, saturation and lightness in percent.
function hsl(hue, saturation, lightness) {
  const l = lightness / 100, a = saturation / 100 * Math.min(l, 1 - l);
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return (0xff000000 | part(4) << 16 | part(8) << 8 | part(0)) >>> 0;
}

// Far apart for neighbours: steps of the golden angle round the circle of hues.
function hueColour(index, isDark) {
  const hue = (index * 137.508 + 205) % 360;
  return isDark ? hsl(hue, 42, 50 + (index % 3) * 5) : hsl(hue, 52, 58 + (index % 3) * 6);
}

// From pale to strong as the wait goes from 1 us to 10 ms.
function waitColour(ns, isDark) {
  const part = ns > 0 ? Math.min(1, Math.max(0, Math.log10(ns / 1000) / 4)) : 0;
  const hue = 210 - 200 * part;
  return isDark ? hsl(hue, 30 + 45 * part, 40 + 18 * part) : hsl(hue, 35 + 50 * part, 72 - 18 * part);
}
