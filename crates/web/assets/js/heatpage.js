// Heat map of a table: where in its keys the load is, over time. The address holds its state.

import { isAbort, problemOf } from './api.js';
import { fill, h } from './dom.js';
import { clock, escaped } from './format.js';
import { CellCard, cellSentence } from './heatcell.js';
import { HeatModel, METRICS, loadHeat } from './heatdata.js';
import { Legend, RANGES, RangeBar } from './heatlegend.js';
import { RECORDED, heatTools } from './heattools.js';
import { HeatView } from './heatview.js';
import { planHref, tableHref } from './place.js';
import { isPhone, onPrefs } from './prefs.js';
import { empty, failure, loading } from './states.js';
import { announce, button, copy, iconButton, linkButton, toast } from './widgets.js';

/** @typedef {{i: number, c: number}} Cell */

/** Parameters of the address that the server judges. */
const ASKED = ['order', 'k0', 'k1', 'from', 'to'];
/** A new table has nothing older. */
const DEFAULT_RANGE = '10m';

export class HeatPage {
  /** @param {TablePage} page */
  constructor(page) {
    this.page = page;
    const { params } = page;
    this.metric = page.choice('metric', RECORDED, 'writes');
    this.order = params.get('order') || 'physical';
    this.scale = page.choice('scale', ['region', 'rows', 'bytes', 'load'], 'region');
    this.unit = page.choice('unit', ['s', 'row', 'mb'], 's');
    this.range = page.choice(
      'range',
      RANGES.map(([id]) => id),
      DEFAULT_RANGE,
    );
    this.from = Number(params.get('from')) || 0;
    this.to = Number(params.get('to')) || 0;
    if (this.to <= this.from) {
      if (params.has('from') || params.has('to')) this.withdraw('The times are not in order');
      this.from = this.to = 0;
    }
    this.brightness = Math.max(-2, Math.min(6, Number(params.get('brightness')) || 0));
    const [knee = 0, top = 0] = (params.get('lock') || '').split(',').map(Number);
    this.lock = knee > 0 && top > knee ? { knee, top } : null;
    this.diff = params.get('diff') === '1';
    this.live = !this.from;
    /** @type {Heat | null} */
    this.heat = null;
    /** @type {Heat | null} */
    this.before = null;
    this.speed = 600;
    this.due = 0;
    this.host = h('div', { class: 'map' });
    this.view = new HeatView(this.host, { names: level => this.levelName(level) });
    this.card = new CellCard(page);
    this.pinCard = new CellCard(page);
    this.tip = h(
      'div',
      { class: 'tip', hidden: true },
      this.card.element,
      h(
        'div',
        { class: 'tipfoot' },
        h('span', null, 'Click pins'),
        h('span', null, 'Drag zooms'),
        h('span', null, h('kbd', null, 'c'), ' copies key'),
      ),
    );
    this.side = h('aside', { class: 'side', hidden: true, 'aria-label': 'Pinned cell' });
    this.state = h('div', { class: 'over-state heatstate' }, loading(12));
    this.legend = new Legend(this.brightness, value => {
      this.brightness = value;
      this.page.set({ brightness: value || null });
      this.restyle();
    });
    this.bar = new RangeBar(page, (from, to, preset) => this.choose(from, to, preset));
    this.wrap = h('div', { class: 'mapwrap' }, this.host, this.side, this.state);
    this.toolbar = h('div', { class: 'tools' });
    this.build();
    page.poll(() => this.tick(), [() => this.loadBar()]);
  }

  build() {
    const { page } = this;
    page.root.append(this.toolbar, this.wrap, this.bar.element);
    document.body.append(this.tip);
    page.signal.addEventListener('abort', () => {
      this.tip.remove();
      this.stop();
    });
    this.drawTools();
    page.onTable(() => {
      this.drawTools();
      this.view.draw();
    });
    onPrefs(() => {
      this.view.draw();
      if (this.model) this.legend.show(this.model);
    }, page.signal);
    const observer = new ResizeObserver(() => this.view.draw());
    observer.observe(this.host);
    page.signal.addEventListener('abort', () => observer.disconnect());
    this.listen();
  }

  /** @param {number} level */
  levelName(level) {
    if (this.order.startsWith('pivot:')) return level === 0 ? this.order.slice(6) : '';
    const fields = this.page.info()?.row_key?.fields || [];
    const shown = this.order === 'unsalted' ? fields.filter(field => !field.derived) : fields;
    return shown[level]?.name || (level === 0 ? 'row key' : '');
  }

