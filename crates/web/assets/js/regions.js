// Regions of a table: a list of any length, with a ruler of the load beside its scroll bar.

import { get, isAbort, ofTable, problemOf, url } from './api.js';
import { fill, h } from './dom.js';
import { NONE, bytes, count, duration, factor, num, percent, rate, shortServer } from './format.js';
import { Age, Grid, ordersOf } from './grid.js';
import { keyView, ribbon } from './keys.js';
import { onPrefs } from './prefs.js';
import { rampColors } from './ramp.js';
import { openRegion, tableAction } from './region.js';
import { empty, failure, loading } from './states.js';
import {
  button,
  chip,
  debounce,
  dialog,
  keyFormControl,
  meter,
  select,
  sparkline,
} from './widgets.js';

/** Number of regions above which a share says nothing and the multiple of the mean is shown. */
const MANY = 500;
/** Lists up to this length are asked for as a whole for ruler and groups. */
const WHOLE = 1000;

/** @param {Region} region */
export const isHot = region => (region.share_of_mean || 0) >= 4 && (region.share || 0) > 0.05;

/** @param {Region} region */
export function stateChip(region) {
  const [badge] = region.badges || [];
  if (badge) return chip(badge.replaceAll('_', ' '), 'bad');
  const { compaction } = region;
  if (compaction) {
    const part = typeof compaction === 'object' ? compaction.progress : null;
    return chip(part === null || part === undefined ? 'compact' : `compact ${percent(part)}`);
  }
  if (region.state !== 'OPEN') return chip(region.state.toLowerCase(), 'warn');
  return h('span', { class: 'muted' }, 'open');
}

/** @param {Region} region */
const total = region =>
  region.reads_per_s === null && region.writes_per_s === null
    ? null
    : (region.reads_per_s || 0) + (region.writes_per_s || 0);

class RegionPage {
  /** @param {TablePage} page */
  constructor(page) {
    this.page = page;
    this.q = page.params.get('q') || '';
    this.group = page.choice('group', ['server', 'salt', 'state'], '');
    this.asOf = 0;
    this.busy = false;
    this.tableRegions = 0;
    /** @type {number[]} */
    this.load = [];
    this.age = new Age(page.signal);
    this.said = h('span');
    this.grid = this.makeGrid();
    this.ruler = this.makeRuler();
    this.ribbon = h('span', { class: 'ribbonhost' });
    page.root.append(this.tools(), this.grid.element);
    this.grid.state(loading());
    fill(
      this.grid.foot,
      this.said,
      h('span', { class: 'opt' }, 'Rates: last 10 s, sparklines 10 min, p99: last minute, rows: estimate'),
      h('span', { class: 'grow' }),
      this.age.element,
    );
    page.onTable(info => {
      this.schema = info.row_key;
      fill(this.ribbon, ribbon(info.row_key));
      this.grid.draw();
    });
    this.start = Math.max(0, Number(page.params.get('at')) || 0);
    this.grid.onDraw = debounce(400, () => {
      const first = this.grid.scroll.scrollTop ? this.grid.range?.first || 0 : 0;
      if (this.asOf && !this.start) page.set({ at: first || null });
    });
    page.poll(() => this.reload(), [() => this.reloadWhole()]);
    const asked = page.params.get('region');
    if (asked) this.open(asked);
  }

  makeGrid() {
    const columns = this.columns();
    /** @type {Grid<Region>} */
    const grid = new Grid({
      label: `Regions of ${this.page.table}`,
      signal: this.page.signal,
      sort: this.page.choice('sort', ordersOf(columns), 'start_key'),
      columns,
      onSort: sort => {
        this.page.set({ sort: sort === 'start_key' ? null : sort, at: null });
        this.restart();
      },
      onOpen: region => this.open(region.encoded_name),
      onNeed: (first, last) => this.need(first, last),
      rowClass: region => (isHot(region) ? 'hot' : ''),
      card: region => this.card(region),
    });
    return grid;
  }

  /** @returns {Column<Region>[]} */
  columns() {
    return [...this.keyColumns(), ...this.loadColumns(), ...this.storeColumns()];
  }

  /** @returns {Column<Region>[]} */
  keyColumns() {
    const key = (/** @type {Key} */ value, /** @type {string} */ none) =>
      keyView(value, { schema: this.schema, none });
    return [
      {
        id: 'name',
        name: 'Name',
        width: '92px',
        sort: 'name',
        cell: r => h('span', { class: 'mono', title: r.name }, r.encoded_name.slice(0, 12)),
      },
      {
        id: 'server',
        name: 'Region server',
        width: '82px',
        sort: 'server',
        cell: r => h('span', { title: r.server }, shortServer(r.server)),
      },
      {
        id: 'start',
        name: 'Start key',
        width: 'minmax(128px, 1.3fr)',
        sort: 'start_key',
        cell: r => key(r.start_key, '(first)'),
      },
      {
        id: 'end',
        name: 'End key',
        width: 'minmax(128px, 1.3fr)',
        sort: 'end_key',
        cell: r => key(r.end_key, '(last)'),
      },
    ];
  }

