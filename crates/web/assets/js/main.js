// Start: routes, the two bars, and the page of the address.

import { connection, get, isAbort, problemOf, token } from './api.js';
import { byId, fill, h, icon } from './dom.js';
import { clock } from './format.js';
import { bindKeys, help, jump } from './keyboard.js';
import { isDark, onPrefs, switchTheme } from './prefs.js';
import { PERIOD, poll } from './poll.js';
import { go, onGo, placeOf } from './place.js';
import { openTable } from './table.js';
import { showPage } from './states.js';
import { iconButton, toast } from './widgets.js';

/** @type {ClusterAnswer | null} */
let cluster = null;
/** Whether the first page has asked for it. */
let asked = false;
let leaving = new AbortController();

const PAGES = [
  { path: '/', name: 'Overview', load: () => import('./overview.js') },
  { path: '/tables', name: 'Tables', load: () => import('./tables.js') },
  { path: '/activity', name: 'Activity', load: () => import('./activity.js') },
];

/** @param {HTMLElement} root @returns {Page} */
function pageFor(root) {
  const params = new URLSearchParams(location.search);
  const { signal } = leaving;
  return {
    root,
    params,
    signal,
    set(values, push) {
      if (signal.aborted) return;
      for (const [name, value] of Object.entries(values)) {
        if (value === null || value === '') params.delete(name);
        else params.set(name, String(value));
      }
      const query = params.toString();
      // The depth tells pages how often Back stays inside of them.
      const depth = (history.state?.depth || 0) + (push ? 1 : 0);
      history[push ? 'pushState' : 'replaceState'](
        { depth },
        '',
        location.pathname + (query ? `?${query}` : ''),
      );
    },
    choice(name, allowed, fallback) {
      const value = params.get(name);
      if (value === null || allowed.includes(value)) return value === null ? fallback : value;
      toast(`${name}=${value} is not known; ${fallback || 'none'} is used`);
      params.delete(name);
      return fallback;
    },
    poll: (main, slow) => poll(signal, withCluster(main), [...(slow || []), loadCluster]),
    cluster: () => cluster,
  };
}

function render() {
  leaving.abort();
  leaving = new AbortController();
  const root = h('div', { class: 'page' });
  const path = location.pathname;
  const place = placeOf(path);
  const known = PAGES.find(page => page.path === path);
  document.body.classList.toggle(
    'embed',
    new URLSearchParams(location.search).get('embed') === '1',
  );
  fill(byId('main'), root);
  fill(byId('sub'));
  drawTop(place ? '/tables' : path);
  const page = pageFor(root);
  if (place) {
    openTable(page, place.table, place.page, byId('sub'));
  } else if (known) {
    document.title = `${known.name} \u00b7 Halite`;
    root.append(h('h1', { class: 'sr' }, known.name));
    showPage(page, known.load);
  } else {
    root.append(
      h(
        'div',
        { class: 'empty' },
        h('h1', null, 'There is no such page'),
        h('code', null, path),
        h('a', { class: 'link', href: '/' }, 'Overview'),
      ),
    );
    page.poll(loadCluster);
  }
}

/** Adds what is above every page, as long as a cluster that was away has not told it. */
const withCluster = (/** @type {() => Promise<unknown>} */ main) => async () => {
  try {
    await main();
  } finally {
    if (!cluster && asked) await loadCluster();
    asked = true;
  }
};

async function loadCluster() {
  try {
    cluster = await get('/api/cluster', {}, leaving.signal);
    drawFacts();
  } catch (error) {
    if (!isAbort(error)) console.warn(problemOf(error).message);
  }
}

const facts = h('span', { class: 'cluster' });
const recording = h('span', { class: 'rec' });
const lock = iconButton('lock', 'Read-only: enter a token', () => openToken());
const themeButton = iconButton('moon', 'Dark theme', switchTheme);

function drawFacts() {
  if (!cluster) return;
  const { servers, mode, version } = cluster;
  fill(
    facts,
    h('span', { class: connection.gone ? 'dot bad' : 'dot' }),
    location.host,
    h(
      'span',
      { class: 'chip line' },
      mode === 'attached'
        ? `HBase ${version} \u00b7 region loads every 10 s`
        : servers.length === 1
          ? 'standalone'
          : `${servers.length} region servers`,
    ),
  );
  const level = cluster.heat_level;
  fill(
    recording,
    h('span', { class: level && level !== 'off' ? 'dot' : 'dot off' }),
    level ? `heat.level ${level}` : 'heat not recorded',
  );
  drawLock();
}

function drawLock() {
  const text = token.get()
    ? 'A token is set: actions are allowed'
    : cluster && cluster.read_only
      ? 'Read-only: the server has no token'
      : 'Read-only: enter a token';
  fill(lock, icon(token.get() ? 'open' : 'lock'));
  lock.title = text;
  lock.setAttribute('aria-label', text);
}

/** @param {string} current */
function drawTop(current) {
  const link = (/** @type {typeof PAGES[0]} */ page) =>
    h(
      'a',
      {
        href: page.path,
        'aria-current': page.path === current ? 'page' : null,
      },
      page.name,
    );
  fill(
    byId('top'),
    h('a', { class: 'brand', href: '/' }, icon('cube', 18), 'Halite'),
    facts,
    h('nav', { 'aria-label': 'Pages' }, PAGES.map(link)),
    h('span', { class: 'grow' }),
    h(
      'button',
      { type: 'button', class: 'omni', onclick: jump, 'aria-keyshortcuts': '/' },
      icon('search', 14),
      h('span', null, 'Table, region or row key'),
      h('kbd', null, '/'),
    ),
    recording,
    lock,
    iconButton('help', 'Keyboard', help),
    themeButton,
    iconButton('menu', 'Menu', openMenu, { class: 'ib phone' }),
  );
  drawTheme();
}

function drawTheme() {
  fill(themeButton, icon(isDark() ? 'sun' : 'moon'));
  const text = isDark() ? 'Light theme' : 'Dark theme';
  themeButton.title = text;
  themeButton.setAttribute('aria-label', text);
}

const openToken = async () =>
  (await import('./jump.js')).askToken(Boolean(cluster?.read_only), drawLock);
const openMenu = async () => (await import('./jump.js')).menu(PAGES, openToken);

/** Bar that says since when the server does not answer. */
function watchConnection() {
  const bar = h('div', { class: 'gone', role: 'alert', hidden: true });
  byId('main').before(bar);
  setInterval(() => {
    const late = connection.gone && Date.now() - connection.answered > PERIOD / 2;
    if (bar.hidden === !late) return;
    bar.hidden = !late;
    document.body.classList.toggle('stale', late);
    bar.textContent = `No answer since ${clock(connection.answered, true)}Z. The page asks again by itself.`;
    drawFacts();
  }, 1000);
}

document.addEventListener('click', event => {
  const target = event.target instanceof Element ? event.target.closest('a[href]') : null;
  if (!(target instanceof HTMLAnchorElement) || event.defaultPrevented) return;
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const { pathname, origin } = target;
  if (origin !== location.origin || target.hash || target.download) return;
  if (!placeOf(pathname) && !PAGES.some(page => page.path === pathname)) return;
  event.preventDefault();
  go(target.href);
});
addEventListener('popstate', render);
onPrefs(drawTheme, new AbortController().signal);
onGo(() => {
  render();
  byId('main').focus({ preventScroll: true });
});
bindKeys();
watchConnection();
render();
