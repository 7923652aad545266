// All tables: thumbnail of the heat, shape, rates, skew, and on how many regions the load lands.

import { get, isAbort } from './api.js';
import { fill, h } from './dom.js';
import { glyph, shapeName } from './diagnosis.js';
import { NONE, bytes, count, duration, factor, num, rate } from './format.js';
import { Age, Grid, ordersOf } from './grid.js';
import { go, tableHref } from './place.js';
import { thumbnail } from './ramp.js';
import { empty, failure, loading } from './states.js';
import { tableName } from './tablename.js';
import { button, copy, debounce, meter, segments } from './widgets.js';

/** Skew of windows and of sizes, which say different things. @param {TableRow} row */
function skew(row) {
  if (row.regions <= 1) return h('span', { class: 'muted' }, 'one region');
  const { skew_window_p99: moving, skew_static: standing } = row;
  if ((moving ?? null) === null && (standing ?? null) === null) return NONE;
  return [
    h('span', { class: (moving || 0) >= 2 ? 'strong' : null }, factor(moving)),
    h('span', { class: 'faint' }, ` \u00b7 ${factor(standing)}`),
  ];
}

/** @param {TableRow} row */
export function landsOn(row) {
  const parts = row.effective_regions;
  if (parts === null || parts === undefined) return h('span', { class: 'faint' }, NONE);
  const even = parts / Math.max(1, row.regions);
  const text = parts < 10 ? factor(parts).replace(/\.0$/, '') : num(Math.round(parts));
  return h(
    'span',
    { class: 'sp' },
    meter(even, even < 0.34 && row.regions > 2),
    h('span', null, text, h('span', { class: 'faint' }, ` of ${num(row.regions)}`)),
  );
}

/** @param {TableRow} row */
const shapeCell = row =>
  row.shape
    ? h('span', { class: `shape ${row.severity || ''}` }, glyph(row.shape), shapeName(row.shape))
    : h('span', { class: 'faint' }, NONE);

/** @type {Column<TableRow>[]} */
const COLUMNS = [
  {
    id: 'name',
    name: 'Table',
    width: 'minmax(120px, 1.4fr)',
    sort: 'name',
    cell: r =>
      h(
        'a',
        { class: 'strong', href: tableHref(r.name, 'regions'), tabindex: -1 },
        tableName(r.name),
      ),
  },
  { id: 'thumb', name: 'Last 6 h', width: '104px', from: 900, cell: r => thumbnail(r, 104, 20) },
  {
    id: 'shape',
    name: 'Shape',
    width: 'minmax(110px, 1.2fr)',
    sort: 'shape',
    from: 700,
    cell: shapeCell,
  },
  {
    id: 'regions',
    name: 'Regions',
    width: '56px',
    right: true,
    sort: 'regions',
    from: 1240,
    cell: r => count(r.regions),
  },
  {
    id: 'writes',
    name: 'Writes',
    width: '68px',
    right: true,
    sort: 'writes_per_s',
    cell: r => rate(r.writes_per_s),
  },
  {
    id: 'reads',
    name: 'Reads',
    width: '68px',
    right: true,
    sort: 'reads_per_s',
    cell: r => rate(r.reads_per_s),
  },
  {
    id: 'p99',
    name: 'p99',
    width: '56px',
    right: true,
    sort: 'p99_ms',
    from: 800,
    cell: r => duration(r.p99_ms),
  },
  {
    id: 'skew',
    name: 'Skew',
    width: '92px',
    right: true,
    sort: 'skew_window_p99',
    from: 1000,
    cell: skew,
  },
  {
    id: 'lands',
    name: 'Load lands on',
    width: '136px',
    sort: 'effective_regions',
    from: 1000,
    cell: landsOn,
  },
  {
    id: 'rows',
    name: 'Rows',
    width: '64px',
    right: true,
    sort: 'rows',
    from: 1100,
    cell: r => num(r.rows),
  },
  {
    id: 'size',
    name: 'Size',
    width: '66px',
    right: true,
    sort: 'size_bytes',
    cell: r => bytes(r.size_bytes),
  },
  {
    id: 'ttl',
    name: 'TTL',
    width: '46px',
    right: true,
    from: 1240,
    cell: r =>
      r.ttl_s
        ? h('span', { class: 'muted' }, duration(r.ttl_s * 1000))
        : h('span', { class: 'faint' }, NONE),
  },
  {
    id: 'codec',
    name: 'Codec',
    width: '56px',
    from: 1300,
    cell: r => h('span', { class: 'muted' }, r.compression || NONE),
  },
];

/** @param {TableRow} r */
const card = r => [
  h(
    'div',
    null,
    h('b', null, tableName(r.name)),
    h('div', { class: 'sub' }, shapeName(r.shape) || `${count(r.regions)} regions`),
    h('div', { class: 'sub' }, `${num(r.rows)} rows \u00b7 ${bytes(r.size_bytes)}`),
  ),
  h(
    'div',
    { class: 'nums' },
    h('div', { class: 'num' }, r.thumb && thumbnail(r, 78, 15)),
    h('div', { class: 'num' }, `${rate(r.writes_per_s)} writes`),
    h('div', { class: 'num' }, `${rate(r.reads_per_s)} reads`),
  ),
];

