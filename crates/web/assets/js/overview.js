// Overview: vitals, findings, writes of all tables, servers, tasks and events.

import { fill, h } from './dom.js';
import { findingsOf, glyph, shapeName, showFix, splitChip } from './diagnosis.js';
import {
  NONE,
  bytes,
  clock,
  count,
  duration,
  factor,
  num,
  percent,
  rate,
  shortServer,
} from './format.js';
import { tableHref } from './place.js';
import { empty, into, loading, panel } from './states.js';
import { eventRow, taskRow } from './activity.js';
import { tableName } from './tablename.js';
import { thumbnail } from './ramp.js';
import { button, chip, meter, sparkline } from './widgets.js';

/**
 * @param {string} name
 * @param {string} value
 * @param {string} unit
 * @param {string} note
 * @param {Node | null} [picture]
 */
const vital = (name, value, unit, note, picture) =>
  h(
    'div',
    { class: 'vital' },
    h('dt', null, name),
    h('dd', null, value, unit && h('small', null, ` ${unit}`)),
    picture || h('span'),
    h('div', { class: 'note', title: note }, note),
  );

/** @param {Figure[]} values */
const sum = values =>
  values.every(value => value === null || value === undefined)
    ? null
    : values.reduce((/** @type {number} */ to, value) => to + (value || 0), 0);

/** Rates seen since the page was opened, for the sparkline. @type {Figure[]} */
const seen = [];

/** @param {ClusterAnswer} cluster */
function vitals(cluster) {
  const { servers } = cluster;
  const isAttached = cluster.mode === 'attached';
  const reads = sum(servers.map(server => server.reads_per_s));
  const writes = sum(servers.map(server => server.writes_per_s));
  const all = reads === null ? null : reads + (writes || 0);
  seen.push(all);
  if (seen.length > 60) seen.shift();
  const regions = sum(servers.map(server => server.regions));
  const memstore = sum(servers.map(server => server.memstore_bytes));
  const limit = sum(servers.map(server => server.memstore_limit_bytes));
  const p99 = Math.max(...servers.map(server => server.p99_ms ?? -1));
  const [size = '', unit = ''] = bytes(cluster.store_file_bytes).split(' ');
  const [held = '', heldUnit = ''] = bytes(memstore).split(' ');
  return h(
    'dl',
    { class: 'vitals' },
    vital(
      'Requests',
      num(all),
      '/s',
      `${rate(reads)} reads, ${rate(writes)} writes`,
      sparkline(cluster.requests_series || seen, '', 92, 26),
    ),
    vital(
      'p99',
      p99 < 0 ? NONE : duration(p99).split(' ')[0] || '',
      p99 < 0 ? '' : duration(p99).split(' ')[1] || '',
      p99 >= 0 ? 'slowest server' : isAttached ? 'not reported by HBase' : 'not measured here',
    ),
    vital(
      'Load lands on',
      factor(cluster.effective_servers).replace(/\.0$/, ''),
      `of ${servers.length} ${servers.length === 1 ? 'server' : 'servers'}`,
      servers.length === 1
        ? isAttached
          ? 'one region server'
          : 'standalone'
        : `busiest ${percent(busiest(servers))} of requests`,
    ),
    vital(
      'Regions',
      num(regions),
      '',
      cluster.regions_in_transition === null
        ? `${count(regions)} open`
        : `${num(cluster.regions_in_transition)} in transition`,
    ),
    vital('Requests since open', num(cluster.requests_total), '', 'reads and writes'),
    vital(
      'Store files',
      size,
      unit,
      cluster.store_files ? `${num(cluster.store_files)} files` : 'on disk',
    ),
    vital(
      'Memstore',
      held,
      limit ? `${heldUnit} of ${bytes(limit)}` : heldUnit,
      limit ? `${percent((memstore || 0) / limit)} full` : 'limit not reported',
      limit ? meter((memstore || 0) / limit, (memstore || 0) / limit > 0.85) : null,
    ),
  );
}

/** @param {ClusterAnswer['servers']} servers */
function busiest(servers) {
  const loads = servers.map(server => (server.reads_per_s || 0) + (server.writes_per_s || 0));
  return (
    Math.max(...loads) /
    Math.max(
      1e-9,
      loads.reduce((to, load) => to + load, 0),
    )
  );
}

/** @param {ClusterAnswer} cluster */
function serverTable(cluster) {
  const loads = cluster.servers.map(
    server => (server.reads_per_s || 0) + (server.writes_per_s || 0),
  );
  const all = Math.max(
    1e-9,
    loads.reduce((to, load) => to + load, 0),
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
        ['Server', 'Regions', 'Requests', '', 'p99', 'Memstore'].map((name, at) =>
          h('th', { class: at ? 'r' : null, scope: 'col' }, name),
        ),
      ),
    ),
    h(
      'tbody',
      null,
      cluster.servers.map((server, at) => {
        const full = server.memstore_limit_bytes
          ? (server.memstore_bytes || 0) / server.memstore_limit_bytes
          : null;
        const share = (loads[at] || 0) / all;
        const hot = cluster.servers.length > 1 && share > 1.5 / cluster.servers.length;
        return h(
          'tr',
          null,
          h(
            'td',
            { title: server.name },
            h('span', { class: (full || 0) > 0.85 || hot ? 'dot warn' : 'dot' }),
            ' ',
            server.name ? shortServer(server.name).replace(/:\d+$/, '') : 'this server',
          ),
          h('td', { class: 'r' }, num(server.regions)),
          h('td', { class: 'r' }, rate(server.reads_per_s === null ? null : loads[at])),
          h('td', { class: 'r' }, meter(share, hot)),
          h('td', { class: 'r' }, duration(server.p99_ms)),
          h('td', { class: 'r' }, full === null ? bytes(server.memstore_bytes) : percent(full)),
        );
      }),
    ),
  );
}

