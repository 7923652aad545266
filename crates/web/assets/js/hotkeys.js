// Hot keys: the rows or prefixes with most operations, with the error bound of their counts.

import { get, isAbort, ofTable } from './api.js';
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

/** @param {TablePage} page */
export function show(page) {
  let of = page.choice('of', ['rows', 'prefix'], 'rows');
  let op = page.choice('op', ['all', 'reads', 'writes'], 'all');
  let span = page.choice('window', ['1m', '10m', '1h'], '10m');
  let field = page.params.get('field') || '';
  let top = 1;
  let now = Date.now();
  const age = new Age(page.signal);
  /** @type {Column<HotKey>[]} */
  const columns = [
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
      cell: r => keyView(r.key, { schema: page.info()?.row_key }),
    },
    { id: 'ops', name: 'Ops/s', width: '64px', right: true, cell: r => h('b', null, num(r.per_s)) },
    {
      id: 'error',
      name: '\u00b1 error',
      width: '56px',
      right: true,
      cell: r => h('span', { class: 'faint' }, `\u00b1 ${num(r.error)}`),
    },
    { id: 'bar', name: '', width: '140px', from: 760, cell: r => bar(r, top) },
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
      cell: r => h('span', { class: 'muted' }, moment(r.first_seen, now)),
    },
    {
      id: 'last',
      name: 'Last seen',
      width: '76px',
      right: true,
      from: 1200,
      cell: r => h('span', { class: 'muted' }, moment(r.last_seen, now)),
    },
  ];
  /** @type {Grid<HotKey>} */
  const grid = new Grid({
    label: `Hot keys of ${page.table}`,
    columns,
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
  const note = h('span');
  const fields = h('span');
  const drawFields = () => {
    const names = (page.info()?.row_key?.fields || [])
      .filter(one => !one.derived)
      .map(one => one.name);
    const list = names.slice(0, -1);
    fill(
      fields,
      of === 'prefix' &&
        list.length > 0 &&
        select(
          'Prefix up to',
          list.map(name => [name, `by ${name}`]),
          field || list[0] || '',
          value => {
            field = value;
            change();
          },
        ),
    );
  };
  const change = () => {
    page.set({
      of: of === 'rows' ? null : of,
      field: of === 'prefix' ? field : null,
      op: op === 'all' ? null : op,
      window: span === '10m' ? null : span,
    });
    drawFields();
    load();
  };
  const load = async () => {
    try {
      /** @type {HotKeysAnswer} */
      const answer = await get(
        ofTable(page.table, '/hot-keys'),
        { of, field: of === 'prefix' ? field : null, op, window: span, limit: 200 },
        page.signal,
      );
      now = answer.as_of;
      top = Math.max(1e-9, ...answer.rows.map(row => row.per_s));
      grid.rows = new Map(answer.rows.map((row, at) => [at, row]));
      grid.state(
        answer.rows.length
          ? null
          : empty(
              'No key was counted in this window',
              h('p', null, 'Counting begins with the first requests.'),
            ),
      );
      grid.setTotal(answer.rows.length);
      note.textContent = `Space-Saving, ${answer.counters} counters per active region, fed ${answer.sampled.replace('/', ' in ')}. The pale end of a bar is the bound of the error.`;
      age.now(answer.as_of);
    } catch (error) {
      if (isAbort(error)) return;
      if (!grid.total) grid.state(failure(error, load, 'Hot keys are not recorded here'));
    }
  };
  page.root.append(
    h(
      'div',
      { class: 'tools' },
      segments(
        'Keys of',
        [
          ['rows', 'Rows'],
          ['prefix', 'Prefixes'],
        ],
        of,
        value => {
          of = value;
          change();
        },
      ),
      fields,
      select(
        'Operations',
        [
          ['all', 'Reads and writes'],
          ['reads', 'Reads'],
          ['writes', 'Writes'],
        ],
        op,
        value => {
          op = value;
          change();
        },
      ),
      select(
        'Window',
        [
          ['1m', 'Last minute'],
          ['10m', 'Last 10 min'],
          ['1h', 'Last hour'],
        ],
        span,
        value => {
          span = value;
          change();
        },
      ),
      keyFormControl(),
    ),
    grid.element,
  );
  fill(grid.foot, h('span', { class: 'opt' }, note), h('span', { class: 'grow' }), age.element);
  grid.state(loading());
  page.onTable(() => {
    drawFields();
    grid.draw();
  });
  page.poll(load);
}

/** @param {HotKey} row */
const keyPrefix = row => row.key.hex.replace(/../g, '\\x$&');
