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

/** Kinds of lists: where each is, and what is said of it. */
const LISTS = {
  slow: { name: 'Slow calls', path: '/api/slow-log', items: 'calls', none: 'No slow call was recorded' },
  tasks: { name: 'Tasks', path: '/api/tasks', items: 'tasks', none: 'No task is running' },
  events: { name: 'Events', path: '/api/events', items: 'events', none: 'No event was recorded' },
};
/** @typedef {keyof typeof LISTS} ListKind */
const LIST_KINDS = /** @type {ListKind[]} */ (Object.keys(LISTS));
/** Items of one answer. */
const LIMIT = 100;

class ActivityPage {
  /** @param {Page} page @param {ListKind} first kind that is shown unless the address says more */
  constructor(page, first) {
    this.page = page;
    this.kind = /** @type {ListKind} */ (page.choice('show', LIST_KINDS, first));
    this.least = '';
    this.event = '';
    this.table = page.params.get('table') || '';
    /** @type {string | null} */
    this.next = null;
    /** @type {unknown[]} */
    this.items = [];
    this.body = h('div', { class: 'scrollbody' }, loading());
    this.more = h('div', { class: 'foot' });
    this.controls = h('span', { class: 'tools' });
    this.input = this.makeInput();
    page.root.append(
      h('div', { class: 'tools' }, this.tabs(first), this.controls),
      h('section', { class: 'panel grow column' }, this.body, this.more),
    );
    this.drawControls();
    page.poll(async () => {
      // A list that was extended is left as it is: new items would shift it.
      if (this.items.length <= LIMIT) await this.load(null);
    });
  }

  makeInput() {
    const input = h('input', {
      type: 'search',
      class: 'filter',
      placeholder: 'Table',
      value: this.table,
      'aria-label': 'Table',
      'data-filter': '',
      onchange: () => {
        this.table = input.value.trim();
        this.page.set({ table: this.table });
        this.restart();
      },
    });
    return input;
  }

  /** @param {ListKind} first */
  tabs(first) {
    const names = LIST_KINDS.map(kind => /** @type {[string, string]} */ ([kind, LISTS[kind].name]));
    return segments('Show', names, this.kind, value => {
      this.kind = /** @type {ListKind} */ (value);
      this.page.set({ show: value === first ? null : value });
      this.restart();
    });
  }

  drawControls() {
    fill(
      this.controls,
      this.kind !== 'tasks' && this.input,
      this.kind === 'slow' && this.leastControl(),
      this.kind === 'events' && this.eventControl(),
    );
  }

  leastControl() {
    return select(
      'Least duration',
      [
        ['', 'Any duration'],
        ['10', '\u2265 10 ms'],
        ['100', '\u2265 100 ms'],
        ['1000', '\u2265 1 s'],
      ],
      this.least,
      value => {
        this.least = value;
        this.restart();
      },
    );
  }

  eventControl() {
    return select(
      'Kind',
      [['', 'All kinds'], ...KINDS.map(name => /** @type {[string, string]} */ ([name, name]))],
      this.event,
      value => {
        this.event = value;
        this.restart();
      },
    );
  }

  /** Parameters of the request. @returns {Record<string, string | number | null>} */
  params() {
    const { kind, table } = this;
    if (kind === 'slow') return { table, min_ms: this.least, limit: LIMIT };
    if (kind === 'tasks') return {};
    const time = (/** @type {string} */ name) => this.page.params.get(name);
    return { table, kind: this.event, from: time('from'), to: time('to'), limit: LIMIT };
  }

  list() {
    const { items } = this;
    if (this.kind === 'slow') return slowTable(/** @type {SlowCall[]} */ (items));
    if (this.kind === 'tasks') return taskList(/** @type {Task[]} */ (items));
    const now = Date.now();
    return h(
      'ul',
      null,
      /** @type {StoreEvent[]} */ (items).map(item => eventRow(item, now)),
    );
  }

  draw() {
    const { kind, items } = this;
    const filtered = this.table || this.least || this.event;
    const none = () => empty(LISTS[kind].none, filtered ? h('p', null, 'with these filters') : null);
    fill(this.body, items.length ? this.list() : none());
    const plural = LISTS[kind].items;
    fill(
      this.more,
      h('span', null, `${num(items.length)} ${items.length === 1 ? plural.slice(0, -1) : plural}`),
      this.next && button('More', () => this.load(this.next)),
      h('span', { class: 'grow' }),
      h(
        'span',
        { class: 'opt' },
        kind === 'slow' ? 'The same as get_slowlog_responses in the HBase shell' : '',
      ),
    );
  }

  /** @param {string | null} after */
  async load(after) {
    const { kind } = this;
    const { path, items } = LISTS[kind];
    const params = { ...this.params(), next: after };
    try {
      /** @type {Record<string, any>} */
      const answer = await get(path, params, this.page.signal);
      if (kind !== this.kind) return;
      this.items = after ? [...this.items, ...answer[items]] : answer[items];
      this.next = answer.next || null;
      this.draw();
    } catch (error) {
      if (isAbort(error) || kind !== this.kind || this.items.length) return;
      fill(
        this.body,
        failure(error, () => this.restart()),
      );
    }
  }

  restart() {
    this.items = [];
    this.next = null;
    fill(this.body, loading());
    fill(this.more);
    this.drawControls();
    return this.load(null);
  }
}

/** @param {Page} page */
export async function show(page) {
  // HBase reports no slow calls to its master: the page of an attached cluster begins with events.
  /** @type {ClusterAnswer} */
  const cluster = page.cluster() || (await get('/api/cluster', {}, page.signal));
  new ActivityPage(page, cluster.mode === 'attached' ? 'events' : 'slow');
}