  drawTools() {
    fill(this.toolbar, heatTools(this));
  }

  /** @param {string} value */
  rescale(value) {
    this.scale = value;
    this.page.set({ scale: value === 'region' ? null : value });
    this.restyle();
  }

  /** @param {string} value */
  reunit(value) {
    this.unit = value;
    this.page.set({ unit: value === 's' ? null : value });
    this.restyle();
  }

  /** @param {string} form */
  async save(form) {
    const { exportHeat } = await import('./heatexport.js');
    exportHeat(this.view, `${this.page.table.replace(/[^\w.-]/g, '-')}-${this.metric}`, form);
  }

  /** @param {{metric?: string}} to */
  change(to) {
    if (to.metric) this.metric = to.metric;
    this.page.set({ metric: this.metric === 'writes' ? null : this.metric });
    this.load();
  }

  /** @param {string} order */
  reorder(order) {
    this.order = order;
    if (order !== 'physical') {
      if (this.scale !== 'load') this.scale = 'region';
      this.unit = 's';
    }
    this.page.set({
      order: order === 'physical' ? null : order,
      scale: this.scale === 'region' ? null : this.scale,
      unit: this.unit === 's' ? null : this.unit,
      k0: null,
      k1: null,
      cell: null,
    });
    this.unpin();
    this.drawTools();
    this.load();
  }

  /** @param {number} from @param {number} to @param {string} preset */
  choose(from, to, preset) {
    if (preset) this.range = preset;
    this.from = preset ? 0 : Math.round(from);
    this.to = preset ? 0 : Math.round(to);
    this.live = Boolean(preset);
    this.page.set(
      {
        range: preset && preset !== DEFAULT_RANGE ? preset : preset ? null : this.range,
        from: this.from || null,
        to: this.to || null,
        cell: null,
      },
      !preset,
    );
    this.drawTools();
    this.load();
  }

  get span() {
    return (RANGES.find(([id]) => id === this.range) || ['', 21600e3])[1];
  }

  /** @returns {number} */
  get now() {
    return Date.now() + (this.skew || 0);
  }

  get period() {
    return this.from
      ? { from: this.from, to: this.to }
      : { from: this.now - this.span, to: this.now };
  }

  async tick() {
    if (this.heat && (!this.live || this.now < this.due)) return;
    await this.load(true);
  }

  /**
   * @param {boolean} [quiet] keeps the picture until the answer is there
   * @returns {Promise<void>}
   */
  async load(quiet) {
    const { page } = this;
    if (!quiet) this.wrap.classList.add('waits');
    const serial = (this.serial = (this.serial || 0) + 1);
    const { from, to } = this.period;
    const params = {
      metric: this.metric,
      order: this.order,
      k0: page.params.get('k0'),
      k1: page.params.get('k1'),
      scale: this.scale,
      rows: Math.min(1024, Math.max(16, Math.round(this.host.clientHeight || 600))),
      cols: Math.min(1024, Math.max(32, Math.round(this.host.clientWidth || 1000))),
    };
    try {
      const heat = await loadHeat(
        page.table,
        { ...params, from: Math.round(from), to: Math.round(to) },
        page.signal,
      );
      const before = this.diff
        ? await loadHeat(
            page.table,
            { ...params, from: heat.h.from - (heat.h.to - heat.h.from), to: heat.h.from },
            page.signal,
          )
        : null;
      if (serial !== this.serial) return;
      this.heat = heat;
      this.before = before;
      if (heat.h.as_of) this.skew = heat.h.as_of - Date.now();
      // The next column closes then; coarse ones fill up meanwhile.
      const closes = heat.h.to > this.now ? heat.h.to : heat.h.to + heat.h.dt_ms;
      this.due = Math.min(closes + 500, this.now + 60e3);
      this.restyle();
      this.restore();
    } catch (error) {
      if (isAbort(error) || serial !== this.serial) return;
      const problem = problemOf(error);
      if (problem.kind === 'gone' && this.heat) return;
      if (problem.kind === 'fix_request' && this.isAsked) {
        this.withdraw(problem.message);
        this.order = 'physical';
        this.from = this.to = 0;
        this.live = true;
        this.drawTools();
        return this.load(quiet);
      }
      this.heat = null;
      this.message(failure(error, () => this.load(), 'No heat is recorded for this table'));
    } finally {
      if (serial === this.serial) this.wrap.classList.remove('waits');
    }
  }

