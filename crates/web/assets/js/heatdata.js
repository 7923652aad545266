// Heat as the server answers it, and as it is drawn: heights of rows, scale of colours, sums.

import { getRaw, ofTable } from './api.js';
import { escaped } from './format.js';
import { shortField } from './keys.js';
import { COARSE_MS } from './picture.js';
import { scaleOf } from './ramp.js';

export const MIME = 'application/vnd.halite.heat';

/**
 * Metrics: name, unit, fixed top of the scale, and whether values of rows add up.
 * @type {Record<string, {name: string, unit: string, top?: number, level?: boolean}>}
 */
export const METRICS = {
  writes: { name: 'Writes', unit: '/s' },
  reads: { name: 'Reads', unit: '/s' },
  examined: { name: 'Rows examined', unit: '/s' },
  bytes: { name: 'Bytes', unit: 'B/s' },
  p99: { name: 'p99', unit: 'ms', top: 20, level: true },
  errors: { name: 'Errors', unit: '/s', top: 20 },
  memstore: { name: 'Memstore', unit: '%', top: 100, level: true },
};

/**
 * Binary form: length of the header, header as JSON, padding to 8, means, maxima.
 * @param {ArrayBuffer} buffer
 * @returns {Heat}
 */
export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  /** @type {HeatHeader} */
  const h = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const at = Math.ceil((4 + length) / 8) * 8;
  const cells = h.rows * h.cols;
  return {
    h,
    mean: new Float32Array(buffer, at, cells),
    max: new Float32Array(buffer, at + 4 * cells, cells),
  };
}

/** @param {HeatHeader} h @returns {Heat} */
export function fromJson(h) {
  const flat = (/** @type {(number | null)[][] | undefined} */ rows) =>
    Float32Array.from((rows || []).flat(), value => value ?? NaN);
  return { h, mean: flat(h.mean), max: flat(h.max || h.mean) };
}

/** @param {string} table @param {Params} params @param {AbortSignal} signal */
export async function loadHeat(table, params, signal) {
  const response = await getRaw(
    ofTable(table, '/heat'),
    params,
    `${MIME}, application/json;q=0.5`,
    signal,
  );
  const binary = (response.headers.get('Content-Type') || '').startsWith(MIME);
  return binary ? decode(await response.arrayBuffer()) : fromJson(await response.json());
}

/**
 * What a picture shows of heat.
 * @typedef {object} Look
 * @property {string} scale height of rows: region, rows, bytes or load
 * @property {string} unit s, row or mb
 * @property {number} brightness
 * @property {{knee: number, top: number} | null} lock
 * @property {Heat | null} before period to subtract
 */

export class HeatModel {
  /** @param {Heat} heat @param {Look} look */
  constructor(heat, look) {
    const { h } = heat;
    this.h = h;
    this.look = look;
    this.rows = h.rows;
    this.cols = h.cols;
    this.metric = METRICS[h.metric] || { name: h.metric, unit: '' };
    const divisor = (/** @type {HeatRow} */ row) =>
      look.unit === 'row'
        ? Math.max(1, row.rows_est || 1)
        : look.unit === 'mb'
          ? Math.max(1 / 1024, (row.bytes || 0) / 1048576)
          : 1;
    this.mean = blank(scaled(heat.mean, h, divisor), h);
    this.max = blank(scaled(heat.max, h, divisor), h);
    this.diff = Boolean(look.before);
    // Coarse columns are coloured by their peak: a short spike stays visible at any zoom.
    this.shown = look.before
      ? this.minus(look.before, divisor)
      : h.dt_ms > COARSE_MS
        ? this.max
        : this.mean;
    this.rowTotal = new Float64Array(this.rows);
    this.colTotal = new Float64Array(this.cols);
    this.colMax = new Float64Array(this.cols);
    this.total = this.sum();
    this.tops = this.heights();
    const { knee, top } = this.anchor();
    this.knee = knee;
    this.top = top;
    this.fields = h.row.map(
      row =>
        row.label ||
        row.start.fields || [row.start.hex ? escaped(row.start.hex.slice(0, 64)) : '(first)'],
    );
    this.levels = this.fields.reduce((most, fields) => Math.max(most, fields.length), 1);
  }

  /**
   * The period before may have other columns and rows: cells are found by time and first key.
   * @param {Heat} before
   * @param {(row: HeatRow) => number} divisor
   */
  minus(before, divisor) {
    const { h, cols } = this;
    const old = blank(scaled(before.mean, before.h, divisor), before.h);
    const name = (/** @type {HeatRow} */ row) => row.label?.join('\u0000') ?? row.start.hex;
    const rows = new Map(before.h.row.map((row, i) => [name(row), i]));
    const out = new Float32Array(this.mean.length).fill(NaN);
    h.row.forEach((row, i) => {
      const j = rows.get(name(row));
      if (j === undefined) return;
      for (let c = 0; c < cols; c++) {
        const from = Math.floor(((c + 0.5) * h.dt_ms) / before.h.dt_ms);
        if (from < before.h.cols)
          out[i * cols + c] = this.mean[i * cols + c] - old[j * before.h.cols + from];
      }
    });
    return out;
  }

