// What is shown in place of data: loading, nothing found, an error, nothing recorded.

import { get, isAbort, problemOf } from './api.js';
import { fill, h } from './dom.js';
import { button } from './widgets.js';

/** @param {string} title @param {...Children} more */
export const empty = (title, ...more) => h('div', { class: 'empty' }, h('b', null, title), ...more);

/** @param {number} [rows] */
export const loading = (rows = 6) =>
  h(
    'div',
    { class: 'skeleton', 'aria-label': 'Loading', 'aria-busy': 'true' },
    Array.from({ length: rows }, () => h('i')),
  );

/** What to do about a kind of problem. @type {Record<string, string>} */
const MENDS = {
  fix_request: 'Change the request: a value in the address or in a field is not valid.',
  token: 'Enter the token of the server under the lock in the upper bar.',
  not_found: 'It may have been dropped, split or merged since the page was opened.',
  conflict: 'The state changed meanwhile. Ask again.',
  too_large: 'Ask for less.',
  wrong_host: 'Open the page under a host name that the server allows.',
  retry: 'The server is busy, or the cluster is away.',
  missing_source: 'Nothing records this here.',
  repair: 'The server has a defect or a damaged file; its log says more.',
  gone: 'The page asks again by itself.',
};

/**
 * Panel for an error. A `retry` is sent again by itself after its seconds.
 * @param {unknown} error @param {() => void} [again] @param {string} [what]
 */
export function failure(error, again, what) {
  const problem = problemOf(error);
  if (problem.kind === 'missing_source') return missing(problem.message, problem.detail, what);
  const box = h(
    'div',
    { class: 'empty', role: 'alert' },
    h('b', null, problem.message),
    problem.detail && h('p', null, problem.detail),
    h(
      'p',
      { class: 'faint' },
      MENDS[problem.kind] || '',
      h('code', null, ` ${problem.kind}${problem.status ? ` ${problem.status}` : ''}`),
    ),
  );
  if (again) {
    const label = h('span');
    const retry = button('Ask again', again);
    box.append(retry, label);
    if (problem.kind === 'retry') countDown(box, label, problem.retryAfter || 2, again);
  }
  return box;
}

/**
 * @param {HTMLElement} box
 * @param {HTMLElement} label
 * @param {number} seconds
 * @param {() => void} again
 */
function countDown(box, label, seconds, again) {
  label.textContent = `again in ${seconds} s`;
  setTimeout(() => {
    if (!box.isConnected) return;
    if (seconds > 1) countDown(box, label, seconds - 1, again);
    else again();
  }, 1000);
}

/** @param {string} title @param {string} detail @param {string} [what] */
function missing(title, detail, what) {
  return h(
    'div',
    { class: 'empty' },
    h('b', null, what || 'Not recorded here'),
    h('p', null, title),
    detail && h('p', { class: 'faint' }, detail),
  );
}

/**
 * Name of a figure that this cluster does not tell.
 * @param {string[] | undefined} names
 * @param {string} name
 */
export const isMissing = (names, name) => Boolean(names && names.includes(name));

/**
 * Panel whose body is replaced by each answer.
 * @param {string} title
 * @param {string} note
 * @param {HTMLElement | null} [link]
 */
export function panel(title, note, link) {
  const body = h('div', { class: 'panelbody' }, loading(3));
  const notes = h('span', { class: 'faint' }, note);
  const element = h(
    'section',
    { class: 'panel' },
    h('header', null, h('h2', null, title), notes, h('span', { class: 'grow' }), link || null),
    body,
  );
  return { element, body, notes };
}

/**
 * Asks and draws; an error stays in its panel.
 * @template T
 * @param {Page} page @param {HTMLElement} body @param {string} path
 * @param {Params} params @param {(answer: T) => Children} view
 * @param {string} [missing] title of the state in which nothing is recorded
 */
export async function into(page, body, path, params, view, missing) {
  try {
    /** @type {T} */
    const answer = await get(path, params, page.signal);
    fill(body, view(answer));
    body.dataset.filled = '1';
  } catch (error) {
    if (isAbort(error)) return;
    // What was drawn before stays when the server is gone for a while.
    if (problemOf(error).kind === 'gone' && body.dataset.filled) return;
    fill(
      body,
      failure(error, () => into(page, body, path, params, view, missing), missing),
    );
  }
}

/**
 * Shows a page whose module is asked for when it is needed first.
 * @template {Page} P
 * @param {P} page @param {() => Promise<{show: (page: P) => void | Promise<void>}>} load
 */
export async function showPage(page, load) {
  try {
    const { show } = await load();
    if (!page.signal.aborted) await show(page);
  } catch (error) {
    fill(
      page.root,
      failure(error, () => location.reload()),
    );
  }
}
