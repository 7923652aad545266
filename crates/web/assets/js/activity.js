// Activity: slow calls, tasks, events.

import { get, isAbort } from './api.js';
import { fill, h, icon } from './dom.js';
import { NONE, bytes, duration, moment, num, percent, stamp, visible } from './format.js';
import { tableHref } from './place.js';
import { empty, failure, loading } from './states.js';
import { tableName } from './tablename.js';
import { button, dialog, meter, segments, select } from './widgets.js';

const KINDS = [
  'split',
  'merge',
  'move',
  'flush',
  'compaction',
  'deploy',
  'restart',
  'schema',
  'error',
];

/** @param {SlowCall[]} calls */
function slowTable(calls) {
  const now = Date.now();
  const open = (/** @type {SlowCall} */ call) =>
    dialog(
      `${call.method_name}, ${duration(call.processing_ms)}`,
      h(
        'dl',
        { class: 'facts2' },
        Object.entries(call)
          .filter(([, value]) => value !== null)
          .flatMap(([name, value]) => [
            h('dt', null, name),
            h(
              'dd',
              { class: 'mono wrap' },
              name === 'start_time' ? stamp(Number(value)) : visible(String(value)),
            ),
          ]),
      ),
    );
  return h(
    'table',
    { class: 'mini' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        [
          'Start',
          'Duration',
          'Queue',
          'Call',
          'Details',
          'Response',
          'Scanned',
          'Client',
          'Region',
        ].map((name, at) =>
          h('th', { scope: 'col', class: [1, 2, 5, 6].includes(at) ? 'r' : null }, name),
        ),
      ),
    ),
    h(
      'tbody',
      null,
      calls.map(call =>
        h(
          'tr',
          null,
          h(
            'td',
            { class: 'muted', title: stamp(call.start_time) },
            moment(call.start_time, now, true),
          ),
          h('td', { class: 'r strong' }, duration(call.processing_ms)),
          h('td', { class: 'r' }, duration(call.queue_ms)),
          h(
            'td',
            null,
            h(
              'button',
              { type: 'button', class: 'link', onclick: () => open(call) },
              call.method_name,
            ),
          ),
          h('td', { class: 'mono clip', title: call.call_details }, visible(call.call_details)),
          h('td', { class: 'r' }, bytes(call.response_bytes)),
          h('td', { class: 'r' }, bytes(call.block_bytes_scanned)),
          h('td', null, call.client_address),
          h('td', { class: 'mono clip', title: call.region_name || '' }, call.region_name || NONE),
        ),
      ),
    ),
  );
}

/** @param {Task[]} tasks */
const taskList = tasks => h('ul', { class: 'tasks' }, tasks.map(taskRow));

/** @param {Task} task */
export const taskRow = task =>
  h(
    'li',
    { class: 'taskrow', title: task.status },
    h('span', { class: 'ell' }, task.description),
    meter(task.progress),
    h('span', { class: 'r' }, percent(task.progress)),
    h(
      'span',
      { class: 'r muted' },
      task.left_s === null || task.left_s === undefined
        ? task.state.toLowerCase()
        : `${duration(task.left_s * 1000)} left`,
    ),
  );

/** @param {StoreEvent} event @param {number} now */
export const eventRow = (event, now) =>
  h(
    'li',
    { class: 'eventrow' },
    h(
      'time',
      { title: stamp(event.at), datetime: new Date(event.at).toISOString() },
      moment(event.at, now),
    ),
    icon(event.kind),
    h(
      'span',
      null,
      event.table &&
        h(
          'a',
          { class: 'strong', href: tableHref(event.table, 'regions') },
          tableName(event.table),
        ),
      event.table && ' ',
      visible(event.text),
      measured(event) && h('span', { class: 'muted' }, ` ${measured(event)}`),
    ),
  );

/** Bytes and duration of an event, as far as they are known. @param {StoreEvent} event */
const measured = event =>
  [
    isNumber(event.bytes) && bytes(event.bytes),
    isNumber(event.duration_ms) && duration(event.duration_ms),
  ]
    .filter(Boolean)
    .join(', ');

/** @param {unknown} value */
const isNumber = value => typeof value === 'number';