  /** Whether the address says more than a metric: some of it may not be known. */
  get isAsked() {
    return ASKED.some(name => this.page.params.has(name));
  }

  /** Takes what the server judges out of the address. @param {string} why */
  withdraw(why) {
    toast(`${why}: the address is not valid, and the defaults are used`);
    this.page.set(Object.fromEntries(ASKED.map(name => [name, null])));
  }

  async loadBar() {
    try {
      const now = Math.round(this.now);
      const heat = await loadHeat(
        this.page.table,
        { metric: this.metric, from: now - 3024000e3, to: now, rows: 1, cols: 840 },
        this.page.signal,
      );
      this.bar.show(heat.h, heat.max);
    } catch (error) {
      if (!isAbort(error)) console.warn(problemOf(error).message);
    }
  }

  /** @param {HTMLElement | null} view */
  message(view) {
    this.state.hidden = !view;
    fill(this.state, view);
  }

  restyle() {
    const { heat } = this;
    if (!heat) return;
    if (!heat.h.cols || !heat.h.rows) return this.noColumn(heat.h);
    this.message(null);
    const model = (this.model = new HeatModel(heat, {
      scale: this.scale,
      unit: this.unit,
      brightness: this.brightness,
      lock: this.lock,
      before: this.diff ? this.before : null,
    }));
    this.view.show(model);
    this.legend.show(model);
    if (model.diff && model.shown.every(value => Number.isNaN(value))) this.nothingBefore();
    this.bar.view(heat.h.from, heat.h.to, this.now);
    this.view.over.setAttribute(
      'aria-label',
      `Heat map of ${this.page.table}: ${model.metric.name}, ${model.rows} key ranges, ` +
        `${model.cols} columns from ${clock(heat.h.from)} to ${clock(heat.h.to)}. ` +
        'Arrows move, Enter pins, t shows values as a table, Tab leaves.',
    );
  }

  nothingBefore() {
    this.message(
      empty(
        'Nothing to compare with',
        h('p', null, 'The period before this one was not recorded, or had other values.'),
        button('Show the values', () => this.toggleDiff()),
      ),
    );
  }

  /** @param {HeatHeader} header */
  noColumn(header) {
    const at = header.next_column_at || Math.ceil((this.now + 1) / 10e3) * 10e3;
    const left = Math.max(0, Math.ceil((at - this.now) / 1e3));
    this.message(
      empty(
        `The first column closes in ${left} s`,
        h('p', null, 'A column is made every ten seconds after the first request.'),
      ),
    );
    setTimeout(() => {
      if (this.page.signal.aborted || this.heat?.h !== header) return;
      if (left > 1) this.noColumn(header);
      else this.load(true);
    }, 1000);
  }

  /** Finds the cell of the address in a new picture. */
  restore() {
    const { model, view } = this;
    const [, time, hex = ''] = /^(-?\d+),([^]*)$/.exec(this.page.params.get('cell') || '') || [];
    if (!model || !time) return;
    const c = Math.floor((Number(time) - model.h.from) / model.h.dt_ms);
    const i = model.h.row.findIndex(row => rowId(row) === hex);
    if (c < 0 || c >= model.cols || i < 0) {
      view.pinned = null;
      return view.drawOver();
    }
    this.pin({ i, c }, true);
  }

  listen() {
    const { view } = this;
    const { over } = view;
    /** @type {{x: number, y: number, id: number} | null} */
    let down = null;
    over.addEventListener('pointermove', event => {
      const { offsetX: x, offsetY: y } = event;
      if (down && Math.hypot(x - down.x, y - down.y) > 6 && event.pointerType !== 'touch')
        this.dragTo(down, x, y);
      if (view.drag) return;
      const cell = view.at(x, y);
      this.hover(cell, event.clientX, event.clientY);
      over.title = cell ? '' : this.eventAt(x, y);
    });
    over.addEventListener('pointerdown', event => {
      down = { x: event.offsetX, y: event.offsetY, id: event.pointerId };
      if (event.pointerType !== 'touch') over.setPointerCapture(event.pointerId);
    });
    over.addEventListener('pointerup', event => {
      if (view.drag) this.brush();
      else if (down) {
        const cell = view.at(event.offsetX, event.offsetY);
        if (cell) this.pin(cell);
      }
      down = null;
    });
    over.addEventListener('pointerleave', () => this.hover(null, 0, 0));
    over.addEventListener('blur', () => this.hover(null, 0, 0));
    over.addEventListener('keydown', event => this.key(event));
  }

