// What is known of one cell of the heat: figures at once, rows and causes when they are told.

import { get, isAbort, ofTable } from './api.js';
import { fill, h } from './dom.js';
import { shapeName, splitText } from './diagnosis.js';
import { DOT, bytes, clock, day, duration, num, percent, shortServer } from './format.js';
import { valueText } from './heatview.js';
import { escapedKey, keyView } from './keys.js';
import { chip, meter } from './widgets.js';

/** @typedef {import('./heatdata.js').HeatModel} HeatModel */
/** @typedef {{i: number, c: number}} At */

/** Span of a column. @param {HeatModel} model @param {number} c */
export function spanText(model, c) {
  const from = model.timeOf(c);
  const to = from + model.h.dt_ms;
  const seconds = model.h.dt_ms < 60e3;
  const old = Date.now() - from > 86400e3 ? `${day(from)} ` : '';
  return `${old}${clock(from, seconds)} \u2013 ${clock(to, seconds)}`;
}

/** Cell as one sentence. @param {HeatModel} model @param {At} at */
export function cellSentence(model, { i, c }) {
  const cell = model.cell(i, c);
  const key = (model.fields[i] || []).map((_, level) => model.label(i, level)).join(', ');
  const value = valueText(cell.value, model.metric, model.look.unit);
  const share = cell.share === null ? '' : `, ${percent(cell.share)} of view`;
  return `${key}, ${clock(model.timeOf(c))}, ${value}${share}`;
}

/** @param {HeatModel} model @param {At} at @param {RowKey | null} schema */
function figures(model, { i, c }, schema) {
  const cell = model.cell(i, c);
  const row = model.h.row[i];
  if (!row) return [];
  const region = model.h.regions?.find(one => one.encoded_name === row.region);
  const unit = model.look.unit;
  const pair = (/** @type {string} */ name, /** @type {Children} */ value, look = '') => [
    h('dt', null, name),
    h('dd', { class: look }, value),
  ];
  return [
    h(
      'div',
      { class: 'cellhead' },
      h('b', null, valueText(cell.value, model.metric, unit)),
      h('span', { class: 'muted' }, cell.share === null ? '' : `${percent(cell.share)} of view`),
      h('time', null, spanText(model, c)),
    ),
    h(
      'dl',
      { class: 'kv' },
      model.diff ? pair('change', valueText(cell.shown, model.metric, unit)) : null,
      row.label ? pair(row.other ? 'values' : 'value', row.label.join(' \u203a ')) : null,
      row.label
        ? null
        : pair('from', keyView(row.start, { schema, none: '(first)', form: 'decoded' })),
      row.start.hex ? pair('', escapedKey(row.start), 'raw') : null,
      row.label ? null : pair('to', row.end.hex ? escapedKey(row.end) : '(last)', 'raw'),
      row.estimated
        ? pair('estimated', 'some key ranges have several values; a sample divides them', 'muted')
        : null,
      Number.isFinite(cell.peak)
        ? pair('peak', `${valueText(cell.peak, model.metric, unit)} in one sample`)
        : null,
      pair('column', `${duration(model.h.dt_ms)}, layer ${model.h.layer}`, 'muted'),
      row.rows_est
        ? pair('rows', `\u2248 ${num(row.rows_est)}${row.bytes ? DOT + bytes(row.bytes) : ''}`)
        : null,
      row.region
        ? pair('region', [
            h('code', null, row.region.slice(0, 12)),
            region?.server ? ` on ${shortServer(region.server).split(':')[0]}` : '',
          ])
        : null,
    ),
  ];
}

/** Sampled operations below which shares are numbers of them. */
const FEW_OPERATIONS = 20;

