// Hot keys: the rows or prefixes with most operations, with the error bound of their counts.

import { get, isAbort, ofTable, problemOf } from './api.js';
import { fill, h } from './dom.js';
import { bytes, moment, num, percent, shortServer } from './format.js';
import { Age, Grid } from './grid.js';
import { keyView } from './keys.js';
import { go, tableHref } from './place.js';
import { empty, failure, loading } from './states.js';
import { keyFormControl, segments, select } from './widgets.js';

/** Bar whose pale end is the bound of the error. @param {HotKey} row @param {number} top */
function bar(row, top) {
  const sure = h('i');
  const unsure = h('i', { class: 'unsure' });
  unsure.style.width = `${(row.per_s / top) * 100}%`;
  sure.style.width = `${(Math.max(0, row.per_s - row.error) / top) * 100}%`;
  return h(
    'span',
    { class: row.share > 0.2 ? 'meter hot long' : 'meter long', 'aria-hidden': 'true' },
    unsure,
    sure,
  );
}

/** @param {HotKey} row */
const clients = row =>
  (row.clients || []).map(client => (typeof client === 'string' ? client : client.addr)).join(', ');

/** @param {HotKeysPage} host @returns {Column<HotKey>[]} */
const columns = host => [
  {
    id: 'rank',
    name: '#',
    width: '28px',
    right: true,
    cell: r => h('span', { class: 'faint' }, r.rank),
  },
  {
    id: 'key',
    name: 'Key',
    width: 'minmax(150px, 2fr)',
    cell: r => keyView(r.key, { schema: host.page.info()?.row_key }),
  },
  { id: 'ops', name: 'Ops/s', width: '64px', right: true, cell: r => h('b', null, num(r.per_s)) },
  {
    id: 'error',
    name: '\u00b1 error',
    width: '56px',
    right: true,
    cell: r => h('span', { class: 'faint' }, `\u00b1 ${num(r.error)}`),
  },
  { id: 'bar', name: '', width: '140px', from: 760, cell: r => bar(r, host.top) },
  { id: 'share', name: 'Of table', width: '66px', right: true, cell: r => percent(r.share, 1) },
  {
    id: 'bytes',
    name: 'Bytes/s',
    width: '66px',
    right: true,
    from: 900,
    cell: r => bytes(r.bytes_per_s),
  },
  {
    id: 'clients',
    name: 'Clients',
    width: 'minmax(100px, 1fr)',
    from: 1000,
    cell: r => h('span', { class: 'muted', title: clients(r) }, clients(r)),
  },
  {
    id: 'server',
    name: 'Server',
    width: '64px',
    from: 1100,
    cell: r => shortServer(r.server).split(':')[0],
  },
  {
    id: 'first',
    name: 'First seen',
    width: '76px',
    right: true,
    from: 1200,
    cell: r => h('span', { class: 'muted' }, moment(r.first_seen, host.now)),
  },
  {
    id: 'last',
    name: 'Last seen',
    width: '76px',
    right: true,
    from: 1200,
    cell: r => h('span', { class: 'muted' }, moment(r.last_seen, host.now)),
  },
];

/** Name of a length of prefixes in the address. @param {PrefixLength} level */
const levelId = level => (level.field ? level.field : String(level.bytes));

/** @param {PrefixLength} level */
const levelText = level => (level.field ? `up to ${level.field}` : `of ${level.bytes} bytes`);

class HotKeysPage {
  /** @param {TablePage} page */
  constructor(page) {
    this.page = page;
    this.of = page.choice('of', ['rows', 'prefix'], 'rows');
    this.op = page.choice('op', ['all', 'reads', 'writes'], 'all');
    this.span = page.choice('window', ['1m', '5m', '10m'], '10m');
    /** Field, or number of bytes, that prefixes end with. */
    this.level = page.params.get('field') || page.params.get('bytes') || '';
    /** @type {PrefixLength[]} */
    this.levels = [];
    this.top = 1;
    this.now = Date.now();
    this.age = new Age(page.signal);
    this.grid = this.makeGrid();
    this.note = h('span');
    this.lengths = h('span');
    page.root.append(this.tools(), this.grid.element);
    fill(
      this.grid.foot,
      h('span', { class: 'opt' }, this.note),
      h('span', { class: 'grow' }),
      this.age.element,
    );
    this.grid.state(loading());
    page.onTable(() => this.grid.draw());
    page.poll(() => this.load());
  }

