// Heat in other forms: PNG of the canvas, SVG of the same drawing, JSON of the view, a column as
// a table.

import { h, svg } from './dom.js';
import { num, percent } from './format.js';
import { spanText } from './heatcell.js';
import { valueText } from './heatview.js';
import { dialog, save } from './widgets.js';

/** The part of a canvas's context that the picture uses, written into an SVG. */
export class SvgPen {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.root = svg('svg', {
      xmlns: 'http://www.w3.org/2000/svg',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
    });
    this.fillStyle = this.strokeStyle = '#000';
    this.lineWidth = this.globalAlpha = 1;
    this.font = '11px sans-serif';
    this.textAlign = 'left';
    this.textBaseline = 'middle';
    this.path = '';
    /** @type {number[]} */
    this.dash = [];
    this.ruler = document.createElement('canvas').getContext('2d');
  }

  /** @param {string} tag @param {Record<string, unknown>} props @param {...Children} children */
  add(tag, props, ...children) {
    this.root.append(
      svg(tag, { opacity: this.globalAlpha < 1 ? this.globalAlpha : null, ...props }, ...children),
    );
  }

  beginPath() {
    this.path = '';
  }
  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.path += `M${r(x)} ${r(y)}`;
  }
  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.path += `L${r(x)} ${r(y)}`;
  }
  closePath() {
    this.path += 'z';
  }
  fill() {
    this.add('path', { d: this.path, fill: this.fillStyle });
  }
  stroke() {
    if (this.path)
      this.add('path', {
        d: this.path,
        fill: 'none',
        stroke: this.strokeStyle,
        'stroke-width': this.lineWidth,
        'stroke-dasharray': this.dash.join(' ') || null,
      });
  }
  /** @param {number[]} dash */
  setLineDash(dash) {
    this.dash = dash;
  }
  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    this.add('rect', {
      x: r(x),
      y: r(y),
      width: r(width),
      height: r(height),
      fill: this.fillStyle,
    });
  }
  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  strokeRect(x, y, width, height) {
    this.add('rect', {
      x: r(x),
      y: r(y),
      width: r(width),
      height: r(height),
      fill: 'none',
      stroke: this.strokeStyle,
      'stroke-width': this.lineWidth,
    });
  }
  /** @param {string} text */
  measureText(text) {
    if (!this.ruler) return { width: text.length * 6.6 };
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
    const [, weight, size, family] = /^(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font) || [];
    this.add(
      'text',
      {
        x: r(x),
        y: r(y),
        fill: this.fillStyle,
        'font-size': size,
        'font-family': family,
        'font-weight': weight,
        'dominant-baseline': 'central',
        'text-anchor':
          this.textAlign === 'center' ? 'middle' : this.textAlign === 'right' ? 'end' : null,
      },
      text,
    );
  }
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  drawImage(canvas, x, y, width, height) {
    this.add('image', {
      href: canvas.toDataURL('image/png'),
      x,
      y,
      width,
      height,
      preserveAspectRatio: 'none',
    });
  }
}

/** @param {number} value */
const r = value => Math.round(value * 100) / 100;

/** @param {import('./heatview.js').HeatView} view @param {string} name @param {string} form */
export function exportHeat(view, name, form) {
  const { model, width, height } = view;
  if (!model || !view.ink) return;
  if (form === 'png') {
    const canvas = document.createElement('canvas');
    canvas.width = view.base.width;
    canvas.height = view.base.height;
    const pen = canvas.getContext('2d');
    if (!pen) return;
    pen.fillStyle = view.ink.surface;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(view.base, 0, 0);
    canvas.toBlob(blob => blob && save(blob, `${name}.png`));
  } else if (form === 'svg') {
    const pen = new SvgPen(width, height);
    pen.fillStyle = view.ink.surface;
    pen.fillRect(0, 0, width, height);
    view.paint(pen);
    save(
      new Blob([new XMLSerializer().serializeToString(pen.root)], { type: 'image/svg+xml' }),
      `${name}.svg`,
    );
  } else {
    const rows = (/** @type {Float32Array} */ values) =>
      model.h.row.map((_, i) =>
        Array.from(values.subarray(i * model.cols, (i + 1) * model.cols), value =>
          Number.isNaN(value) ? null : value,
        ),
      );
    save(
      new Blob([JSON.stringify({ ...model.h, mean: rows(model.mean), max: rows(model.max) })], {
        type: 'application/json',
      }),
      `${name}.json`,
    );
  }
}

/**
 * Values of the column under the cursor as a table.
 * @param {import('./heatview.js').HeatView} view
 */
export function showTable(view) {
  const { model } = view;
  if (!model) return;
  const c = (view.cursor || view.pinned || { c: model.cols - 1 }).c;
  const rows = [...Array(model.rows).keys()]
    .map(i => ({ i, ...model.cell(i, c) }))
    .filter(cell => Number.isFinite(cell.value))
    .sort((a, b) => b.value - a.value)
    .slice(0, 50);
  dialog(
    `${model.metric.name}, ${spanText(model, c)}`,
    h(
      'table',
      { class: 'mini' },
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          ['Key', model.metric.name, 'Peak', 'Of view'].map((name, at) =>
            h('th', { scope: 'col', class: at ? 'r' : null }, name),
          ),
        ),
      ),
      h(
        'tbody',
        null,
        rows.map(cell =>
          h(
            'tr',
            null,
            h(
              'td',
              { class: 'mono clip' },
              (model.fields[cell.i] || [])
                .map((_, level) => model.label(cell.i, level))
                .join(' \u203a '),
            ),
            h('td', { class: 'r' }, valueText(cell.value, model.metric, model.look.unit)),
            h('td', { class: 'r' }, num(cell.peak)),
            h('td', { class: 'r' }, cell.share === null ? '' : percent(cell.share, 1)),
          ),
        ),
      ),
    ),
  );
}