  /**
   * Text of the mark under the pointer in the lane of events.
   * @param {number} x
   * @param {number} y
   */
  eventAt(x, y) {
    const { view, model } = this;
    if (!model || y >= view.box.y) return '';
    const near = (model.h.events || []).filter(event => Math.abs(view.x(event.at) - x) < 7);
    return near.map(event => `${clock(event.at, true)}Z ${event.kind}: ${event.text}`).join('\n');
  }

  /** @param {{x: number, y: number}} from @param {number} x @param {number} y */
  dragTo(from, x, y) {
    const { view } = this;
    const { box } = view;
    const into = (
      /** @type {number} */ value,
      /** @type {number} */ low,
      /** @type {number} */ size,
    ) => Math.max(low, Math.min(low + size, value));
    view.drag = {
      x0: into(from.x, box.x, box.w),
      y0: into(from.y, box.y, box.h),
      x1: into(x, box.x, box.w),
      y1: into(y, box.y, box.h),
    };
    // A drag along one axis zooms that axis alone.
    if (Math.abs(x - from.x) < 8) Object.assign(view.drag, { x0: box.x, x1: box.x + box.w });
    if (Math.abs(y - from.y) < 8) Object.assign(view.drag, { y0: box.y, y1: box.y + box.h });
    this.tip.hidden = true;
    view.cursor = null;
    view.drawOver();
  }

  brush() {
    const { view, model } = this;
    const { drag } = view;
    if (!model || !drag) return;
    view.drag = null;
    const { box } = view;
    const column = (/** @type {number} */ x) => ((x - box.x) / box.w) * model.cols;
    const c0 = Math.floor(column(Math.min(drag.x0, drag.x1)));
    const c1 = Math.ceil(column(Math.max(drag.x0, drag.x1)));
    const i0 = model.rowAt((Math.min(drag.y0, drag.y1) - box.y) / box.h);
    const i1 = model.rowAt((Math.max(drag.y0, drag.y1) - box.y - 0.5) / box.h) + 1;
    this.zoom(c0, c1, i0, i1);
  }

  /** @param {number} c0 @param {number} c1 @param {number} i0 @param {number} i1 */
  zoom(c0, c1, i0, i1) {
    const { model } = this;
    if (!model) return;
    [c0, i0] = [Math.max(0, c0), Math.max(0, i0)];
    const inTime = c0 > 0 || c1 < model.cols;
    const inKeys = i0 > 0 || i1 < model.rows;
    if (!inTime && !inKeys) return;
    if (inTime || this.from) {
      this.from = model.timeOf(c0);
      this.to = model.timeOf(Math.min(model.cols, Math.max(c0 + 1, c1)));
      this.live = false;
    }
    /** @type {Record<string, string | number | null>} */
    const values = { from: this.from || null, to: this.to || null, cell: null };
    if (inKeys && this.order === 'physical') {
      values.k0 = model.h.row[i0]?.start.hex || null;
      values.k1 = model.h.row[Math.min(model.rows, i1) - 1]?.end.hex || null;
    } else if (inKeys && !inTime) return toast('Keys zoom in physical order; drag along the time axis to zoom the time');
    this.page.set(values, true);
    this.unpin();
    this.drawTools();
    this.load();
    announce('Zoomed');
  }

  back() {
    if (history.state?.depth > 0) history.back();
    else this.whole();
  }

  whole() {
    this.from = this.to = 0;
    this.live = true;
    this.page.set({ from: null, to: null, k0: null, k1: null, cell: null }, true);
    this.unpin();
    this.drawTools();
    this.load();
  }

  /** @param {Cell | null} cell @param {number} x @param {number} y */
  hover(cell, x, y) {
    const { view, model, tip } = this;
    const same = cell && view.cursor && cell.i === view.cursor.i && cell.c === view.cursor.c;
    if (!same) {
      view.cursor = cell;
      view.drawOver();
    }
    const shown = Boolean(cell && model) && !isPhone() && this.side.hidden;
    tip.hidden = !shown;
    if (!shown || !cell || !model) return;
    if (!same) this.card.show(model, cell);
    const { offsetWidth: w, offsetHeight: height } = tip;
    tip.style.left = `${x + 24 + w > innerWidth ? Math.max(4, x - w - 24) : x + 24}px`;
    tip.style.top = `${Math.max(8, Math.min(innerHeight - height - 8, y - height / 3))}px`;
  }

