// Dialogs of the shell: the jump box, the list of keys, the menu of phones, the token.

import { get, isAbort, token } from './api.js';
import { fill, h } from './dom.js';
import { TABLE_PAGES, go, placeOf, tableHref } from './place.js';
import { button, debounce, dialog, toast } from './widgets.js';

/** @typedef {{text: string, note: string, href: string}} Target */

const PLACES = [
  { text: 'Overview', note: 'page', href: '/' },
  { text: 'Tables', note: 'page', href: '/tables' },
  { text: 'Slow calls', note: 'activity', href: '/activity?show=slow' },
  { text: 'Tasks', note: 'activity', href: '/activity?show=tasks' },
  { text: 'Events', note: 'activity', href: '/activity?show=events' },
];

/** @param {string} text @param {string[]} tables @returns {Target[]} */
function targets(text, tables) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (/** @type {Target} */ to) =>
    words.every(word => `${to.text} ${to.note}`.toLowerCase().includes(word));
  const table = placeOf(location.pathname)?.table;
  const found = [
    ...PLACES.filter(fits),
    ...(table
      ? TABLE_PAGES.map(page => ({
          text: page.name,
          note: table,
          href: tableHref(table, page.id),
        })).filter(fits)
      : []),
    ...tables.map(name => ({ text: name, note: 'table', href: tableHref(name, 'regions') })),
  ];
  if (table && /^[0-9a-f]{6,32}$/.test(text)) {
    found.unshift({
      text,
      note: `region of ${table}`,
      href: tableHref(table, 'regions', { region: text }),
    });
  }
  if (table && text) {
    found.push({
      text,
      note: `row key in ${table}`,
      href: tableHref(table, 'rows', { by: 'key', prefix: text }),
    });
  }
  return found.slice(0, 60);
}

export function jump() {
  let chosen = 0;
  /** @type {Target[]} */
  let list = [];
  let asked = new AbortController();
  const input = h('input', {
    type: 'text',
    placeholder: 'Table, page, region or row key',
    'aria-label': 'Jump to',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'jump-list',
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: () => {
      draw([]);
      ask();
    },
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
    [...options.children].forEach((item, at) =>
      item.setAttribute('aria-selected', String(at === chosen)),
    );
    const item = options.children[chosen];
    if (item) item.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', item ? item.id : '');
  };
  const draw = (/** @type {string[]} */ tables) => {
    list = targets(input.value.trim(), tables);
    chosen = 0;
    fill(
      options,
      list.map((to, at) =>
        h(
          'li',
          {
            role: 'option',
            id: `jump-${at}`,
            onclick: () => open(to),
          },
          h('span', { class: 'ell' }, to.text),
          h('span', { class: 'faint' }, to.note),
        ),
      ),
    );
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

/** @type {[string, [string, string][]][]} */
const LIST = [
  [
    'Everywhere',
    [
      ['/', 'jump to a table, region or key'],
      ['?', 'this list'],
      ['g o', 'overview'],
      ['g t', 'tables'],
      ['g a', 'activity'],
      ['1 \u2026 6', 'pages of a table'],
      ['f', 'filter'],
      ['Esc', 'close'],
    ],
  ],
  [
    'Tables',
    [
      ['\u2191 \u2193 PgUp PgDn', 'move'],
      ['Home End', 'first, last'],
      ['Enter', 'open'],
    ],
  ],
  [
    'Heat map',
    [
      ['arrows', 'move a cell, with Shift ten'],
      ['Enter', 'pin'],
      ['+ \u2212', 'zoom'],
      ['Backspace', 'zoom back'],
      ['0', 'whole'],
      ['m', 'metric'],
      ['o', 'key order'],
      ['[ ]', 'brightness'],
      ['b', 'borders and marks'],
      ['l', 'live'],
      ['d', 'difference'],
      ['Space', 'playback'],
      ['c', 'copy key'],
      ['t', 'values as table'],
    ],
  ],
];

export function help() {
  dialog(
    'Keyboard',
    h(
      'div',
      { class: 'keys' },
      LIST.flatMap(([title, keys]) => [
        h('h3', null, title),
        ...keys.map(([key, text]) => h('div', null, h('span', null, text), h('kbd', null, key))),
      ]),
    ),
  );
}

/** @param {{path: string, name: string}[]} pages @param {() => void} openToken */
export function menu(pages, openToken) {
  const box = dialog(
    'Menu',
    h(
      'nav',
      { class: 'menu' },
      pages.map(page => h('a', { href: page.path, onclick: () => box.close() }, page.name)),
      button(
        'Table, region or row key',
        () => {
          box.close();
          jump();
        },
        { icon: 'search' },
      ),
      button(
        'Token',
        () => {
          box.close();
          openToken();
        },
        { icon: 'lock' },
      ),
    ),
  );
}

/** @param {boolean} readOnly the server has no token @param {() => void} changed */
export function askToken(readOnly, changed) {
  const input = h('input', {
    type: 'password',
    autocomplete: 'off',
    'aria-label': 'Token',
    value: token.get(),
    class: 'wide',
  });
  const done = () => {
    token.set(input.value.trim());
    box.close();
    changed();
    toast(token.get() ? 'Token set for this tab' : 'Read-only');
  };
  const box = dialog(
    'Token',
    [
      h(
        'p',
        null,
        readOnly
          ? 'The server was started without a token, so nothing can be changed here.'
          : 'Actions need the token that the server was started with. It is kept until this tab is closed.',
      ),
      h(
        'form',
        {
          onsubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            done();
          },
        },
        input,
      ),
    ],
    { actions: [button('Cancel', () => box.close()), button('Set', done, { pri: true })] },
  );
}
