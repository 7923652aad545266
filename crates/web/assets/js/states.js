// What is shown in place of data: loading, nothing found, an error, nothing recorded.

import { problemOf } from './api.js';
import { h } from './dom.js';
import { button } from './widgets.js';

/** @param {string} title @param {...Children} more */
export const empty = (title, ...more) => h('div', { class: 'empty' }, h('b', null, title), ...more);

/** @param {number} [rows] */
export const loading = (rows = 6) => h('div', { class: 'skeleton', 'aria-label': 'Loading', 'aria-busy': 'true' },
  Array.from({ length: rows }, () => h('i')));

/** What to do about a kind of problem. @type {Record<string, string>} */
const MENDS = {
  fix_request: 'Change the request: a value in the address or in a field is not valid.',
  token: 'Enter the token of the server under the lock in the upper bar.',
  not_found: 'It may have been dropped, split or merged since the page was opened.',
  conflict: 'The state changed meanwhile. Ask again.',
  too_large: 'Ask for less.',
  wrong_host: 'Open the page under a host name that the server allows.',
  retry: 'The server is busy.',
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
  const box = h('div', { class: 'empty', role: 'alert' },
    h('b', null, problem.message),
    problem.detail && h('p', null, problem.detail),
    h('p', { class: 'faint' }, MENDS[problem.kind] || '',
      h('code', null, ` ${problem.kind}${problem.status ? ` ${problem.status}` : ''}`)));
  if (again) {
    const label = h('span');
    const retry = button('Ask again', again);
    box.append(retry, label);
    if (problem.kind === 'retry') countDown(box, label, problem.retryAfter || 2, again);
  }
  return box;
}

/** @param {HTMLElement} box @param {HTMLElement} label @param {number} seconds @param {() => void} again */
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
  return h('div', { class: 'empty' }, h('b', null, what || 'Not recorded here'),
    h('p', null, title), detail && h('p', { class: 'faint' }, detail));
}

/** Name of a figure that this cluster does not tell. @param {string[] | undefined} names @param {string} name */
export const isMissing = (names, name) => Boolean(names && names.includes(name));