  makeGrid() {
    const { page } = this;
    /** @type {Grid<HotKey>} */
    const grid = new Grid({
      label: `Hot keys of ${page.table}`,
      columns: columns(this),
      sort: '',
      signal: page.signal,
      onSort: () => {},
      onOpen: row =>
        go(tableHref(page.table, 'rows', { by: 'key', prefix: row.key.escaped || keyPrefix(row) })),
      card: row => [
        h(
          'div',
          null,
          keyView(row.key, { schema: page.info()?.row_key }),
          h('div', { class: 'sub' }, clients(row)),
        ),
        h(
          'div',
          { class: 'nums' },
          h('div', { class: 'num' }, h('b', null, num(row.per_s)), ` \u00b1 ${num(row.error)}/s`),
          h('div', { class: 'num' }, percent(row.share, 1)),
        ),
      ],
    });
    return grid;
  }

  tools() {
    const pick = (/** @type {(value: string) => void} */ take) => (/** @type {string} */ value) => {
      take(value);
      this.change();
    };
    return h(
      'div',
      { class: 'tools' },
      segments(
        'Keys of',
        [
          ['rows', 'Rows'],
          ['prefix', 'Prefixes'],
        ],
        this.of,
        pick(value => (this.of = value)),
      ),
      this.lengths,
      select(
        'Operations',
        [
          ['all', 'Reads and writes'],
          ['reads', 'Reads'],
          ['writes', 'Writes'],
        ],
        this.op,
        pick(value => (this.op = value)),
      ),
      select(
        'Window',
        [
          ['1m', 'Last minute'],
          ['5m', 'Last 5 min'],
          ['10m', 'Last 10 min'],
        ],
        this.span,
        pick(value => (this.span = value)),
      ),
      keyFormControl(),
    );
  }

  /** Length as parameters of the address and of the API. */
  levelParams() {
    const { level } = this;
    if (this.of !== 'prefix' || !level) return { field: null, bytes: null };
    return /^\d+$/.test(level) ? { field: null, bytes: level } : { field: level, bytes: null };
  }

  change() {
    const { of, op, span } = this;
    this.page.set({
      of: of === 'rows' ? null : of,
      ...this.levelParams(),
      op: op === 'all' ? null : op,
      window: span === '10m' ? null : span,
    });
    this.load();
  }

  drawLengths() {
    const { levels } = this;
    fill(
      this.lengths,
      this.of === 'prefix' &&
        levels.length > 0 &&
        select(
          'Length of the prefixes',
          levels.map(level => [levelId(level), levelText(level)]),
          this.level,
          value => {
            this.level = value;
            this.change();
          },
        ),
    );
  }

  async load() {
    const { page, grid, of } = this;
    try {
      /** @type {HotKeysAnswer} */
      const answer = await get(
        ofTable(page.table, '/hot-keys'),
        { of, ...this.levelParams(), op: this.op, window: this.span, limit: 200 },
        page.signal,
      );
      if (of === this.of) this.take(answer);
    } catch (error) {
      if (isAbort(error)) return;
      const problem = problemOf(error);
      // A length that is no longer counted.
      if (this.level && (problem.field === 'field' || problem.field === 'bytes')) {
        this.level = '';
        return this.change();
      }
      if (!grid.total) grid.state(failure(error, () => this.load(), 'Hot keys are not recorded here'));
    }
  }

  /** @param {HotKeysAnswer} answer */
  take(answer) {
    const { grid } = this;
    this.now = answer.as_of;
    this.top = Math.max(1e-9, ...answer.rows.map(row => row.per_s));
    this.levels = answer.levels || [];
    if (answer.level) this.level = levelId(answer.level);
    this.drawLengths();
    grid.rows = new Map(answer.rows.map((row, at) => [at, row]));
    const what = this.of === 'prefix' ? 'prefix' : 'key';
    grid.state(
      answer.rows.length
        ? null
        : empty(
            `No ${what} was counted in this window`,
            h('p', null, 'Counting begins with the first requests.'),
          ),
    );
    grid.setTotal(answer.rows.length);
    this.note.textContent = `Space-Saving, ${answer.counters} counters per active region, fed ${answer.sampled.replace('/', ' in ')}. The pale end of a bar is the bound of the error.`;
    this.age.now(answer.as_of);
  }
}

/** @param {HotKey} row */
const keyPrefix = row => row.key.hex.replace(/../g, '\\x$&');

/** @param {TablePage} page */
export function show(page) {
  new HotKeysPage(page);
}