  /** Sums by row and column; returns that of all. */
  sum() {
    const { rows, cols, mean, max, metric } = this;
    for (let i = 0; i < rows; i++) {
      for (let c = 0; c < cols; c++) {
        const value = mean[i * cols + c] || 0;
        const peak = max[i * cols + c] || 0;
        this.rowTotal[i] += value;
        this.colTotal[c] = metric.level
          ? Math.max(this.colTotal[c], value)
          : this.colTotal[c] + value;
        this.colMax[c] = metric.level ? Math.max(this.colMax[c], peak) : this.colMax[c] + peak;
      }
    }
    return this.rowTotal.reduce((to, value) => to + value, 0);
  }

  /** Upper borders of the rows, 0 to 1; one more at the end. */
  heights() {
    const { rows, h, look } = this;
    const weights = new Float64Array(rows);
    /** @type {Map<string | null, number>} */
    const inRegion = new Map();
    for (const row of h.row) inRegion.set(row.region, (inRegion.get(row.region) || 0) + 1);
    h.row.forEach((row, i) => {
      const weight =
        look.scale === 'rows'
          ? row.rows_est
          : look.scale === 'bytes'
            ? row.bytes
            : look.scale === 'load'
              ? this.rowTotal[i]
              : row.region === null
                ? 1
                : 1 / (inRegion.get(row.region) || 1);
      weights[i] = Math.max(0, weight || 0);
    });
    let all = weights.reduce((to, value) => to + value, 0);
    if (!(all > 0)) all = weights.fill(1).length;
    // No row vanishes: each gets at least a twentieth of an even share.
    const least = all / rows / 20;
    all = weights.reduce((to, value) => to + Math.max(least, value), 0);
    const tops = new Float64Array(rows + 1);
    for (let i = 0; i < rows; i++) tops[i + 1] = tops[i] + Math.max(least, weights[i]) / all;
    tops[rows] = 1;
    return tops;
  }

  /** How much load there is. @returns {import('./ramp.js').Level} */
  level() {
    const { shown, cols, h, diff } = this;
    const level = { sum: 0, cells: 0, largest: 0 };
    for (let i = 0; i < this.rows; i++) {
      const other = h.row[i]?.other;
      for (let c = 0; c < cols; c++) {
        const value = Math.abs(shown[i * cols + c]);
        if (Number.isNaN(value)) continue;
        level.sum += diff ? Math.abs(this.mean[i * cols + c] || 0) : value;
        level.cells++;
        if (!other) level.largest = Math.max(level.largest, diff ? value : this.max[i * cols + c] || 0);
      }
    }
    return level;
  }

  /** Scale of colours by the fair share and the largest sample. */
  anchor() {
    const { look, metric, diff } = this;
    if (look.lock) return look.lock;
    const fixed = (look.unit === 's' && !diff && metric.top) || 0;
    const bright = 2 ** look.brightness;
    return scaleOf([this.level()], diff ? { least: 4, bright } : { fixed, bright });
  }

  /** @param {number} c */
  timeOf(c) {
    return this.h.from + c * this.h.dt_ms;
  }

  /** Row at a height from 0 to 1. @param {number} y */
  rowAt(y) {
    let low = 0;
    let high = this.rows - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** @param {number} i @param {number} level */
  label(i, level) {
    const text = shortField(this.fields[i]?.[level] ?? '');
    return /^\d{5,}$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, '\u2009') : text;
  }

  /**
   * Runs of rows with the same fields up to a level.
   * @param {number} level
   * @returns {{from: number, to: number, load: number}[]}
   */
  runs(level) {
    const out = [];
    for (let i = 0; i < this.rows;) {
      const from = i;
      const name = this.prefix(i, level);
      let load = 0;
      for (; i < this.rows && this.prefix(i, level) === name; i++) load += this.rowTotal[i];
      out.push({ from, to: i, load });
    }
    return out;
  }

  /** @param {number} i @param {number} level */
  prefix(i, level) {
    return this.fields[i].slice(0, level + 1).join('\u0000');
  }

  /** @param {number} i @param {number} c */
  cell(i, c) {
    const at = i * this.cols + c;
    const value = this.mean[at];
    const all = this.colTotal[c];
    return {
      value,
      peak: this.max[at],
      shown: this.shown[at],
      share: this.metric.level || !all ? null : value / all,
    };
  }
}

/**
 * Columns inside of gaps are not recorded, whatever they hold.
 * @param {Float32Array} values
 * @param {HeatHeader} h
 */
function blank(values, h) {
  for (const gap of h.gaps || []) {
    const first = Math.max(0, Math.ceil((gap.from - h.from) / h.dt_ms));
    const last = Math.min(h.cols, Math.floor((gap.to - h.from) / h.dt_ms));
    for (let i = 0; i < h.rows && first < last; i++)
      values.fill(NaN, i * h.cols + first, i * h.cols + last);
  }
  return values;
}

/** @param {Float32Array} values @param {HeatHeader} h @param {(row: HeatRow) => number} divisor */
function scaled(values, h, divisor) {
  const out = new Float32Array(values);
  h.row.forEach((row, i) => {
    const by = divisor(row);
    if (by !== 1)
      for (let c = 0; c < h.cols; c++) out[i * h.cols + c] = (out[i * h.cols + c] || 0) / by;
  });
  return out;
}
