// Name of a table with its namespace set back.

import { h } from './dom.js';
import { visible } from './format.js';

/** @param {string} name */
export function tableName(name) {
  const at = name.indexOf(':');
  return at < 0
    ? [visible(name)]
    : [h('span', { class: 'ns' }, visible(name.slice(0, at + 1))), visible(name.slice(at + 1))];
}