  /** @returns {Column<Region>[]} */
  loadColumns() {
    const spark = (
      /** @type {Figure[] | undefined} */ series,
      /** @type {string} */ look,
      /** @type {Figure} */ value,
    ) => h('span', { class: 'sp' }, series ? sparkline(series, look) : h('span'), num(value));
    return [
      {
        id: 'locality',
        name: 'Locality',
        width: '50px',
        right: true,
        sort: 'locality',
        cell: r =>
          h('span', { class: (r.locality ?? 1) < 0.9 ? 'strong' : 'muted' }, percent(r.locality)),
      },
      {
        id: 'requests',
        name: 'Requests',
        width: '70px',
        right: true,
        sort: 'requests_total',
        cell: r =>
          h(
            'span',
            { title: `${r.read_requests_total} reads, ${r.write_requests_total} writes` },
            count(r.requests_total),
          ),
      },
      {
        id: 'reads',
        name: 'Reads/s',
        width: '78px',
        right: true,
        sort: 'reads_per_s',
        from: 760,
        cell: r => spark(r.reads_series, '', r.reads_per_s),
      },
      {
        id: 'writes',
        name: 'Writes/s',
        width: '80px',
        right: true,
        sort: 'writes_per_s',
        from: 850,
        cell: r => spark(r.writes_series, 'w', r.writes_per_s),
      },
      {
        id: 'p99',
        name: 'p99',
        width: '54px',
        right: true,
        sort: 'p99_ms',
        from: 1000,
        cell: r => h('span', { class: (r.p99_ms || 0) >= 5 ? 'strong' : null }, duration(r.p99_ms)),
      },
      {
        id: 'rows',
        name: 'Rows',
        width: '50px',
        right: true,
        sort: 'rows',
        from: 1060,
        cell: r => h('span', { title: 'An estimate' }, num(r.rows)),
      },
    ];
  }

  /** @returns {Column<Region>[]} */
  storeColumns() {
    return [
      {
        id: 'size',
        name: 'Size',
        width: '58px',
        right: true,
        sort: 'size_bytes',
        from: 1120,
        cell: r => bytes(r.size_bytes),
      },
      {
        id: 'files',
        name: 'Files',
        width: '32px',
        right: true,
        sort: 'store_files',
        from: 1180,
        cell: r => num(r.store_files),
      },
      {
        id: 'memstore',
        name: 'Memstore',
        width: '60px',
        right: true,
        sort: 'memstore_bytes',
        from: 1500,
        cell: r => bytes(r.memstore_bytes),
      },
      {
        id: 'compaction',
        name: 'Compaction',
        width: '76px',
        from: 1500,
        cell: r =>
          r.compaction
            ? (typeof r.compaction === 'string' ? r.compaction : r.compaction.kind)
                .toLowerCase()
                .replaceAll('_', ' ')
            : NONE,
      },
      {
        id: 'share',
        name: 'Share',
        width: '86px',
        right: true,
        sort: 'share',
        from: 940,
        cell: r =>
          h(
            'span',
            { class: 'sp' },
            meter(r.share, isHot(r)),
            h('span', { class: 'v' }, this.share(r)),
          ),
      },
      { id: 'state', name: 'State', width: '100px', from: 900, cell: r => stateChip(r) },
    ];
  }

  /** @param {Region} region */
  share(region) {
    if (this.tableRegions <= MANY) return percent(region.share, (region.share || 0) < 0.2 ? 1 : 0);
    return region.share_of_mean === null ? NONE : `${factor(region.share_of_mean)} \u00d7`;
  }

  /** @param {Region} r */
  card(r) {
    const server = shortServer(r.server).split(':')[0];
    return [
      h(
        'div',
        null,
        keyView(r.start_key, { schema: this.schema, none: '(first)' }),
        h(
          'div',
          { class: 'sub' },
          'to ',
          keyView(r.end_key, { schema: this.schema, none: '(last)' }),
        ),
        h(
          'div',
          { class: 'sub' },
          `${server} \u00b7 ${count(r.requests_total)} requests \u00b7 locality ${percent(r.locality)}`,
        ),
      ),
      h(
        'div',
        { class: 'nums' },
        h(
          'div',
          { class: 'num' },
          sparkline(r.writes_series, 'w', 46),
          h('b', null, rate(total(r))),
        ),
        h('div', { class: 'num' }, meter(r.share, isHot(r)), this.share(r)),
        h('div', { class: 'num' }, stateChip(r)),
      ),
    ];
  }

