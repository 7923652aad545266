// List of any length, of which only the rows in view are in the document (60 at most).

import { fill, h, icon } from './dom.js';
import { onPrefs, isPhone } from './prefs.js';

const HEAD = 30;
const MAX_ROWS = 60;
/** Height that browsers still lay out. Longer lists are scrolled in proportion. */
const MAX_HEIGHT = 8e6;

/**
 * Orders that a list with these columns can have.
 * @param {{sort?: string | null}[]} columns
 */
export const ordersOf = columns =>
  columns.flatMap(({ sort }) => (sort ? [sort, `-${sort}`] : []));

/** @template R */
export class Grid {
  /** @param {GridOptions<R>} options */
  constructor(options) {
    this.options = options;
    /** @type {Map<number, R>} */
    this.rows = new Map();
    /**
     * Headings before rows: index of the row and content.
     * @type {{at: number, view: HTMLElement}[]}
     */
    this.groups = [];
    this.total = 0;
    this.cursor = -1;
    this.sort = options.sort;
    this.head = h('div', { class: 'tr head', role: 'row' });
    this.space = h('div', { class: 'space', role: 'rowgroup' });
    this.scroll = h(
      'div',
      {
        class: 'scroll',
        tabindex: 0,
        role: 'grid',
        'aria-label': options.label,
        onscroll: () => this.draw(),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
      },
      this.head,
      this.space,
    );
    this.foot = h('div', { class: 'foot' });
    this.element = h('div', { class: 'grid grow' }, this.scroll, this.foot);
    const observer = new ResizeObserver(() => this.layout());
    observer.observe(this.scroll);
    options.signal.addEventListener('abort', () => observer.disconnect());
    onPrefs(() => this.draw(), options.signal);
    this.layout();
  }

  get rowHeight() {
    return isPhone() && this.options.card ? 74 : this.options.rowHeight || 28;
  }

  layout() {
    const shown = this.options.columns.filter(column => (column.from || 0) <= innerWidth);
    this.columns = shown;
    this.cards = isPhone() && Boolean(this.options.card);
    const tracks = shown.map(column => column.width).join(' ');
    const least = shown.reduce(
      (sum, column) => sum + (Number(/\d+(?=px)/.exec(column.width)?.[0]) || 0) + 12,
      20,
    );
    this.element.style.setProperty('--tracks', tracks);
    this.element.style.setProperty('--least', this.cards ? '0' : `${least}px`);
    this.element.classList.toggle('cards', this.cards);
    fill(
      this.head,
      shown.map((column, at) => this.heading(column, at)),
    );
    this.draw();
  }

  /** @param {Column<R>} column @param {number} at */
  heading(column, at) {
    const { sort } = column;
    const falls = this.sort === `-${sort}`;
    const sorted = sort && (falls || this.sort === sort);
    const name = [column.name, sorted && icon(falls ? 'down' : 'up', 10)];
    return h(
      'div',
      {
        class: column.right ? 'th r' : 'th',
        role: 'columnheader',
        'aria-colindex': at + 1,
        'aria-sort': sorted ? (falls ? 'descending' : 'ascending') : null,
        'data-id': column.id,
      },
      sort
        ? h(
            'button',
            { type: 'button', onclick: () => this.sortBy(sort, Boolean(column.right)) },
            name,
          )
        : name,
    );
  }

  /** Figures fall first, texts rise. @param {string} sort @param {boolean} figure */
  sortBy(sort, figure) {
    const first = figure ? `-${sort}` : sort;
    const second = figure ? sort : `-${sort}`;
    this.sort = this.sort === first ? second : first;
    this.options.onSort(this.sort);
    this.layout();
  }

  /** Number of lines: rows and headings. */
  get lines() {
    return this.total + this.groups.length;
  }

  /** Pixels of the list in the document. */
  get height() {
    return Math.min(this.lines * this.rowHeight, MAX_HEIGHT);
  }

  /** Line at the top, as a fraction. */
  get top() {
    const real = this.lines * this.rowHeight - this.room;
    const drawn = this.height - this.room;
    const part = drawn > 0 ? Math.min(1, this.scroll.scrollTop / drawn) : 0;
    return real <= 0 ? 0 : (part * real) / this.rowHeight;
  }

  get room() {
    return Math.max(0, this.scroll.clientHeight - (this.cards ? 0 : HEAD));
  }

  /** @param {number} total @param {{at: number, view: HTMLElement}[]} [groups] */
  setTotal(total, groups = []) {
    this.total = total;
    this.groups = groups;
    this.cursor = Math.min(this.cursor, total - 1);
    this.draw();
  }

  /** Line of a row. @param {number} index */
  lineOf(index) {
    let before = 0;
    while (before < this.groups.length && (this.groups[before]?.at || 0) <= index) before++;
    return index + before;
  }

  /** @param {number} line @returns {{group?: HTMLElement, index: number}} */
  at(line) {
    let before = 0;
    for (const group of this.groups) {
      const own = group.at + before;
      if (own === line) return { group: group.view, index: group.at };
      if (own > line) break;
      before++;
    }
    return { index: line - before };
  }

