// Jump box: a table, a page, a region by its encoded name, a row key.

import { get, isAbort } from './api.js';
import { fill, h } from './dom.js';
import { TABLE_PAGES, go, placeOf, tableHref } from './place.js';
import { debounce, dialog } from './widgets.js';

/** @typedef {{text: string, note: string, href: string}} Target */

const PLACES = [
  { text: 'Overview', note: 'page', href: '/' }, { text: 'Tables', note: 'page', href: '/tables' },
  { text: 'Slow calls', note: 'activity', href: '/activity?show=slow' },
  { text: 'Tasks', note: 'activity', href: '/activity?show=tasks' },
  { text: 'Events', note: 'activity', href: '/activity?show=events' },
];

/** @param {string} text @param {string[]} tables @returns {Target[]} */
function targets(text, tables) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (/** @type {Target} */ to) => words.every(word => `${to.text} ${to.note}`.toLowerCase().includes(word));
  const table = placeOf(location.pathname)?.table;
  const found = [
    ...PLACES.filter(fits),
    ...(table ? TABLE_PAGES.map(page => ({ text: page.name, note: table, href: tableHref(table, page.id) })).filter(fits) : []),
    ...tables.map(name => ({ text: name, note: 'table', href: tableHref(name, 'regions') })),
  ];
  if (table && /^[0-9a-f]{6,32}$/.test(text)) {
    found.unshift({ text, note: `region of ${table}`, href: tableHref(table, 'regions', { region: text }) });
  }
  if (table && text) {
    found.push({ text, note: `row key in ${table}`, href: tableHref(table, 'rows', { by: 'key', prefix: text }) });
  }
  return found.slice(0, 60);
}

export function jump() {
  let chosen = 0;
  /** @type {Target[]} */
  let list = [];
  let asked = new AbortController();
  const input = h('input', {
    type: 'text', placeholder: 'Table, page, region or row key', 'aria-label': 'Jump to', role: 'combobox',
    'aria-expanded': 'true', 'aria-controls': 'jump-list', autocomplete: 'off', spellcheck: 'false',
    oninput: () => { draw([]); ask(); },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      if (step) {
        chosen = Math.max(0, Math.min(list.length - 1, chosen + step));
        mark();
      } else if (event.key === 'Enter') {
        open(list[chosen]);
      } else return;
      event.preventDefault();
    },
  });
  const options = h('ul', { id: 'jump-list', role: 'listbox', 'aria-label': 'Places' });
  const box = dialog('Jump', [input, options], { class: 'pal', bare: true });
  const open = (/** @type {Target | undefined} */ to) => {
    if (!to) return;
    box.close();
    go(to.href);
  };
  const mark = () => {
    [...options.children].forEach((item, at) => item.setAttribute('aria-selected', String(at === chosen)));
    const item = options.children[chosen];
    if (item) item.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', item ? item.id : '');
  };
  const draw = (/** @type {string[]} */ tables) => {
    list = targets(input.value.trim(), tables);
    chosen = 0;
    fill(options, list.map((to, at) => h('li', {
      role: 'option', id: `jump-${at}`, onclick: () => open(to),
    }, h('span', { class: 'ell' }, to.text), h('span', { class: 'faint' }, to.note))));
    mark();
  };
  const ask = debounce(120, async () => {
    asked.abort();
    asked = new AbortController();
    try {
      /** @type {TablesAnswer} */
      const answer = await get('/api/tables', { q: input.value.trim(), limit: 40 }, asked.signal);
      draw(answer.tables.map(table => table.name));
    } catch (error) {
      if (!isAbort(error)) console.warn(error);
    }
  });
  draw([]);
  ask();
  input.focus();
}