  tools() {
    /** @type {HTMLInputElement} */
    const filter = h('input', {
      type: 'search',
      placeholder: 'Filter: text, key, server',
      value: this.q,
      'data-filter': '',
      class: 'filter',
      'aria-label': 'Filter regions',
      spellcheck: 'false',
      oninput: debounce(250, () => this.filterBy(filter.value.trim())),
    });
    this.filter = filter;
    /** @type {[string, string][]} */
    const groups = [
      ['', 'No groups'],
      ['server', 'By server'],
      ['salt', 'By salt'],
      ['state', 'By state'],
    ];
    return h(
      'div',
      { class: 'tools' },
      filter,
      h(
        'label',
        { class: 'field' },
        h('span', { class: 'onlywide' }, 'Group'),
        select('Group', groups, this.group, value => {
          this.group = value;
          this.page.set({ group: value });
          this.restart();
        }),
      ),
      keyFormControl(),
      this.ribbon,
      h('span', { class: 'grow' }),
      button(
        'CSV',
        () => location.assign(url(ofTable(this.page.table, '/regions.csv'), this.query())),
        { icon: 'save', title: 'All regions of the list as CSV' },
      ),
      button('Table actions', () => this.actions(), { icon: 'down', class: 'trail' }),
    );
  }

  actions() {
    const { page } = this;
    const act = (/** @type {string} */ verb, /** @type {object} */ body) => () => {
      box.close();
      tableAction(page.table, verb, body, () => this.refresh());
    };
    const box = dialog(`Actions on ${page.table}`, [
      h('p', { class: 'muted' }, 'Each shows first what it would do.'),
      h(
        'div',
        { class: 'stack' },
        button('Flush all regions', act('flush', {}), { icon: 'flush' }),
        button('Compact all regions', act('compact', {}), { icon: 'compaction' }),
        button('Major compaction', act('compact', { major: true }), { icon: 'compaction' }),
      ),
    ]);
  }

  /** @param {string} text */
  filterBy(text) {
    this.q = text;
    if (this.filter && this.filter.value.trim() !== text) this.filter.value = text;
    this.page.set({ q: text });
    this.restart();
  }

  query() {
    return { q: this.q, sort: this.grid.sort, group: this.group };
  }

  restart() {
    this.grid.rows.clear();
    this.grid.scroll.scrollTop = 0;
    this.load = [];
    this.refresh();
  }

  async refresh() {
    await this.reload();
    await this.reloadWhole().catch(() => {});
  }

  /** Asks for the rows in view again, as a new list. */
  async reload() {
    const { first = 0, last = 40 } = this.start
      ? { first: this.start, last: this.start + 40 }
      : this.grid.range || {};
    await this.ask(Math.max(0, first - 10), Math.max(50, last - first + 25), true);
  }

  /** @param {number} first @param {number} last */
  need(first, last) {
    if (this.asOf && !this.busy)
      this.ask(Math.max(0, first - 20), Math.min(WHOLE, last - first + 60), false);
  }

  /** @param {number} offset @param {number} limit @param {boolean} anew */
  async ask(offset, limit, anew) {
    const { grid, page } = this;
    if (this.busy && !anew) return;
    const serial = (this.serial = (this.serial || 0) + 1);
    this.busy = true;
    try {
      const params = {
        ...this.query(),
        offset,
        limit,
        series: 1,
        ruler: 600,
        as_of: anew ? null : this.asOf,
      };
      /** @type {RegionsAnswer} */
      const answer = await get(ofTable(page.table, '/regions'), params, page.signal);
      if (serial !== this.serial) return;
      this.take(answer, offset, anew);
    } catch (error) {
      if (isAbort(error) || serial !== this.serial) return;
      const problem = problemOf(error);
      if (problem.kind === 'conflict' && !anew) setTimeout(() => this.reload());
      else if (problem.status === 404) throw error;
      else if (!grid.total) grid.state(failure(error, () => this.refresh()));
    } finally {
      if (serial === this.serial) this.busy = false;
    }
    if (serial === this.serial) grid.draw();
  }

  /** @param {RegionsAnswer} answer @param {number} offset @param {boolean} anew */
  take(answer, offset, anew) {
    const { grid } = this;
    if (anew) grid.rows.clear();
    answer.regions.forEach((region, at) => grid.rows.set(offset + at, region));
    this.asOf = answer.as_of;
    this.tableRegions = answer.table_regions ?? answer.total;
    if (answer.ruler) this.load = answer.ruler;
    const groups =
      this.group && answer.groups
        ? answer.groups.map(group => ({ at: group.offset, view: groupView(group) }))
        : null;
    grid.setTotal(answer.total, groups || (this.group ? grid.groups : []));
    this.age.now(answer.as_of);
    if (this.start) {
      grid.reveal(Math.min(this.start + 4, answer.total - 1), true);
      this.start = 0;
    }
    fill(this.said, h('b', null, count(answer.total)), ` of ${count(this.tableRegions)} regions`);
    const none = answer.total === 0 && this.q;
    grid.state(
      none
        ? empty(
            `No region fits "${this.q}"`,
            button('Clear the filter', () => this.filterBy('')),
          )
        : null,
    );
    this.drawRuler();
  }

