// Keys of all pages, and the list of them.

import { h } from './dom.js';
import { TABLE_PAGES, go, placeOf, tableHref } from './place.js';
import { dialog } from './widgets.js';

/** @type {[string, [string, string][]][]} */
const LIST = [
  ['Everywhere', [['/', 'jump to a table, region or key'], ['?', 'this list'], ['g o', 'overview'],
    ['g t', 'tables'], ['g a', 'activity'], ['1 \u2026 6', 'pages of a table'], ['f', 'filter'],
    ['Esc', 'close']]],
  ['Tables', [['\u2191 \u2193 PgUp PgDn', 'move'], ['Home End', 'first, last'], ['Enter', 'open']]],
  ['Heat map', [['arrows', 'move a cell, with Shift ten'], ['Enter', 'pin'], ['+ \u2212', 'zoom'],
    ['Backspace', 'zoom back'], ['0', 'whole'], ['m', 'metric'], ['o', 'key order'],
    ['[ ]', 'brightness'], ['b', 'borders and marks'], ['l', 'live'], ['d', 'difference'],
    ['Space', 'playback'], ['c', 'copy key'], ['t', 'values as table']]],
];

export function help() {
  dialog('Keyboard', h('div', { class: 'keys' }, LIST.flatMap(([title, keys]) => [
    h('h3', null, title),
    ...keys.map(([key, text]) => h('div', null, h('span', null, text), h('kbd', null, key))),
  ])));
}

/** @param {EventTarget | null} target */
const isTyping = target => target instanceof Element
  && target.matches('input:not([type=range]), textarea, select');

/** Opens the jump box, whose module is asked for then. */
export const jump = async () => (await import('./jump.js')).jump();

export function bindKeys() {
  let waits = 0;
  const after = /** @type {Record<string, string>} */ ({ o: '/', t: '/tables', a: '/activity' });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
    const { key } = event;
    const second = Date.now() - waits < 1200 ? after[key] : undefined;
    waits = 0;
    const here = placeOf(location.pathname);
    const page = /^[1-6]$/.test(key) && here ? TABLE_PAGES[Number(key) - 1] : undefined;
    const filter = key === 'f' ? document.querySelector('[data-filter]') : null;
    if (second) go(second);
    else if (key === 'g') waits = Date.now();
    else if (key === '/') jump();
    else if (key === '?') help();
    else if (page && here) go(tableHref(here.table, page.id));
    else if (filter instanceof HTMLElement) filter.focus();
    else return;
    event.preventDefault();
  });
}