const CHUNK = 100;
/** @type {Record<string, string>} */
const NAMES = { all: 'Tables', bad: 'With findings', system: 'System' };
/** @type {Record<string, string>} */
const TOTALS = { all: 'tables', bad: 'tables with findings', system: 'system tables' };

class TablesPage {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.q = page.params.get('q') || '';
    this.kind = page.choice('show', ['all', 'bad', 'system'], 'all');
    this.asOf = 0;
    this.serial = 0;
    this.busy = false;
    this.age = new Age(page.signal);
    this.said = h('span');
    this.filter = h('input', {
      type: 'search',
      placeholder: 'Filter by name or shape',
      value: this.q,
      'data-filter': '',
      class: 'filter',
      'aria-label': 'Filter tables',
      oninput: debounce(250, () => this.search()),
    });
    this.tabs = segments('Show', Object.entries(NAMES), this.kind, value => {
      this.kind = value;
      page.set({ show: value === 'all' ? null : value });
      this.restart();
    });
    this.grid = this.makeGrid();
    this.build();
  }

  makeGrid() {
    const { page } = this;
    /** @type {Grid<TableRow>} */
    const grid = new Grid({
      label: 'Tables',
      columns: COLUMNS,
      signal: page.signal,
      rowHeight: 30,
      card,
      sort: page.choice('sort', ordersOf(COLUMNS), 'name'),
      onSort: sort => {
        page.set({ sort: sort === 'name' ? null : sort });
        this.restart();
      },
      onOpen: row => go(tableHref(row.name, 'regions')),
      onNeed: first => {
        if (this.asOf && !this.busy) this.ask(Math.max(0, first - 20), false);
      },
    });
    return grid;
  }

  build() {
    const { grid, page } = this;
    page.root.append(
      h(
        'div',
        { class: 'tools' },
        this.filter,
        this.tabs,
        h('span', { class: 'grow' }),
        button('Copy as CSV', () => this.copyCsv()),
      ),
      grid.element,
    );
    fill(
      grid.foot,
      h(
        'span',
        { class: 'opt' },
        'Rates: last 10 s. p99: last minute. Skew: windows of 10 s of the last 10 min \u00b7 whole time. Rows are estimates.',
      ),
      h('span', { class: 'grow' }),
      this.said,
      this.age.element,
    );
    grid.state(loading());
    page.poll(() => this.ask(Math.max(0, (grid.range?.first || 0) - 20), true));
  }

  /** @param {number} offset @param {boolean} anew */
  async ask(offset, anew) {
    const mine = ++this.serial;
    this.busy = true;
    try {
      const params = {
        q: this.q,
        show: this.kind,
        sort: this.grid.sort,
        offset,
        limit: CHUNK,
        thumb: '104x20',
        as_of: anew ? null : this.asOf,
      };
      /** @type {TablesAnswer} */
      const answer = await get('/api/tables', params, this.page.signal);
      if (mine === this.serial) this.take(answer, offset, anew);
    } catch (error) {
      if (isAbort(error) || mine !== this.serial) return;
      if (!this.grid.total) this.grid.state(failure(error, () => this.restart()));
    } finally {
      if (mine === this.serial) this.busy = false;
    }
  }

  /** @param {TablesAnswer} answer @param {number} offset @param {boolean} anew */
  take(answer, offset, anew) {
    const { grid } = this;
    if (anew) grid.rows.clear();
    answer.tables.forEach((row, at) => grid.rows.set(offset + at, row));
    this.asOf = answer.as_of;
    this.age.now(answer.as_of);
    this.said.textContent = `${count(answer.total)} ${TOTALS[this.kind]}`;
    for (const tab of this.tabs.children) {
      const id = tab.getAttribute('data-id') || '';
      const total = answer.counts?.[id];
      if (total !== undefined) tab.textContent = `${NAMES[id]} ${total}`;
    }
    grid.state(answer.total ? null : this.nothing());
    this.busy = false;
    grid.setTotal(answer.total);
  }

  restart() {
    this.grid.scroll.scrollTop = 0;
    return this.ask(0, true);
  }

  nothing() {
    if (this.q)
      return empty(
        `No table fits "${this.q}"`,
        button('Clear the filter', () => {
          this.filter.value = '';
          this.search();
        }),
      );
    if (this.kind === 'bad') return empty('No table has a finding');
    return empty(
      'No tables yet',
      h('pre', null, "create 'testtable', 'cf'\nput 'testtable', 'row1', 'cf:a', 'value'"),
    );
  }

  search() {
    this.q = this.filter.value.trim();
    this.page.set({ q: this.q });
    this.restart();
  }

  copyCsv() {
    const lines = [...this.grid.rows.values()].map(r =>
      [
        r.name,
        r.shape,
        r.regions,
        r.writes_per_s,
        r.reads_per_s,
        r.p99_ms,
        r.skew_window_p99,
        r.skew_static,
        r.effective_regions,
        r.rows,
        r.size_bytes,
      ]
        .map(cell)
        .join(','),
    );
    const heads =
      'Table,Shape,Regions,Writes/s,Reads/s,p99 ms,Skew of windows,Static skew,Load lands on,Rows,Size';
    copy([heads, ...lines].join('\n'), 'Copied as CSV');
  }
}

/** @param {Page} page */
export function show(page) {
  new TablesPage(page);
}

/** Cell of CSV. One that begins like a formula gets an apostrophe. @param {unknown} value */
function cell(value) {
  const text = value === null || value === undefined ? '' : String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
