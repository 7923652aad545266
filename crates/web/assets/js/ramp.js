// Colours of load. The scale is anchored at the fair share: a third of the mean is its knee, so
// that even load is pale however busy it is, and what is uneven is dark.

import { h } from './dom.js';
import { FIRST_STEP, KNEE_PARTS, MAX_TOP_KNEES, RAMPS, TOP_MEANS, ZERO } from './picture.js';
import { isDark } from './prefs.js';

/** Stops of the ramps: light, dark, and of differences. @type {Record<string, string>} */
const STOPS = {
  ...RAMPS,
  lightDiff: '0b4c92 4b75ab 829fc3 bac8da f4f3f0 e3c5b6 ce977d b76944 993d01',
  darkDiff: '75c7ff 5998c3 436b87 2e4150 181b1e 4b3c30 84613f c1874d ffb162',
};
/** @type {Color} */
const BLACK = [0, 0, 0];

/** @type {Map<string, Color[]>} */
const made = new Map();

/**
 * 256 colours, interpolated between nine stops in sRGB.
 * @param {boolean} diff
 * @param {boolean} [dark]
 */
export function steps(diff, dark = isDark()) {
  const name = (dark ? 'dark' : 'light') + (diff ? 'Diff' : '');
  const known = made.get(name);
  if (known) return known;
  const stops = (STOPS[name] || '').split(' ').map(rgb);
  /** @type {Color[]} */
  const out = [];
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    const a = stops[low] || BLACK;
    const b = stops[low + 1] || BLACK;
    const mix = (/** @type {number} */ x, /** @type {number} */ y) =>
      Math.round(x + (y - x) * (at - low));
    out.push([mix(a[0], b[0]), mix(a[1], b[1]), mix(a[2], b[2])]);
  }
  made.set(name, out);
  return out;
}

/** @param {string} hex @returns {Color} */
export const rgb = hex => [
  parseInt(hex.slice(0, 2), 16),
  parseInt(hex.slice(2, 4), 16),
  parseInt(hex.slice(4), 16),
];

/** @param {Color | undefined} color */
export const css = color => `rgb(${(color || BLACK).join(' ')})`;

/** Colours as pixels of a canvas (bytes R, G, B, A in memory). @param {Color[]} colors */
export function pixels(colors) {
  const data = new Uint8ClampedArray(colors.length * 4);
  colors.forEach((color, at) => data.set([...color, 255], at * 4));
  return new Uint32Array(data.buffer);
}

export const zeroColor = () => rgb(isDark() ? ZERO.dark : ZERO.light);

/**
 * Step of a value above zero, 10 to 255.
 * @param {number} value
 * @param {number} knee
 * @param {number} top
 */
export const stepOf = (value, knee, top) =>
  Math.max(
    FIRST_STEP,
    Math.min(255, Math.floor((Math.log1p(value / knee) / Math.log1p(top / knee)) * 255)),
  );

/**
 * How much load maps have: sum and number of the cells that are shown, and the largest amount.
 * @typedef {{sum: number, cells: number, largest: number}} Level
 */

/**
 * Scale that maps share. `least` is the smallest top, in means; `bright` divides it.
 * @param {Level[]} levels
 * @param {{least?: number, fixed?: number, bright?: number}} [options]
 */
export function scaleOf(levels, options = {}) {
  const { least = TOP_MEANS, fixed = 0, bright = 1 } = options;
  let [sum, cells, largest] = [0, 0, 0];
  for (const level of levels) {
    sum += level.sum;
    cells += level.cells;
    largest = Math.max(largest, level.largest);
  }
  const mean = cells ? sum / cells : 0;
  const full = fixed || Math.max(largest, least * mean, 1e-9);
  const knee = Math.max(mean / KNEE_PARTS, full / MAX_TOP_KNEES);
  return { knee, top: Math.max(2 * knee, full / bright) };
}

/**
 * Colour by value for small pictures.
 * @returns {(value: number, knee: number, top: number) => string}
 */
export function rampColors() {
  const colors = steps(false);
  const zero = css(zeroColor());
  return (value, knee, top) => (value > 0 ? css(colors[stepOf(value, knee, top)]) : zero);
}

/**
 * Draws a thumbnail: one byte a cell, zero or a step of the ramp.
 * @param {HTMLCanvasElement} canvas @param {{w: number, h: number, data: string}} thumb
 */
export function drawThumb(canvas, thumb) {
  const { w, h: height, data } = thumb;
  const context = canvas.getContext('2d');
  if (!context || w * height === 0 || data.length < w * height * 2) return;
  canvas.width = w;
  canvas.height = height;
  const image = context.createImageData(w, height);
  const out = new Uint32Array(image.data.buffer);
  const table = pixels(steps(false));
  const [zero = 0] = pixels([zeroColor()]);
  for (let i = 0; i < w * height; i++) {
    const step = parseInt(data.slice(2 * i, 2 * i + 2), 16);
    out[i] = step ? table[Math.max(FIRST_STEP, step)] || zero : zero;
  }
  context.putImageData(image, 0, 0);
}

/** @param {TableRow} row @param {number} w @param {number} ht */
export function thumbnail(row, w, ht) {
  const canvas = h('canvas', { class: 'thumb', 'aria-hidden': 'true' });
  canvas.style.width = `${w}px`;
  canvas.style.height = `${ht}px`;
  if (row.thumb) drawThumb(canvas, row.thumb);
  return canvas;
}