  /** Asks for all rows of a short list, for what needs all: the ruler and the totals of groups. */
  async reloadWhole() {
    if (this.grid.total > WHOLE || !this.grid.total) return;
    /** @type {RegionsAnswer} */
    const answer = await get(
      ofTable(this.page.table, '/regions'),
      { ...this.query(), limit: WHOLE },
      this.page.signal,
    );
    if (!answer.ruler) this.load = answer.regions.map(region => region.share_of_mean || 0);
    if (this.group && !answer.groups) this.grid.setTotal(answer.total, groupsOf(answer.regions));
    this.drawRuler();
  }

  makeRuler() {
    const canvas = h('canvas');
    const ruler = h('div', { class: 'ruler', 'aria-hidden': 'true' }, canvas);
    const jump = (/** @type {PointerEvent} */ event) => {
      if (event.type === 'pointermove' && !event.buttons) return;
      const box = ruler.getBoundingClientRect();
      const part = (event.clientY - box.top) / Math.max(1, box.height);
      this.grid.reveal(
        Math.max(0, Math.min(this.grid.total - 1, Math.floor(part * this.grid.total))),
        true,
      );
    };
    ruler.addEventListener('pointerdown', jump);
    ruler.addEventListener('pointermove', jump);
    this.grid.element.append(ruler);
    onPrefs(() => this.drawRuler(), this.page.signal);
    new ResizeObserver(() => this.drawRuler()).observe(ruler);
    return canvas;
  }

  drawRuler() {
    const canvas = this.ruler;
    const box = canvas?.parentElement;
    const context = canvas?.getContext('2d');
    if (!canvas || !box || !context) return;
    const height = Math.max(1, box.clientHeight);
    canvas.width = 1;
    canvas.height = height;
    const { load } = this;
    const colors = rampColors();
    const top = Math.max(20, ...load);
    for (let y = 0; y < height && load.length; y++) {
      const first = Math.floor((y / height) * load.length);
      const last = Math.max(first + 1, Math.floor(((y + 1) / height) * load.length));
      let most = 0;
      for (let at = first; at < last; at++) most = Math.max(most, load[at] || 0);
      context.fillStyle = colors(most, 1 / 3, top);
      context.fillRect(0, y, 1, 1);
    }
  }

  /** @param {string} encoded */
  open(encoded) {
    this.page.set({ region: encoded });
    openRegion(this.page, encoded, this.schema || null, this.grid.element, () => this.refresh());
  }
}

/**
 * @param {Omit<RegionGroup, 'offset'>} group
 */
function groupView(group) {
  const share = group.share || 0;
  return h(
    'div',
    { class: 'group', role: 'row' },
    h('b', { role: 'gridcell' }, group.name.split(',').slice(0, 2).join(':') || NONE),
    h('span', { class: 'muted' }, `${count(group.regions)} regions`),
    h('span', null, `${num(group.reads_per_s)} reads/s`),
    h('span', null, `${num(group.writes_per_s)} writes/s`),
    h('span', { class: 'onlywide' }, bytes(group.size_bytes)),
    meter(share, share > 0.5),
    h('span', null, percent(share)),
  );
}

/** @param {Region[]} regions @returns {{at: number, view: HTMLElement}[]} */
function groupsOf(regions) {
  /** @type {{at: number, view: HTMLElement}[]} */
  const out = [];
  for (let at = 0; at < regions.length;) {
    const name = regions[at]?.group || '';
    /** @type {Region[]} */
    const part = [];
    for (const region of regions.slice(at)) {
      if ((region.group || '') !== name) break;
      part.push(region);
    }
    const sum = (/** @type {(r: Region) => Figure} */ of) =>
      part.reduce((to, region) => to + (of(region) || 0), 0);
    out.push({
      at,
      view: groupView({
        name,
        regions: part.length,
        reads_per_s: sum(r => r.reads_per_s),
        writes_per_s: sum(r => r.writes_per_s),
        size_bytes: sum(r => r.size_bytes),
        share: sum(r => r.share),
      }),
    });
    at += Math.max(1, part.length);
  }
  return out;
}

/** @param {TablePage} page */
export function show(page) {
  new RegionPage(page);
}
