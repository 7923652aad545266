// Picture of heat on a canvas: cells, key labels, time, events, totals; an overlay for the cursor.

import { bytes, clock, day, num, percent } from './format.js';
import { h } from './dom.js';
import { TICK_SECONDS } from './picture.js';
import { isPhone } from './prefs.js';
import { pixels, stepOf, steps, zeroColor } from './ramp.js';

/** @typedef {import('./heatdata.js').HeatModel} HeatModel */
/** @typedef {CanvasRenderingContext2D | import('./heatexport.js').SvgPen} Pen */
/** @typedef {{i: number, c: number}} Cell */

const LANE = 20;
const AXIS = 20;
const TOTALS = 36;
const SIDE = 74;
const STEPS = TICK_SECONDS.map(s => s * 1000);

/** Colours and fonts of the page, as the browser computes them. @param {HTMLElement} host */
export function inks(host) {
  const probe = h('i');
  host.append(probe);
  const color = (/** @type {string} */ name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const style = getComputedStyle(document.documentElement);
  const out = {
    text: color('text'),
    muted: color('muted'),
    faint: color('faint'),
    line: color('line'),
    line2: color('line2'),
    bar: color('bar'),
    accent: color('accent'),
    surface: color('surface'),
    sans: style.getPropertyValue('--sans'),
    mono: style.getPropertyValue('--mono'),
  };
  probe.remove();
  return out;
}

/**
 * Value of a metric with its unit.
 * @param {number} value
 * @param {{unit: string}} metric
 * @param {string} unit
 */
export function valueText(value, metric, unit) {
  if (!Number.isFinite(value)) return 'not recorded';
  const per = unit === 'row' ? ' per row' : unit === 'mb' ? ' per MB' : '';
  if (metric.unit === 'B/s') return `${bytes(Math.abs(value))}/s${per}`;
  if (metric.unit === '/s') return `${num(value)}/s${per}`;
  return `${num(value)} ${metric.unit}`;
}

export class HeatView {
  /**
   * @param {HTMLElement} host
   * @param {{side?: boolean, names: (level: number) => string}} options
   */
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.base = h('canvas', { 'aria-hidden': 'true' });
    this.over = h('canvas', { class: 'hm-over', tabindex: 0, role: 'application' });
    this.cells = h('canvas');
    host.append(this.base, this.over);
    // Set before anything is painted.
    this.model = /** @type {HeatModel} */ (/** @type {unknown} */ (null));
    this.ink = /** @type {ReturnType<typeof inks>} */ ({});
    /** @type {Cell | null} */
    this.cursor = null;
    /** @type {Cell | null} */
    this.pinned = null;
    this.play = -1;
    this.marks = true;
    /** @type {{x0: number, y0: number, x1: number, y1: number} | null} */
    this.drag = null;
    /** @type {ReturnType<HeatView['levels']>} */
    this.gutter = [];
    this.scale = 1;
    this.box = { x: 0, y: 0, w: 1, h: 1 };
    this.width = 0;
    this.height = 0;
  }

  /** @param {HeatModel} model */
  show(model) {
    this.model = model;
    this.draw();
  }

  draw() {
    const { model, host } = this;
    if (!model || !host.isConnected) return;
    const scale = (this.scale = Math.min(3, devicePixelRatio || 1));
    this.width = Math.max(120, host.clientWidth);
    this.height = Math.max(120, host.clientHeight);
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(this.height * scale);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
    }
    const pen = this.base.getContext('2d');
    if (!pen) return;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.ink = inks(host);
    this.paint(pen);
    // Where the cells are, for tests that read their pixels.
    this.over.dataset.box = Object.values(this.box).join();
    this.drawOver();
  }

  /** Draws all but the overlay; also onto an SVG. @param {Pen} pen */
  paint(pen) {
    const side = this.options.side !== false && !isPhone() ? SIDE : 0;
    const bottom = AXIS + TOTALS;
    this.gutter = this.levels(pen, this.height - LANE - bottom);
    const x =
      this.gutter.reduce((sum, level) => sum + level.width, 0) + (this.gutter.length ? 4 : 0);
    const box = (this.box = {
      x,
      y: LANE,
      w: Math.max(40, this.width - x - side),
      h: this.height - LANE - bottom,
    });
    this.paintCells();
    pen.drawImage(this.cells, box.x, box.y, box.w, box.h);
    this.paintGaps(pen);
    this.paintBorders(pen);
    this.paintGutter(pen);
    this.paintAxis(pen);
    this.paintTotals(pen);
    this.paintEvents(pen);
    if (side) this.paintSide(pen);
    pen.strokeStyle = this.ink.line;
    pen.lineWidth = 1;
    pen.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);
  }

  /** Steps of the ramp per pixel: where a pixel covers several cells, the largest. */
  paintCells() {
    const { model, box, cells } = this;
    const { rows, cols, shown, knee, top, diff } = model;
    const { scale } = this;
    const w = (cells.width = Math.max(1, Math.round(box.w * scale)));
    const height = (cells.height = Math.max(1, Math.round(box.h * scale)));
    const pen = cells.getContext('2d');
    if (!pen) return;
    // -1 not recorded, 0 zero, 1 to 255 step; of differences 0 to 255 about 128.
    const step = new Int16Array(rows * cols);
    const most = Math.log1p(top / knee);
    for (let k = 0; k < step.length; k++) {
      const value = shown[k];
      if (Number.isNaN(value)) step[k] = -1;
      else if (diff)
        step[k] = Math.max(
          0,
          Math.min(
            255,
            Math.round(
              127.5 + ((Math.sign(value) * Math.log1p(Math.abs(value) / knee)) / most) * 127.5,
            ),
          ),
        );
      else step[k] = value > 0 ? stepOf(value, knee, top) : 0;
    }
    const table = pixels([...steps(Boolean(diff)), zeroColor()]);
    const zero = diff ? table[128] : table[256];
    const image = pen.createImageData(w, height);
    const out = new Uint32Array(image.data.buffer);
    const firsts = new Int32Array(w + 1);
    for (let px = 0; px <= w; px++) firsts[px] = Math.floor((px / w) * cols);
    const line = new Int16Array(cols);
    let before = -1;
    for (let y = 0; y < height; y++) {
      const first = model.rowAt((y + 0.01) / height);
      const last = Math.max(first, model.rowAt((y + 0.99) / height));
      if (first === before && last === first) {
        out.copyWithin(y * w, (y - 1) * w, y * w);
        continue;
      }
      before = first === last ? first : -1;
      line.set(step.subarray(first * cols, (first + 1) * cols));
      for (let i = first + 1; i <= last; i++) {
        for (let c = 0; c < cols; c++) {
          const value = step[i * cols + c];
          if (diff ? Math.abs(value - 128) > Math.abs(line[c] - 128) : value > line[c])
            line[c] = value;
        }
      }
      for (let px = 0, k = y * w; px < w; px++, k++) {
        const from = firsts[px];
        let value = line[from];
        for (let c = from + 1; c < firsts[px + 1]; c++) {
          const next = line[c];
          if (diff ? Math.abs(next - 128) > Math.abs(value - 128) : next > value) value = next;
        }
        out[k] = value < 0 ? 0 : value === 0 && !diff ? zero : table[value];
      }
    }
    pen.putImageData(image, 0, 0);
  }

  /** @param {number} t */
  x(t) {
    const { model, box } = this;
    return box.x + ((t - model.h.from) / Math.max(1, model.cols * model.h.dt_ms)) * box.w;
  }

  /** Upper border of a row. @param {number} i */
  y(i) {
    return this.box.y + this.model.tops[i] * this.box.h;
  }

  /**
   * Hatches a box by lines.
   * @param {Pen} pen
   * @param {{x: number, y: number, w: number, h: number}} part
   * @param {string} color
   */
  hatch(pen, { x, y, w, h: height }, color) {
    pen.strokeStyle = color;
    pen.lineWidth = 1;
    pen.globalAlpha = 0.45;
    pen.beginPath();
    for (let d = -height; d < w; d += 6) {
      const a = Math.max(0, d);
      const b = Math.min(w, d + height);
      if (b <= a) continue;
      pen.moveTo(x + a, y + height - (a - d));
      pen.lineTo(x + b, y + height - (b - d));
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  /** @param {Pen} pen */
  paintGaps(pen) {
    const { model, box, ink } = this;
    for (const gap of model.h.gaps || [])
      this.paintSpan(pen, gap, [{ y: box.y, h: box.h }], ink.faint, gap.why || 'not recorded');
    for (const span of model.h.estimated || [])
      this.paintSpan(pen, span, this.loadedBands(span), ink.muted, 'estimated');
  }

  /**
   * Hatches bands of rows in a span of time, and names the lowest one.
   * @param {Pen} pen
   * @param {{from: number, to: number}} span
   * @param {{y: number, h: number}[]} bands
   * @param {string} color
   * @param {string} label
   */
  paintSpan(pen, span, bands, color, label) {
    const { box, ink } = this;
    const x = Math.max(box.x, this.x(span.from));
    const w = Math.min(box.x + box.w, this.x(span.to)) - x;
    if (w <= 0) return;
    for (const band of bands) this.hatch(pen, { x, w, ...band }, color);
    const lowest = bands.filter(band => band.h >= 18).at(-1);
    pen.font = `10.5px ${ink.sans}`;
    if (lowest && pen.measureText(label).width + 16 < w)
      this.tag(pen, label, x + 8, lowest.y + lowest.h - 12);
  }

  /**
   * Rows that have any load in a span of time, as bands of the picture: where there is none, none
   * is estimated.
   * @param {{from: number, to: number}} span
   */
  loadedBands({ from, to }) {
    const { model } = this;
    const { rows, cols, shown } = model;
    const column = (/** @type {number} */ time) =>
      Math.min(cols, Math.max(0, (time - model.h.from) / model.h.dt_ms));
    const [first, last] = [Math.floor(column(from)), Math.ceil(column(to))];
    /** @type {{y: number, h: number}[]} */
    const bands = [];
    let open = false;
    for (let i = 0; i < rows; i++) {
      const line = shown.subarray(i * cols + first, i * cols + last);
      const loaded = line.some(value => value !== 0 && !Number.isNaN(value));
      const [y, end] = [this.y(i), this.y(i + 1)];
      if (loaded && open) bands[bands.length - 1].h = end - bands[bands.length - 1].y;
      else if (loaded) bands.push({ y, h: end - y });
      open = loaded;
    }
    return bands;
  }

  /**
   * Text on the ground of the page.
   * @param {Pen} pen
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} [ground]
   * @param {string} [color]
   */
  tag(pen, text, x, y, ground, color) {
    const { ink } = this;
    pen.textAlign = 'left';
    pen.textBaseline = 'middle';
    const w = pen.measureText(text).width;
    pen.fillStyle = ground || ink.surface;
    pen.fillRect(x - 4, y - 8, w + 8, 16);
    pen.fillStyle = color || ink.text;
    pen.fillText(text, x, y);
  }

  /** @param {Pen} pen */
  paintBorders(pen) {
    const { model, box, ink } = this;
    if (!this.marks || !model.h.regions?.length) return;
    if (box.h / model.h.regions.length < 4) return;
    pen.strokeStyle = ink.text;
    pen.lineWidth = 1;
    for (const region of model.h.regions) {
      if (region.row <= 0 || region.row >= model.rows) continue;
      const y = Math.round(this.y(region.row)) + 0.5;
      const born = this.x(region.since);
      const x = Math.max(box.x, born);
      if (x >= box.x + box.w) continue;
      pen.globalAlpha = 0.38;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(box.x + box.w, y);
      pen.stroke();
      pen.globalAlpha = 1;
      if (born > box.x) this.triangle(pen, Math.min(x, box.x + box.w - 8), y, false);
    }
  }

  /** @param {Pen} pen @param {number} x @param {number} y @param {boolean} down */
  triangle(pen, x, y, down) {
    const { ink } = this;
    pen.beginPath();
    if (down) {
      pen.moveTo(x - 4, y - 3.5);
      pen.lineTo(x + 4, y - 3.5);
      pen.lineTo(x, y + 3.5);
    } else {
      pen.moveTo(x - 4, y - 4.5);
      pen.lineTo(x + 4, y);
      pen.lineTo(x - 4, y + 4.5);
    }
    pen.closePath();
    pen.fillStyle = down ? ink.muted : ink.surface;
    pen.fill();
    if (down) return;
    pen.strokeStyle = ink.text;
    pen.lineWidth = 1.2;
    pen.stroke();
  }

  /** Levels of the key that fit, with their widths. @param {Pen} pen @param {number} height */
  levels(pen, height) {
    const { model, ink } = this;
    pen.font = `11px ${ink.mono}`;
    let shown = [...Array(model.levels).keys()].filter(
      level => level < 2 || model.rows * 12 <= height,
    );
    if (isPhone()) shown = shown.filter(level => model.runs(level).length > 1).slice(-1);
    if (!shown.length) shown = [0];
    return shown.map(level => {
      const runs = model.runs(level);
      let widest = pen.measureText(this.options.names(level)).width;
      const common = isPhone() ? commonPrefix(runs.map(run => model.label(run.from, level))) : 0;
      for (const run of runs.slice(0, 400))
        widest = Math.max(widest, pen.measureText(model.label(run.from, level)).width);
      return {
        level,
        runs,
        common,
        width: isPhone() ? 56 : Math.max(34, Math.min(128, widest + 12)),
      };
    });
  }

  /** @param {Pen} pen */
  paintGutter(pen) {
    const { box, ink, model, gutter } = this;
    let x = 0;
    for (const { level, runs, common, width } of gutter) {
      pen.textAlign = 'left';
      pen.textBaseline = 'middle';
      pen.font = `10.5px ${ink.sans}`;
      pen.fillStyle = ink.muted;
      pen.fillText(fit(pen, this.options.names(level), width - 4), x, box.y - 10);
      const used = new Uint8Array(Math.ceil(box.h) + 1);
      const place = (
        /** @type {{from: number, to: number}} */ run,
        /** @type {boolean} */ loud,
      ) => {
        const y0 = this.y(run.from);
        const y1 = this.y(run.to);
        const y = Math.max(box.y + 6, Math.min(box.y + box.h - 6, (y0 + y1) / 2));
        const at = Math.round(y - box.y);
        for (let k = Math.max(0, at - 5); k <= Math.min(used.length - 1, at + 5); k++)
          if (used[k]) return;
        used.fill(1, Math.max(0, at - 5), at + 6);
        const text = model.label(run.from, level);
        pen.font = `${loud ? '700 ' : ''}11px ${ink.mono}`;
        pen.fillStyle = loud ? ink.text : ink.muted;
        pen.fillText(fit(pen, common > 3 ? `\u2026${text.slice(common)}` : text, width - 6), x, y);
      };
      const loud = runs
        .filter(run => run.load / (model.total || 1) > Math.max(0.04, 3 / runs.length))
        .sort((a, b) => b.load - a.load)
        .slice(0, 6);
      loud.forEach(run => place(run, true));
      runs.filter(run => !loud.includes(run)).forEach(run => place(run, false));
      pen.strokeStyle = ink.line;
      pen.lineWidth = 1;
      pen.beginPath();
      for (const run of runs) {
        const y = Math.round(this.y(run.from)) + 0.5;
        if (run.from === 0 || this.y(run.to) - y < 12) continue;
        pen.moveTo(x, y);
        pen.lineTo(box.x - 4, y);
      }
      pen.stroke();
      x += width;
    }
  }

  /** @param {Pen} pen */
  paintAxis(pen) {
    const { model, box, ink } = this;
    const span = model.cols * model.h.dt_ms;
    const step = STEPS.find(size => (size / span) * box.w >= 72) || 604800e3;
    pen.font = `10.5px ${ink.sans}`;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.strokeStyle = ink.line2;
    pen.lineWidth = 1;
    for (let t = Math.ceil(model.h.from / step) * step; t < model.h.from + span; t += step) {
      const x = this.x(t);
      pen.beginPath();
      pen.moveTo(x, box.y + box.h);
      pen.lineTo(x, box.y + box.h + 3);
      pen.stroke();
      const midnight = t % 86400e3 === 0;
      if (x < box.x + 14 || x > box.x + box.w - 14) continue;
      pen.fillStyle = midnight ? ink.text : ink.muted;
      pen.fillText(midnight ? day(t) : clock(t, step < 60e3), x, box.y + box.h + 11);
    }
  }

  /** @param {Pen} pen */
  paintTotals(pen) {
    const { model, box, ink } = this;
    const top = Math.max(1e-9, ...model.colMax);
    const bottom = box.y + box.h + AXIS + TOTALS - 2;
    const room = TOTALS - 6;
    const w = box.w / model.cols;
    const bar = Math.max(0.8, w - (w > 3 ? 1 : 0));
    pen.fillStyle = ink.bar;
    for (const [values, alpha] of /** @type {[Float64Array, number][]} */ ([
      [model.colMax, 0.4],
      [model.colTotal, 1],
    ])) {
      pen.globalAlpha = alpha;
      values.forEach((value, c) => {
        const height = (value / top) * room;
        if (height > 0) pen.fillRect(box.x + c * w, bottom - height, bar, height);
      });
    }
    pen.globalAlpha = 1;
    pen.font = `10.5px ${ink.sans}`;
    pen.textAlign = 'right';
    pen.fillStyle = ink.muted;
    if (box.x < 40) return;
    const most = valueText(top, model.metric, 's');
    const fits = (/** @type {string} */ text) => pen.measureText(text).width < box.x - 8;
    const label = [`${most} max`, most].find(fits) || '';
    pen.fillText(label, box.x - 6, bottom - room + 3);
    pen.fillText(model.metric.level ? 'largest' : 'total', box.x - 6, bottom - 7);
  }

  /** @param {Pen} pen */
  paintEvents(pen) {
    const { model, box, ink } = this;
    if (!this.marks) return;
    const y = box.y - 10;
    const events = (model.h.events || []).filter(
      event => event.at >= model.h.from && this.x(event.at) <= box.x + box.w,
    );
    /** @type {[number, number][]} */
    const texts = [];
    for (const event of events) {
      const x = this.x(event.at);
      pen.strokeStyle = pen.fillStyle = ink.muted;
      pen.lineWidth = 1.4;
      pen.beginPath();
      if (event.kind === 'split') this.triangle(pen, x, y, true);
      else if (event.kind === 'deploy' || event.kind === 'restart' || event.kind === 'schema')
        this.flag(pen, event, x, y, events, texts);
      else if (event.kind === 'flush') pen.fillRect(x - 0.75, y - 3.5, 1.5, 7);
      else if (event.kind === 'error') this.cross(pen, x, y);
      else if (event.kind === 'compaction') {
        pen.fillRect(x - 4, y - 3, 8, 1.6);
        pen.fillRect(x - 4, y + 1.6, 8, 1.6);
      } else {
        pen.moveTo(x - 5, y);
        pen.lineTo(x + 4, y);
        pen.moveTo(x + 1, y - 3);
        pen.lineTo(x + 4, y);
        pen.lineTo(x + 1, y + 3);
        pen.stroke();
      }
    }
  }

  /** @param {Pen} pen @param {number} x @param {number} y */
  cross(pen, x, y) {
    pen.strokeStyle = this.ink.accent;
    pen.moveTo(x - 3.5, y - 3.5);
    pen.lineTo(x + 3.5, y + 3.5);
    pen.moveTo(x + 3.5, y - 3.5);
    pen.lineTo(x - 3.5, y + 3.5);
    pen.stroke();
  }

  /**
   * @param {Pen} pen
   * @param {StoreEvent} event
   * @param {number} x
   * @param {number} y
   * @param {StoreEvent[]} events
   * @param {[number, number][]} texts ends of the texts so far, of which none may be covered
   */
  flag(pen, event, x, y, events, texts) {
    const { box, ink } = this;
    pen.strokeStyle = pen.fillStyle = ink.accent;
    pen.beginPath();
    pen.moveTo(x + 0.7, y + 8);
    pen.lineTo(x + 0.7, y - 5);
    pen.lineTo(x + 9, y - 1.5);
    pen.lineTo(x + 0.7, y + 2);
    pen.closePath();
    pen.fill();
    pen.fillRect(x, y - 5, 1.4, 13);
    pen.setLineDash([2, 3]);
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, box.y);
    pen.lineTo(x, box.y + box.h);
    pen.stroke();
    pen.setLineDash([]);
    pen.font = `10.5px ${ink.sans}`;
    const w = pen.measureText(event.text).width;
    const free = (/** @type {number} */ from) =>
      from >= box.x &&
      from + w <= box.x + box.w &&
      texts.every(([start, end]) => end < from - 6 || start > from + w + 6) &&
      events.every(
        other => other === event || this.x(other.at) < from - 8 || this.x(other.at) > from + w + 6,
      );
    const from = [x + 13, x - w - 6].find(free);
    if (from === undefined) return;
    pen.textAlign = 'left';
    pen.textBaseline = 'middle';
    pen.fillText(event.text, from, y);
    texts.push([from, from + w]);
  }

  /** Load of the rows beside the map; of one instant during playback. @param {Pen} pen */
  paintSide(pen) {
    const { model, box, ink } = this;
    const x = box.x + box.w + 6;
    const w = SIDE - 8;
    const { play } = this;
    const value = (/** @type {number} */ i) =>
      play < 0 ? model.rowTotal[i] : model.mean[i * model.cols + play] || 0;
    let top = 1e-9;
    let all = 0;
    let loud = 0;
    for (let i = 0; i < model.rows; i++) {
      all += value(i);
      if (value(i) > top) {
        top = value(i);
        loud = i;
      }
    }
    pen.fillStyle = ink.muted;
    pen.font = `10.5px ${ink.sans}`;
    pen.textAlign = 'left';
    pen.textBaseline = 'middle';
    pen.fillText(play < 0 ? 'share of view' : 'share now', x, box.y - 10);
    pen.fillStyle = ink.bar;
    for (let y = 0; y < box.h; y++) {
      const last = model.rowAt((y + 0.99) / box.h);
      let most = 0;
      for (let i = model.rowAt((y + 0.01) / box.h); i <= last; i++) most = Math.max(most, value(i));
      if (most > 0) pen.fillRect(x, box.y + y, Math.max(0.75, (most / top) * w), 1);
    }
    if (!all) return;
    const y = Math.max(
      box.y + 8,
      Math.min(box.y + box.h - 8, (this.y(loud) + this.y(loud + 1)) / 2),
    );
    pen.font = `600 10.5px ${ink.sans}`;
    this.tag(pen, percent(top / all), x + 6, y);
  }

  /** @param {Cell} cell */
  cellBox({ i, c }) {
    const { box, model } = this;
    const w = box.w / model.cols;
    const y = this.y(i);
    return [box.x + c * w, y, Math.max(3, w), Math.max(3, this.y(i + 1) - y)];
  }

  drawOver() {
    const { model, box, ink } = this;
    const pen = this.over.getContext('2d');
    if (!pen || !model) return;
    const { scale } = this;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    if (this.play >= 0) {
      const x = box.x + ((this.play + 0.5) / model.cols) * box.w;
      pen.fillStyle = ink.accent;
      pen.fillRect(x - 0.75, box.y - 4, 1.5, box.h + 8);
    }
    const cell = this.cursor;
    if (cell) {
      const [x, y, w, height] = this.cellBox(cell);
      const [cx, cy] = [x + w / 2, y + height / 2];
      pen.strokeStyle = ink.text;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(Math.round(cx) + 0.5, box.y - 4);
      pen.lineTo(Math.round(cx) + 0.5, box.y + box.h + AXIS + TOTALS - 2);
      pen.moveTo(box.x, Math.round(cy) + 0.5);
      pen.lineTo(this.width, Math.round(cy) + 0.5);
      pen.stroke();
      this.ring(pen, cell, ink.text, ink.surface);
      pen.font = `600 10.5px ${ink.sans}`;
      const time = clock(model.timeOf(cell.c) + model.h.dt_ms / 2, model.h.dt_ms < 60e3);
      this.tag(
        pen,
        time,
        Math.max(box.x + 4, Math.min(box.x + box.w - 34, cx - 14)),
        box.y + box.h + 11,
        ink.text,
        ink.surface,
      );
      let at = 0;
      for (const level of this.gutter) {
        pen.font = `600 11px ${ink.mono}`;
        this.tag(
          pen,
          fit(pen, model.label(cell.i, level.level), level.width - 8),
          at + 4,
          Math.max(box.y + 8, Math.min(box.y + box.h - 8, cy)),
          ink.text,
          ink.surface,
        );
        at += level.width;
      }
    }
    if (this.pinned) this.ring(pen, this.pinned, ink.accent, ink.surface);
    if (this.drag) {
      const { x0, y0, x1, y1 } = this.drag;
      pen.fillStyle = pen.strokeStyle = ink.accent;
      pen.globalAlpha = 0.16;
      pen.fillRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
      pen.globalAlpha = 1;
      pen.strokeRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Cell} cell
   * @param {string} color
   * @param {string} ground
   */
  ring(pen, cell, color, ground) {
    const [x, y, w, height] = this.cellBox(cell);
    pen.strokeStyle = ground;
    pen.lineWidth = 3;
    pen.strokeRect(x, y, w, height);
    pen.strokeStyle = color;
    pen.lineWidth = 1.5;
    pen.strokeRect(x, y, w, height);
  }

  /** @param {number} x @param {number} y @returns {Cell | null} */
  at(x, y) {
    const { box, model } = this;
    if (!model || x < box.x || x >= box.x + box.w || y < box.y || y >= box.y + box.h) return null;
    return {
      i: model.rowAt((y - box.y) / box.h),
      c: Math.min(model.cols - 1, Math.floor(((x - box.x) / box.w) * model.cols)),
    };
  }
}

/** @param {Pen} pen @param {string} text @param {number} width */
function fit(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}\u2026`).width > width) end--;
  return `${text.slice(0, end)}\u2026`;
}

/** @param {string[]} texts */
function commonPrefix(texts) {
  const [first = ''] = texts;
  let length = first.length;
  for (const text of texts) while (length && !text.startsWith(first.slice(0, length))) length--;
  return length;
}