  /** @param {Cell} cell @param {boolean} [quiet] */
  pin(cell, quiet) {
    const { view, model, side, pinCard } = this;
    const row = model?.h.row[cell.i];
    if (!model || !row) return;
    view.pinned = cell;
    pinCard.show(model, cell);
    fill(
      side,
      h(
        'header',
        null,
        h('h2', null, 'Pinned cell'),
        h('span', { class: 'grow' }),
        iconButton('close', 'Close', () => {
          this.unpin();
          this.view.over.focus();
        }),
      ),
      h('div', { class: 'body' }, pinCard.element),
      h('div', { class: 'acts two2' }, this.pinActions(row)),
    );
    const hidden = side.hidden;
    side.hidden = false;
    this.tip.hidden = true;
    if (hidden) view.draw();
    view.drawOver();
    if (quiet) return;
    this.page.set({ cell: `${model.timeOf(cell.c)},${rowId(row)}` });
    announce(`Pinned: ${cellSentence(model, cell)}`);
  }

  /** What can be done with the keys of a row. @param {HeatRow} row */
  pinActions(row) {
    const { table } = this.page;
    const [finding] = this.page.findings();
    const whatIf = finding && linkButton('What-if', tableHref(table, 'what-if'));
    if (row.label) {
      const [value = ''] = row.label;
      const field = this.order.slice(6);
      const condition = `${field}='${value.replaceAll("'", "''")}'`;
      return [
        !row.other && linkButton('Explain here', planHref(table, condition)),
        button('Copy value', () => copy(value, 'Value copied'), { icon: 'copy' }),
        whatIf,
      ];
    }
    const k0 = escaped(row.start.hex);
    const k1 = escaped(row.end.hex);
    const region = row.region || '';
    return [
      this.order === 'physical' &&
        linkButton('Scan here', tableHref(table, 'rows', { by: 'key', start: k0, stop: k1 })),
      button('Copy key', () => copy(k0, 'Key copied as \\x text'), { icon: 'copy' }),
      region && linkButton('Split here', tableHref(table, 'regions', { region }), 'split'),
      row.start.fields
        ? linkButton('Explain here', planHref(table, this.conditions(row)))
        : whatIf,
    ];
  }

  /** Condition on the first field of a row's first key. @param {HeatRow} row */
  conditions(row) {
    const fields = this.page.info()?.row_key?.fields || [];
    const at = fields.findIndex(field => !field.derived);
    return at < 0
      ? ''
      : `${fields[at].name}='${(row.start.fields?.[at] || '').replaceAll("'", "''")}'`;
  }

  unpin() {
    if (this.side.hidden) return;
    this.side.hidden = true;
    this.view.pinned = null;
    this.page.set({ cell: null });
    this.view.draw();
  }

  toggleLive() {
    if (this.from) return this.whole();
    this.live = !this.live;
    this.drawTools();
    announce(this.live ? 'Live' : 'Not live');
    if (this.live) this.load(true);
  }

  toggleDiff() {
    this.diff = !this.diff;
    this.page.set({ diff: this.diff ? 1 : null });
    this.drawTools();
    announce(this.diff ? 'Difference to the period before' : 'Values');
    this.load();
  }

  toggleMarks() {
    this.view.marks = !this.view.marks;
    this.drawTools();
    this.view.draw();
  }

  toggleLock() {
    const { model } = this;
    this.lock = this.lock || !model ? null : { knee: model.knee, top: model.top };
    this.page.set({
      lock: this.lock ? `${this.lock.knee.toPrecision(6)},${this.lock.top.toPrecision(6)}` : null,
    });
    this.drawTools();
    this.restyle();
    announce(this.lock ? 'Scale locked' : 'Scale follows the view');
  }