  draw() {
    if (!this.columns) return;
    const { rowHeight, lines } = this;
    const top = this.top;
    const first = Math.max(0, Math.floor(top) - 3);
    const shown = Math.min(MAX_ROWS, Math.ceil(this.room / rowHeight) + 7);
    const last = Math.min(lines, first + shown);
    // In a list longer than what can be laid out, rows stand relative to the scrolled place.
    const base = this.scroll.scrollTop - top * rowHeight;
    this.space.style.height = `${this.height}px`;
    this.scroll.setAttribute('aria-rowcount', String(this.total + 1));
    this.scroll.setAttribute('aria-colcount', String(this.columns.length));
    const views = [];
    let unknown = -1;
    let lastUnknown = -1;
    for (let line = first; line < last; line++) {
      const { group, index } = this.at(line);
      const view = group || this.row(index);
      view.style.transform = `translateY(${base + line * rowHeight}px)`;
      views.push(view);
      if (!group && !this.rows.has(index)) {
        if (unknown < 0) unknown = index;
        lastUnknown = index;
      }
    }
    fill(this.space, views);
    if (unknown >= 0 && this.options.onNeed) this.options.onNeed(unknown, lastUnknown);
    this.range = {
      first: this.at(first).index,
      last: Math.max(0, this.at(Math.max(first, last - 1)).index),
    };
    this.onDraw();
  }

  /** Called after each drawing; a ruler may follow. */
  onDraw() {}

  /** @param {number} index */
  row(index) {
    const row = this.rows.get(index);
    const { options, cards, columns = [] } = this;
    const selected = index === this.cursor;
    const view = h('div', {
      class: `${cards ? 'card' : 'tr'} row ${row && options.rowClass ? options.rowClass(row) : ''}`,
      role: 'row',
      'aria-rowindex': index + 2,
      'aria-selected': String(selected),
      id: `row-${index}`,
      onclick: (/** @type {Event} */ event) => {
        if (event.target instanceof Element && event.target.closest('a, button')) return;
        this.select(index);
        if (row) options.onOpen(row, index);
      },
    });
    if (!row) {
      view.append(h('div', { class: 'ghost', role: 'gridcell' }));
    } else if (cards && options.card) {
      view.append(h('div', { class: 'cardin', role: 'gridcell' }, options.card(row)));
    } else {
      columns.forEach((column, at) =>
        view.append(
          h(
            'div',
            {
              class: `td${column.right ? ' r' : ''} c-${column.id}`,
              role: 'gridcell',
              'aria-colindex': at + 1,
            },
            column.cell(row),
          ),
        ),
      );
    }
    return view;
  }

  /** @param {number} index */
  select(index) {
    this.cursor = index;
    this.scroll.setAttribute('aria-activedescendant', `row-${index}`);
    this.draw();
  }

  /** Scrolls until the row is in view. @param {number} index @param {boolean} [middle] */
  reveal(index, middle) {
    const { rowHeight, room } = this;
    const real = this.lines * rowHeight - room;
    const y = this.lineOf(index) * rowHeight;
    const now = this.top * rowHeight;
    let to = now;
    if (middle) to = y - room / 2;
    else if (y < now) to = y;
    else if (y + rowHeight > now + room) to = y + rowHeight - room;
    if (to === now || real <= 0) return;
    const part = Math.max(0, Math.min(1, to / real));
    this.scroll.scrollTop = part * (this.height - room);
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.target !== this.scroll || !this.total) return;
    const jump = Math.max(1, Math.floor(this.room / this.rowHeight) - 1);
    const from = Math.max(0, this.cursor);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: this.cursor < 0 ? 0 : from + 1,
      ArrowUp: from - 1,
      PageDown: from + jump,
      PageUp: from - jump,
      Home: 0,
      End: this.total - 1,
    };
    const to = moves[event.key];
    if (to !== undefined) {
      this.select(Math.max(0, Math.min(this.total - 1, to)));
      this.reveal(this.cursor);
    } else if (event.key === 'Enter' && this.rows.has(this.cursor)) {
      this.options.onOpen(/** @type {R} */ (this.rows.get(this.cursor)), this.cursor);
    } else return;
    event.preventDefault();
  }

  /** Shows a state in place of the rows. @param {HTMLElement | null} view */
  state(view) {
    this.element.querySelector('.over-state')?.remove();
    if (view) this.element.append(h('div', { class: 'over-state' }, view));
  }
}

/** Time of the last answer at the foot of a list; warns when polls were missed. */
export class Age {
  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.element = h('span', { class: 'age' });
    this.asOf = 0;
    const timer = setInterval(() => this.draw(), 5000);
    signal.addEventListener('abort', () => clearInterval(timer));
  }

  /** @param {number} asOf time of the answer by the server's clock */
  now(asOf) {
    this.asOf = asOf;
    this.at = Date.now();
    this.draw();
  }

  draw() {
    if (!this.asOf) return;
    const missed = Date.now() - (this.at || 0) > 32e3 && !document.hidden;
    this.element.classList.toggle('warn', missed);
    const text = `updated ${new Date(this.asOf).toISOString().slice(11, 19)}Z`;
    this.element.textContent = missed
      ? `${text}, no answer for ${Math.round((Date.now() - (this.at || 0)) / 1e3)} s`
      : text;
  }
}