/** @param {Page} page */
export function show(page) {
  let kind = page.choice('show', ['slow', 'tasks', 'events'], 'slow');
  let least = '';
  let event = '';
  let table = page.params.get('table') || '';
  /** @type {string | null} */
  let next = null;
  /** @type {unknown[]} */
  let items = [];
  const body = h('div', { class: 'scrollbody' }, loading());
  const more = h('div', { class: 'foot' });
  const controls = h('span', { class: 'tools' });
  const input = h('input', {
    type: 'search',
    class: 'filter',
    placeholder: 'Table',
    value: table,
    'aria-label': 'Table',
    'data-filter': '',
    onchange: () => {
      table = input.value.trim();
      page.set({ table });
      restart();
    },
  });
  const tabs = segments(
    'Show',
    [
      ['slow', 'Slow calls'],
      ['tasks', 'Tasks'],
      ['events', 'Events'],
    ],
    kind,
    value => {
      kind = value;
      page.set({ show: value === 'slow' ? null : value });
      restart();
    },
  );
  page.root.append(
    h('div', { class: 'tools' }, tabs, controls),
    h('section', { class: 'panel grow column' }, body, more),
  );

  const drawControls = () =>
    fill(
      controls,
      kind !== 'tasks' && input,
      kind === 'slow' &&
        select(
          'Least duration',
          [
            ['', 'Any duration'],
            ['10', '\u2265 10 ms'],
            ['100', '\u2265 100 ms'],
            ['1000', '\u2265 1 s'],
          ],
          least,
          value => {
            least = value;
            restart();
          },
        ),
      kind === 'events' &&
        select(
          'Kind',
          [['', 'All kinds'], ...KINDS.map(name => /** @type {[string, string]} */ ([name, name]))],
          event,
          value => {
            event = value;
            restart();
          },
        ),
    );

  const request = () =>
    ({
      slow: { path: '/api/slow-log', name: 'calls', params: { table, min_ms: least, limit: 100 } },
      tasks: { path: '/api/tasks', name: 'tasks', params: {} },
      events: {
        path: '/api/events',
        name: 'events',
        params: {
          table,
          kind: event,
          from: page.params.get('from'),
          to: page.params.get('to'),
          limit: 100,
        },
      },
    })[kind] || { path: '', name: '', params: {} };

  const draw = () => {
    const views = {
      slow: () => slowTable(/** @type {SlowCall[]} */ (items)),
      tasks: () => taskList(/** @type {Task[]} */ (items)),
      events: () =>
        h(
          'ul',
          null,
          /** @type {StoreEvent[]} */ (items).map(item => eventRow(item, Date.now())),
        ),
    };
    const none = {
      slow: 'No slow call was recorded',
      tasks: 'No task is running',
      events: 'No event was recorded',
    };
    const of = /** @type {'slow' | 'tasks' | 'events'} */ (kind);
    fill(
      body,
      items.length
        ? views[of]()
        : empty(none[of], table || least || event ? h('p', null, 'with these filters') : null),
    );
    fill(
      more,
      h(
        'span',
        null,
        `${num(items.length)} ${(kind === 'slow' ? 'calls' : kind).slice(0, items.length === 1 ? -1 : undefined)}`,
      ),
      next && button('More', () => load(next)),
      h('span', { class: 'grow' }),
      h(
        'span',
        { class: 'opt' },
        kind === 'slow' ? 'The same as get_slowlog_responses in the HBase shell' : '',
      ),
    );
  };
  const load = async (/** @type {string | null} */ after) => {
    const asked = kind;
    const { path, name, params } = request();
    try {
      /** @type {Record<string, any>} */
      const answer = await get(path, { ...params, next: after }, page.signal);
      if (asked !== kind) return;
      items = after ? [...items, ...answer[name]] : answer[name];
      next = answer.next || null;
      draw();
    } catch (error) {
      if (!isAbort(error) && asked === kind && !items.length) fill(body, failure(error, restart));
    }
  };
  const restart = () => {
    items = [];
    next = null;
    fill(body, loading());
    fill(more);
    drawControls();
    return load(null);
  };
  drawControls();
  page.poll(async () => {
    // A list that was extended is left as it is: new items would shift it.
    if (items.length <= 100) await load(null);
  });
}