  playback() {
    if (this.timer) return this.stop();
    const { view, model } = this;
    if (!model) return;
    let at = view.cursor ? view.cursor.c : 0;
    let last = performance.now();
    this.timer = setInterval(() => {
      const now = performance.now();
      at += ((now - last) * this.speed) / model.h.dt_ms;
      last = now;
      if (at >= model.cols || this.model !== model) return this.stop();
      if (Math.floor(at) === view.play) return;
      view.play = Math.floor(at);
      view.draw();
    }, 50);
    this.drawTools();
    announce('Playback');
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.view.play = -1;
    if (this.page.signal.aborted) return;
    this.view.draw();
    this.drawTools();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { view, model } = this;
    if (!model || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = event.shiftKey ? 10 : 1;
    /** @type {Record<string, [number, number]>} */
    const arrows = {
      ArrowUp: [-by, 0],
      ArrowDown: [by, 0],
      ArrowLeft: [0, -by],
      ArrowRight: [0, by],
    };
    const arrow = arrows[event.key];
    /** @type {Record<string, () => unknown>} */
    const acts = {
      Enter: () => {
        if (view.cursor) this.pin(view.cursor);
      },
      '+': () => this.step(0.25),
      '=': () => this.step(0.25),
      '-': () => this.widen(),
      Backspace: () => this.back(),
      0: () => this.whole(),
      m: () => this.cycle(),
      o: () => this.cycleOrder(),
      '[': () => this.brighten(-0.5),
      ']': () => this.brighten(0.5),
      b: () => this.toggleMarks(),
      l: () => this.toggleLive(),
      d: () => this.toggleDiff(),
      ' ': () => this.playback(),
      c: () => this.copyKey(),
      t: async () => (await import('./heatexport.js')).showTable(view),
      Escape: () => this.unpin(),
    };
    if (arrow) this.move(arrow[0], arrow[1]);
    else if (acts[event.key]) acts[event.key]?.();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** First move goes to the loudest cell. @param {number} di @param {number} dc */
  move(di, dc) {
    const { view, model } = this;
    if (!model) return;
    const into = (/** @type {number} */ value, /** @type {number} */ size) =>
      Math.max(0, Math.min(size - 1, value));
    const from = view.cursor || view.pinned;
    const cell = from
      ? { i: into(from.i + di, model.rows), c: into(from.c + dc, model.cols) }
      : loudest(model);
    view.cursor = cell;
    view.drawOver();
    const [x = 0, y = 0] = view.cellBox(cell);
    const at = view.over.getBoundingClientRect();
    const { card } = this;
    if (!isPhone() && this.side.hidden) {
      card.show(model, cell);
      view.cursor = null;
      this.hover(cell, at.left + x, at.top + y);
    }
    announce(cellSentence(model, cell));
  }

  /** @param {number} part of the view kept on each side of the cursor */
  step(part) {
    const { view, model } = this;
    if (!model) return;
    const at = view.cursor || view.pinned || loudest(model);
    const [w, rows] = [
      Math.max(1, Math.ceil(model.cols * part)),
      Math.max(1, Math.ceil(model.rows * part)),
    ];
    this.zoom(at.c - w, at.c + w, at.i - rows, at.i + rows);
  }

  widen() {
    const { model } = this;
    if (!model) return;
    const span = model.h.to - model.h.from;
    const to = Math.min(this.now, model.h.to + span / 2);
    this.page.set({ k0: null, k1: null });
    this.choose(Math.max(this.now - 3024000e3, to - 2 * span), to, '');
  }

  cycle() {
    const names = RECORDED;
    const next = names[(names.indexOf(this.metric) + 1) % names.length] || 'writes';
    this.change({ metric: next });
    this.drawTools();
    announce(METRICS[next]?.name || next);
  }

  cycleOrder() {
    const fields = this.page.info()?.row_key?.fields || [];
    const orders = [
      'physical',
      ...(fields.some(field => field.derived) ? ['unsalted'] : []),
      ...fields.filter(field => !field.derived).map(field => `pivot:${field.name}`),
    ];
    const next = orders[(orders.indexOf(this.order) + 1) % orders.length] || 'physical';
    announce(`Key order ${next}`);
    this.reorder(next);
  }

  /** @param {number} by */
  brighten(by) {
    this.brightness = Math.max(-2, Math.min(6, this.brightness + by));
    this.legend.slider.value = String(this.brightness);
    this.page.set({ brightness: this.brightness || null });
    this.restyle();
  }

  copyKey() {
    const cell = this.view.cursor || this.view.pinned;
    const row = cell && this.model?.h.row[cell.i];
    if (row?.label) copy(row.label.join(' \u203a '), 'Value copied');
    else if (row) copy(escaped(row.start.hex), 'Key copied as \\x text');
  }
}

/** What distinguishes a row of one map. @param {HeatRow} row */
const rowId = row => (row.label ? `=${row.label.join('\u0000')}` : row.start.hex);

/** @param {HeatModel} model @returns {Cell} */
function loudest(model) {
  let most = -1;
  let at = 0;
  model.mean.forEach((value, k) => {
    if (value > most) {
      most = value;
      at = k;
    }
  });
  return { i: Math.floor(at / model.cols), c: at % model.cols };
}

/** @param {TablePage} page */
export function show(page) {
  new HeatPage(page);
}
