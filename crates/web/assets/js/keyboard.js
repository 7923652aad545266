// Keys of all pages. What they open is asked for then.

import { TABLE_PAGES, go, placeOf, tableHref } from './place.js';

function closeSide() {
  const cross = document.querySelector(
    '.drawer [aria-label=Close], .side:not([hidden]) [aria-label=Close]',
  );
  if (cross instanceof HTMLElement) cross.click();
}

/** @param {EventTarget | null} target */
const isTyping = target =>
  target instanceof Element && target.matches('input:not([type=range]), textarea, select');

export const jump = async () => (await import('./jump.js')).jump();
export const help = async () => (await import('./jump.js')).help();

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
    else if (key === 'Escape') closeSide();
    else if (key === 'g') waits = Date.now();
    else if (key === '/') jump();
    else if (key === '?') help();
    else if (page && here) go(tableHref(here.table, page.id));
    else if (filter instanceof HTMLElement) filter.focus();
    else return;
    event.preventDefault();
  });
}
