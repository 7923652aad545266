// Legend of the colours with its brightness, and the bar of five weeks with the window in view.

import { fill, h } from './dom.js';
import { num } from './format.js';
import { valueText } from './heatview.js';
import { onPrefs } from './prefs.js';
import { css, steps } from './ramp.js';

/** @typedef {import('./heatdata.js').HeatModel} HeatModel */

export class Legend {
  /** @param {number} brightness @param {(value: number) => void} onBrightness */
  constructor(brightness, onBrightness) {
    this.ramp = h('canvas', { width: 256, height: 1, 'aria-hidden': 'true' });
    this.ticks = h('div', { class: 'ticks' });
    this.slider = h('input', {
      type: 'range',
      min: -2,
      max: 6,
      step: 0.25,
      value: brightness,
      'aria-label': 'Brightness',
      title: 'Brightness',
      oninput: () => onBrightness(Number(this.slider.value)),
    });
    this.element = h(
      'div',
      { class: 'legend' },
      h('i', { class: 'zero' }),
      h('div', { class: 'ramp' }, this.ramp, this.slider),
      h('span', null, '0'),
      this.ticks,
    );
  }

  /** @param {HeatModel} model */
  show(model) {
    const { knee, top, diff, metric } = model;
    const pen = this.ramp.getContext('2d');
    if (!pen) return;
    steps(Boolean(diff)).forEach((color, at) => {
      pen.fillStyle = css(color);
      pen.fillRect(at, 0, 1, 1);
    });
    const value = (/** @type {number} */ part) => knee * Math.expm1(part * Math.log1p(top / knee));
    const tick = (/** @type {number} */ part, /** @type {string} */ text) => {
      const label = h('span', null, text);
      label.style.left = `${part * 100}%`;
      return label;
    };
    const full = valueText(top, metric, 's');
    fill(
      this.ticks,
      diff
        ? [tick(0.06, 'less'), tick(0.5, 'same'), tick(1, 'more')]
        : [...[0.1, 0.37, 0.62].map(part => tick(part, num(value(part)))), tick(1, full)],
    );
    this.element.title = diff
      ? `Difference, full colour at ${full}`
      : `The fair share is at a third of the ramp. ${model.shown === model.max ? 'Columns show their peak.' : 'Columns show their mean.'}`;
  }
}

/** Ages at which the bar is labelled. @type {[string, number][]} */
export const RANGES = [
  ['10m', 600e3],
  ['1h', 3600e3],
  ['6h', 21600e3],
  ['24h', 86400e3],
  ['3d', 259200e3],
  ['7d', 604800e3],
  ['14d', 1209600e3],
  ['35d', 3024000e3],
];
/** @type {Record<string, string>} */
export const RANGE_NAMES = {
  '10m': '10 min',
  '1h': '1 h',
  '6h': '6 h',
  '24h': '24 h',
  '3d': '3 d',
  '7d': '7 d',
  '14d': '2 weeks',
  '35d': '5 weeks',
};
const ALL = 3024000e3;
/** Power by which ages are drawn: recent time has more room. */
const POWER = 0.42;

export class RangeBar {
  /** @param {TablePage} page @param {(from: number, to: number, preset: string) => void} onRange */
  constructor(page, onRange) {
    this.canvas = h('canvas');
    this.window = h('div', { class: 'win' });
    this.element = h('div', { class: 'rangebar', 'aria-hidden': 'true' }, this.canvas, this.window);
    this.now = Date.now();
    for (const [id, age] of RANGES) {
      const cap = h('span', { class: 'cap' }, RANGE_NAMES[id] || id);
      cap.style.left = `${this.part(age) * 100}%`;
      this.element.append(cap);
    }
    let start = -1;
    const at = (/** @type {PointerEvent} */ event) => {
      const box = this.element.getBoundingClientRect();
      return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    };
    this.element.addEventListener('pointerdown', event => {
      start = at(event);
      this.element.setPointerCapture(event.pointerId);
    });
    this.element.addEventListener('pointerup', event => {
      if (start < 0) return;
      const end = at(event);
      const [a, b] = [Math.min(start, end), Math.max(start, end)];
      start = -1;
      if ((b - a) * this.element.clientWidth > 6)
        onRange(this.now - this.age(a), this.now - this.age(b), '');
      else {
        const [id = '35d'] = RANGES.find(([, age]) => age >= this.age(a) * 0.999) || [];
        onRange(0, 0, id);
      }
    });
    onPrefs(() => this.draw(), page.signal);
  }

  /** Place of an age, 0 left. @param {number} age */
  part(age) {
    return 1 - Math.min(1, Math.max(0, age) / ALL) ** POWER;
  }

  /** @param {number} part */
  age(part) {
    return (1 - part) ** (1 / POWER) * ALL;
  }

  /** @param {number} from @param {number} to @param {number} now */
  view(from, to, now) {
    this.now = now;
    const [a, b] = [this.part(now - from), this.part(now - to)];
    this.window.style.left = `${a * 100}%`;
    this.window.style.width = `${Math.max(0.3, (b - a) * 100)}%`;
  }

  /** Totals over five weeks. @param {HeatHeader} header @param {Float32Array} totals */
  show(header, totals) {
    this.header = header;
    this.totals = totals;
    this.draw();
  }

  draw() {
    const { header, totals, canvas } = this;
    const pen = canvas.getContext('2d');
    if (!header || !totals || !pen) return;
    const w = (canvas.width = Math.max(1, this.element.clientWidth));
    const height = (canvas.height = 28);
    const top = Math.max(1e-9, ...totals.map(value => value || 0));
    pen.fillStyle = getComputedStyle(this.window).borderTopColor;
    pen.globalAlpha = 0.4;
    for (let x = 0; x < w; x++) {
      const first = Math.floor((this.now - this.age(x / w) - header.from) / header.dt_ms);
      const last = Math.floor((this.now - this.age((x + 1) / w) - header.from) / header.dt_ms);
      let most = 0;
      for (let c = Math.max(0, first); c <= Math.min(totals.length - 1, last); c++)
        most = Math.max(most, totals[c] || 0);
      if (most) pen.fillRect(x, height - (most / top) * 14, 1, (most / top) * 14);
    }
  }
}
