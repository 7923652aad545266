// Tool row of the heat map: metric, order and height of rows, time, what is drawn over the map.

import { h, icon } from './dom.js';
import { METRICS } from './heatdata.js';
import { RANGES, RANGE_NAMES } from './heatlegend.js';
import { iconButton, segments, select } from './widgets.js';

/** @typedef {import('./heatpage.js').HeatPage} HeatPage */

const SPEEDS = [1, 10, 60, 600];

/** Metrics that can be recorded by key range. */
export const RECORDED = Object.keys(METRICS).filter(
  id => !['p99', 'errors', 'memstore'].includes(id),
);

/** @param {string[]} names @param {(name: string) => string} text @returns {[string, string][]} */
const choices = (names, text) => names.map(name => [name, text(name)]);

/** @param {HeatPage} page */
function metricTool(page) {
  return select(
    'Metric',
    choices(RECORDED, id => METRICS[id]?.name || id),
    page.metric,
    value => page.change({ metric: value }),
  );
}

/** Order of the rows: of the keys, without salts, or by the values of a field. @param {HeatPage} page */
function orderTool(page) {
  const fields = page.page.info()?.row_key?.fields || [];
  const salted = fields.some(field => field.name === 'salt' && field.derived);
  const plain = fields.filter(field => !field.derived).map(field => field.name);
  const shown = page.order.startsWith('pivot:') ? '' : page.order;
  const order = segments(
    'Key order',
    [
      ['physical', 'Physical'],
      ['unsalted', 'Unsalted'],
    ],
    shown,
    value => page.reorder(value),
  );
  const [, unsalted] = order.children;
  if (unsalted instanceof HTMLButtonElement) {
    unsalted.disabled = !salted;
    if (!salted) unsalted.title = 'The key has no salt';
  }
  const pivot =
    plain.length > 0 &&
    select(
      'Pivot',
      choices(['', ...plain], name => (name ? `by ${name}` : 'Pivot by\u2026')),
      page.order.startsWith('pivot:') ? page.order.slice(6) : '',
      value => page.reorder(value ? `pivot:${value}` : 'physical'),
      { title: 'One row for each value of a field of the key' },
    );
  return [order, pivot];
}

/** @param {HeatPage} page */
function heightTools(page) {
  // Rows and bytes are known of ranges of keys only.
  const sized = page.order === 'physical';
  const height = select(
    'Height of rows',
    [
      ['region', sized ? 'region' : 'equal'],
      ...(sized ? choices(['rows', 'bytes'], id => id.slice(0, -1)) : []),
      ['load', 'load'],
    ],
    page.scale,
    value => page.rescale(value),
  );
  const unit = select(
    'Unit',
    [['s', 'second'], ...choices(sized ? ['row', 'mb'] : [], id => (id === 'mb' ? 'MB' : id))],
    page.unit,
    value => page.reunit(value),
  );
  return [
    h('label', { class: 'field' }, 'Height', height),
    h('label', { class: 'field' }, 'Per', unit),
  ];
}

/** @param {HeatPage} page */
function timeTools(page) {
  const zoomed = page.from > 0 || page.page.params.has('k0');
  const ranges = choices([...(page.from ? [''] : []), ...RANGES.map(([id]) => id)], id =>
    id ? `Last ${RANGE_NAMES[id]}` : 'Zoomed',
  );
  const live = h(
    'button',
    {
      type: 'button',
      class: 'btn',
      'aria-pressed': String(page.live),
      title: 'New columns appear by themselves (l)',
      onclick: () => page.toggleLive(),
    },
    h('span', { class: page.live ? 'dot' : 'dot off' }),
    'Live',
  );
  const speed = () =>
    select(
      'Speed',
      SPEEDS.map(one => [String(one), `${one}\u00d7`]),
      String(page.speed),
      value => {
        page.speed = Number(value);
      },
    );
  return [
    select('Time', ranges, page.from ? '' : page.range, value => value && page.choose(0, 0, value)),
    !page.timer && live,
    iconButton('back', 'Zoom back (Backspace)', () => page.back(), { disabled: !zoomed }),
    iconButton('whole', 'Whole (0)', () => page.whole(), { disabled: !zoomed }),
    iconButton(page.timer ? 'pause' : 'play', 'Playback (Space)', () => page.playback(), {
      'aria-pressed': String(Boolean(page.timer)),
    }),
    page.timer && speed(),
  ];
}

/** @param {HeatPage} page */
function saveTool(page) {
  const menu = select(
    'Save',
    [['', ''], ...choices(['png', 'svg', 'json'], form => form.toUpperCase())],
    '',
    form => {
      if (form) page.save(form);
      menu.value = '';
    },
    { class: 'savemenu' },
  );
  return h('span', { class: 'savehost', title: 'Save as PNG, SVG or JSON' }, icon('save'), menu);
}

/** @param {HeatPage} page */
function viewTools(page) {
  return [
    iconButton('diff', 'Difference to the period before (d)', () => page.toggleDiff(), {
      'aria-pressed': String(page.diff),
    }),
    iconButton('layers', 'Borders and marks (b)', () => page.toggleMarks(), {
      'aria-pressed': String(page.view.marks),
    }),
    saveTool(page),
    h('span', { class: 'grow' }),
    iconButton(
      page.lock ? 'lock' : 'open',
      'Lock the scale for comparison',
      () => page.toggleLock(),
      { 'aria-pressed': String(Boolean(page.lock)) },
    ),
    page.legend.element,
  ];
}

/** Content of the tool row. @param {HeatPage} page */
export const heatTools = page => [
  metricTool(page),
  ...orderTool(page),
  ...heightTools(page),
  h('span', { class: 'sep' }),
  ...timeTools(page),
  ...viewTools(page),
];
