// Live curves of a run: one chart of losses, one of scores. The sentence under each says the same in words.

/* global uPlot */

import { figure } from "./training-words.js";

const IGNORED = /learning_rate|grad_norm|epoch|runtime|per_second/;
const HEIGHT = 190;
const COLOURS = { train: "--series-2", val: "--series-1", test: "--series-3" };
const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3]];

/** Draws the curves of a run into the figures under `frame`, and keeps them as points come in. */
export class Charts {
  constructor(frame) {
    this.frame = frame;
    this.series = new Map();
    this.charts = [chart(frame, "chart-loss"), chart(frame, "chart-score")];
    this.pending = 0;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rebuild());
    new ResizeObserver(() => this.resize()).observe(frame);
  }

  /** Take every curve anew, as `GET curves` gives them. */
  set(curves) {
    this.series.clear();
    for (const curve of curves) this.curve(curve).points.push(...curve.points);
    this.draw();
  }

  /** Take one metric event. */
  add(event) {
    if (typeof event.step !== "number") return;
    this.curve(event).points.push([event.step, event.value ?? null]);
    this.draw();
  }

  curve({ scheme = null, split = "", name = "" }) {
    const key = JSON.stringify([scheme, split, name]);
    if (!this.series.has(key)) this.series.set(key, { scheme, split, name, points: [] });
    return this.series.get(key);
  }

  draw() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      const shown = [...this.series.values()].filter(({ name, points }) => points.length && !IGNORED.test(name));
      const [losses, scores] = [shown.filter(isLoss), shown.filter((each) => !isLoss(each))];
      this.frame.hidden = shown.length === 0;
      this.show(this.charts[0], losses);
      this.show(this.charts[1], scores);
    });
  }

  show(entry, curves) {
    entry.figure.hidden = curves.length === 0;
    if (!curves.length) return;
    const names = labels(curves);
    entry.note.textContent = curves.map((curve, at) => sentence(names[at], curve.points)).join("; ") + ".";
    const data = uPlot.join(curves.map(({ points }) => columns(points)));
    const shape = JSON.stringify(names);
    if (entry.plot && entry.shape === shape) {
      entry.plot.setData(data);
      return;
    }
    entry.plot?.destroy();
    entry.shape = shape;
    entry.plot = new uPlot(options(entry.box.clientWidth, curves, names), data, entry.box);
  }

  rebuild() {
    for (const entry of this.charts) entry.shape = "";
    this.draw();
  }

  resize() {
    for (const { plot, box } of this.charts) {
      if (plot && box.clientWidth && plot.width !== box.clientWidth) plot.setSize({ width: box.clientWidth, height: HEIGHT });
    }
  }
}

function chart(frame, id) {
  const figureElement = frame.querySelector(`#${id}`);
  return {
    figure: figureElement,
    box: figureElement.querySelector(".chart-box"),
    note: figureElement.querySelector(".chart-note"),
    plot: null,
    shape: "",
  };
}

function isLoss({ name }) {
  return name.includes("loss");
}

/** uPlot wants steps that rise: a step told twice counts once, with what was said last. */
function columns(points) {
  const byStep = new Map(points);
  const steps = [...byStep.keys()].sort((a, b) => a - b);
  return [steps, steps.map((step) => byStep.get(step))];
}

/** What tells the curves of one chart apart. */
function labels(curves) {
  const several = (key) => new Set(curves.map((curve) => curve[key])).size > 1;
  const withScheme = several("scheme");
  return curves.map(({ scheme, split, name }) => [withScheme && scheme, split, name.replaceAll("_", " ")].filter(Boolean).join(" "));
}

function sentence(name, points) {
  const known = points.filter(([, value]) => value !== null);
  if (!known.length) return `${name}: no number`;
  const [step, value] = known[known.length - 1];
  return `${name} ${figure(value)} at step ${step.toLocaleString("en-US")}`;
}

/** A value under the pointer; without one the legend names the curves only. */
function shown(value) {
  return value === null || value === undefined ? "" : figure(value);
}

function options(width, curves, names) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--muted"), font: `12px ${style.fontFamily}`, grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1, size: 4 } };
  const dashes = {};
  return {
    width: Math.max(width, 200),
    height: HEIGHT,
    cursor: { y: false, points: { size: 7 } },
    legend: { live: true, markers: { width: 2, fill: "transparent", dash: (plot, at) => (plot.series[at].dash?.length ? "dashed" : "solid") } },
    scales: { x: { time: false, range: (_, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) } },
    axes: [{ ...axis, size: 32 }, { ...axis, size: 48 }],
    series: [
      { label: "step", value: (_, value) => shown(value) },
      ...curves.map(({ split }, at) => {
        const nth = (dashes[split] = (dashes[split] ?? -1) + 1);
        return {
          label: names[at],
          stroke: colour(COLOURS[split] ?? "--series-4"),
          width: 2,
          dash: split === "train" ? DASHES[(nth + 1) % DASHES.length] : DASHES[nth % DASHES.length],
          spanGaps: true,
          points: { show: curves[at].points.length < 30, size: 5 },
          value: (_, value) => shown(value),
        };
      }),
    ],
  };
}