/** @param {HeatCell} cell @param {RowKey | null} schema */
function causes(cell, schema) {
  // A percentage of so few says more than is known.
  const all = cell.operations ?? 0;
  const few = all > 0 && all < FEW_OPERATIONS;
  const line = (/** @type {string} */ text, /** @type {number} */ share) => [
    h('span', { class: 'ell', title: text }, text),
    meter(share),
    h('span', { class: 'r' }, few ? `${Math.round(share * all)} of ${all}` : percent(share)),
  ];
  return [
    cell.top_rows?.length > 0 &&
      h(
        'div',
        { class: 'cellsec' },
        h('h4', null, 'Top rows', h('span', null, 'ops/s \u00b1 error')),
        h(
          'div',
          { class: 'tk' },
          cell.top_rows
            .slice(0, 3)
            .flatMap(row => [
              keyView(row.key, { schema }),
              h(
                'span',
                { class: 'r' },
                h('b', null, num(row.per_s)),
                h('span', { class: 'faint' }, ` \u00b1 ${num(row.error)}`),
              ),
            ]),
        ),
      ),
    (cell.statements?.length > 0 || cell.clients?.length > 0) &&
      h(
        'div',
        { class: 'cellsec' },
        h('h4', null, 'Cause', h('span', null, few ? `${all} sampled operations` : `sampled ${cell.sampled.replace('/', ' in ')}`)),
        h(
          'div',
          { class: 'cause' },
          cell.statements.slice(0, 3).flatMap(one => line(one.text, one.share)),
          cell.clients
            .slice(0, 3)
            .flatMap(one =>
              line([one.addr, one.user, one.version].filter(Boolean).join(DOT), one.share),
            ),
        ),
      ),
    cell.operations === 0 &&
      h('div', { class: 'cellsec muted' }, 'No operation of this metric is in the sample here'),
    cell.p99_ms !== null &&
      cell.p99_ms !== undefined &&
      h('div', { class: 'cellsec muted' }, `p99 ${duration(cell.p99_ms)}`),
  ];
}

export class CellCard {
  /** @param {TablePage} page */
  constructor(page) {
    this.page = page;
    this.more = h('div');
    this.element = h('div', { class: 'cellcard' });
    this.asked = new AbortController();
    /** @type {Map<string, HeatCell | null>} */
    this.known = new Map();
    this.timer = 0;
  }

  /** @param {HeatModel} model @param {At} at */
  show(model, at) {
    const schema = this.page.info()?.row_key || null;
    const [finding] = this.page.findings();
    const row = model.h.row[at.i];
    const order = this.page.params.get('order') || '';
    const name = `${model.timeOf(at.c)} ${order} ${row?.label ?? row?.start.hex}`;
    fill(this.more);
    fill(
      this.element,
      figures(model, at, schema),
      this.more,
      finding &&
        finding.severity !== 'ok' &&
        (model.cell(at.i, at.c).share || 0) > 0.2 &&
        h(
          'div',
          { class: 'cellsec' },
          chip(shapeName(finding.shape), finding.severity),
          ` ${splitText(finding.split)}`,
        ),
    );
    this.asked.abort();
    clearTimeout(this.timer);
    const ready = this.known.get(name);
    if (ready !== undefined) {
      if (ready) fill(this.more, causes(ready, schema));
      return;
    }
    if (!row || row.other || !(model.cell(at.i, at.c).value > 0)) return;
    this.asked = new AbortController();
    // Asked when the cursor rests, not for every cell that it crosses.
    this.timer = setTimeout(async () => {
      try {
        /** @type {HeatCell} */
        const cell = await get(
          ofTable(this.page.table, '/heat/cell'),
          {
            at: model.timeOf(at.c),
            dt_ms: model.h.dt_ms,
            metric: model.h.metric,
            order,
            ...(row.label
              ? { value: row.label[0] }
              : { k0: row.start.hex, k1: row.end.hex }),
          },
          this.asked.signal,
        );
        this.keep(name, cell);
        fill(this.more, causes(cell, schema));
      } catch (error) {
        if (!isAbort(error)) this.keep(name, null);
      }
    }, 220);
  }

  /** @param {string} name @param {HeatCell | null} cell */
  keep(name, cell) {
    if (this.known.size > 200) this.known.clear();
    this.known.set(name, cell);
  }
}
