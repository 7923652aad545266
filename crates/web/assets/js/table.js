// Frame of the pages of one table: its title, tabs and figures, and the diagnosis strip.

import { get, isAbort, ofTable, problemOf } from './api.js';
import { findingsOf, strip } from './diagnosis.js';
import { fill, h } from './dom.js';
import { bytes, num, rate } from './format.js';
import { TABLE_PAGES, tableHref } from './place.js';
import { empty, failure, showPage } from './states.js';
import { tableName } from './tablename.js';

/** @type {Record<string, () => Promise<{show: (page: TablePage) => void | Promise<void>}>>} */
const LOAD = {
  regions: () => import('./regions.js'),
  heat: () => import('./heatpage.js'),
  'hot-keys': () => import('./hotkeys.js'),
  rows: () => import('./rows.js'),
  'what-if': () => import('./whatif.js'),
  schema: () => import('./schema.js'),
};
/** Pages that the diagnosis strip heads. */
const WITH_STRIP = ['regions', 'heat', 'hot-keys'];

/** Facts of the table that was shown last, so that a change of the tab shows them at once. */
const last = {
  table: '',
  info: /** @type {TableAnswer | null} */ (null),
  findings: /** @type {Finding[]} */ ([]),
};

/** @param {Page} base @param {string} table @param {string} id @param {HTMLElement} sub */
export function openTable(base, table, id, sub) {
  const kind = TABLE_PAGES.find(page => page.id === id);
  if (last.table !== table) Object.assign(last, { table, info: null, findings: [] });
  document.title = `${table} \u00b7 ${kind ? kind.name : 'unknown page'} \u00b7 Halite`;
  drawBar(sub, table, id);
  if (!kind) {
    base.root.append(
      empty(
        'There is no such page of a table',
        h(
          'a',
          {
            class: 'link',
            href: tableHref(table, 'regions'),
          },
          'Regions',
        ),
      ),
    );
    return;
  }
  const onInfo = [() => drawBar(sub, table, id)];
  /** @type {((findings: Finding[]) => void)[]} */
  const onFindings = [];
  const head = h('div', { class: 'striphost', hidden: true });
  if (WITH_STRIP.includes(id)) base.root.append(head);
  const drawStrip = () => {
    drawBar(sub, table, id);
    const shown = strip(table, id, last.findings);
    head.hidden = !shown;
    fill(head, shown);
    onFindings.forEach(work => work(last.findings));
  };
  const loadInfo = async () => {
    try {
      last.info = await get(ofTable(table), {}, base.signal);
      onInfo.forEach(work => work());
    } catch (error) {
      if (isAbort(error)) return;
      if (problemOf(error).status === 404) unknownTable(base, table, error);
    }
  };
  const loadFindings = async () => {
    try {
      last.findings = findingsOf(await get(ofTable(table, '/diagnosis'), {}, base.signal));
    } catch (error) {
      if (isAbort(error) || problemOf(error).kind === 'gone') return;
      last.findings = [];
    }
    drawStrip();
  };
  const page = Object.assign(base, {
    table,
    info: () => last.info,
    findings: () => last.findings,
    onTable: (/** @type {(info: TableAnswer) => void} */ work) => {
      const run = () => {
        if (last.info) work(last.info);
      };
      onInfo.push(run);
      run();
    },
    onFindings: (/** @type {(findings: Finding[]) => void} */ work) => {
      onFindings.push(work);
      work(last.findings);
    },
  });
  const { poll } = base;
  page.poll = (main, slow) => poll(main, [loadInfo, loadFindings, ...(slow || [])]);
  if (last.findings.length) drawStrip();
  const load = LOAD[id];
  if (load) showPage(page, load);
}

/** @param {Page} page @param {string} table @param {unknown} error */
function unknownTable(page, table, error) {
  fill(
    page.root,
    failure(error),
    h(
      'p',
      { class: 'center' },
      h(
        'a',
        { class: 'link', href: `/tables?q=${encodeURIComponent(table)}` },
        'Tables with a like name',
      ),
      ' \u00b7 ',
      h('a', { class: 'link', href: '/tables' }, 'All tables'),
    ),
  );
}

/** @param {HTMLElement} sub @param {string} table @param {string} id */
function drawBar(sub, table, id) {
  const { info } = last;
  const bad = last.findings.some(
    finding => finding.severity === 'bad' || finding.severity === 'warn',
  );
  const fact = (/** @type {string} */ text, /** @type {string} */ unit, optional = false) =>
    h('span', { class: optional ? 'opt' : null }, h('b', null, text), ` ${unit}`);
  const tab = (/** @type {{id: string, name: string}} */ page) =>
    h(
      'a',
      {
        href: tableHref(table, page.id),
        'aria-current': page.id === id ? 'page' : null,
      },
      page.name,
      page.id === 'heat' && bad && h('span', { class: 'n', title: 'has a finding' }, '!'),
    );
  fill(
    sub,
    h(
      'div',
      { class: 'subhead' },
      h('h1', null, tableName(table)),
      h('nav', { class: 'tabs', 'aria-label': 'Pages of the table' }, TABLE_PAGES.map(tab)),
      info &&
        h(
          'div',
          { class: 'facts' },
          info.state === 'DISABLED' && h('span', { class: 'chip warn' }, 'disabled'),
          fact(num(info.regions), info.regions === 1 ? 'region' : 'regions'),
          info.rows !== null && info.rows !== undefined && fact(num(info.rows), 'rows', true),
          fact(bytes(info.size_bytes), '', true),
          fact(rate(info.reads_per_s), 'reads'),
          fact(rate(info.writes_per_s), 'writes'),
        ),
    ),
  );
  const current = sub.querySelector('.tabs [aria-current]');
  const tabs = sub.querySelector('.tabs');
  if (current instanceof HTMLElement && tabs) tabs.scrollLeft = current.offsetLeft - 60;
}