/** @param {Finding} finding @param {Map<string, TableRow>} tables */
function findingRow(finding, tables) {
  const row = tables.get(finding.table);
  return h(
    'li',
    { class: 'find' },
    h('span', { class: 'pic' }, row && row.thumb ? thumbnail(row, 82, 36) : glyph(finding.shape)),
    h(
      'div',
      null,
      h(
        'h3',
        null,
        h('a', { class: 't', href: tableHref(finding.table, 'heat') }, tableName(finding.table)),
        chip(
          shapeName(finding.shape),
          finding.severity === 'bad' ? 'bad' : finding.severity === 'warn' ? 'warn' : '',
        ),
        h('span', { class: 'faint' }, finding.rule),
        h('span', { class: 'grow' }),
        splitChip(finding),
      ),
      h('p', null, finding.text),
    ),
    finding.fix ? button('Fix', () => showFix(finding)) : h('span'),
  );
}

/** Writes of the tables with most of them, each as a strip. @param {TableRow[]} rows */
function strips(rows) {
  const most = rows
    .filter(row => row.thumb || row.writes_per_s)
    .sort((a, b) => (b.writes_per_s || 0) - (a.writes_per_s || 0))
    .slice(0, 17)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const all = Math.max(
    1e-9,
    rows.reduce((to, row) => to + (row.writes_per_s || 0), 0),
  );
  if (!most.length) return empty('No table was written in the last minutes');
  const drawn = most.some(row => row.thumb);
  return h(
    'ul',
    { class: 'strips' },
    most.map(row => {
      const share = (row.writes_per_s || 0) / all;
      const canvas = thumbnail(row, 0, 16);
      canvas.style.width = '100%';
      return h(
        'li',
        null,
        h(
          'a',
          {
            href: tableHref(row.name, drawn ? 'heat' : 'regions'),
            class: share > 0.5 ? 'mono strong' : 'mono',
          },
          tableName(row.name),
        ),
        drawn ? canvas : meter(share, share > 0.5 && most.length > 2),
        h('span', { class: 'r' }, rate(row.writes_per_s)),
        h('span', { class: 'r muted' }, percent(share)),
      );
    }),
  );
}

/** @param {Page} page */
export function show(page) {
  const link = (/** @type {string} */ text, /** @type {string} */ href) =>
    h('a', { class: 'link', href }, text);
  const top = h('div', { class: 'vitalhost' }, loading(2));
  const findings = panel(
    'Findings',
    'worst first, by the latency they cost',
    link('All tables with findings', '/tables?show=bad'),
  );
  const heat = panel('Writes of all tables', '', link('All tables', '/tables'));
  const servers = panel('Region servers', '');
  const tasks = panel('Running tasks', '', link('Task list', '/activity?show=tasks'));
  const events = panel('Events', '', link('All', '/activity?show=events'));
  page.root.classList.add('flow');
  page.root.append(
    top,
    h(
      'div',
      { class: 'over' },
      h('div', { class: 'col' }, findings.element, heat.element),
      h('div', { class: 'col' }, servers.element, tasks.element, events.element),
    ),
  );
  /** @type {Map<string, TableRow>} */
  const tables = new Map();
  const main = () =>
    into(page, top, '/api/cluster', {}, (/** @type {ClusterAnswer} */ cluster) => {
      fill(servers.body, serverTable(cluster));
      servers.notes.textContent =
        cluster.mode === 'attached' ? `HBase ${cluster.version}` : 'standalone';
      return vitals(cluster);
    });
  const loadTables = () =>
    into(
      page,
      heat.body,
      '/api/tables',
      { sort: '-writes_per_s', limit: 100, thumb: '180x8' },
      (/** @type {TablesAnswer} */ answer) => {
        answer.tables.forEach(row => tables.set(row.name, row));
        heat.notes.textContent = answer.tables.some(row => row.thumb)
          ? 'last 6 h, click opens the table'
          : `rates at ${clock(answer.as_of, true)}Z`;
        return strips(answer.tables);
      },
    );
  const loadFindings = () =>
    into(
      page,
      findings.body,
      '/api/diagnosis',
      {},
      (/** @type {DiagnosisAnswer} */ answer) => {
        const found = findingsOf(answer).filter(
          finding => finding.severity === 'bad' || finding.severity === 'warn',
        );
        if (!found.length)
          return empty('No findings', h('p', null, 'No table has a load that is uneven.'));
        return h(
          'ul',
          null,
          found.slice(0, 8).map(finding => findingRow(finding, tables)),
        );
      },
      'The shape of the load is not judged here',
    );
  const loadTasks = () =>
    into(page, tasks.body, '/api/tasks', {}, (/** @type {{tasks: Task[]}} */ answer) => {
      const running = answer.tasks.filter(task => task.state === 'RUNNING').slice(0, 6);
      return running.length
        ? h('ul', null, running.map(taskRow))
        : h('p', { class: 'nothing' }, 'No task is running.');
    });
  const loadEvents = () =>
    into(
      page,
      events.body,
      '/api/events',
      { limit: 10 },
      (/** @type {{events: StoreEvent[], as_of?: number}} */ answer) =>
        answer.events.length
          ? h(
              'ul',
              null,
              answer.events.slice(0, 10).map(event => eventRow(event, answer.as_of || Date.now())),
            )
          : h('p', { class: 'nothing' }, 'No event yet.'),
      'Events are not recorded here',
    );
  page.poll(main, [loadTables, loadFindings, loadTasks, loadEvents]);
}
