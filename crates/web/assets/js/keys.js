// Row keys: one look everywhere. Fields separated by a small angle, computed fields faint.

import { h } from './dom.js';
import { ELLIPSIS, clock, day, escaped, group, visible } from './format.js';
import { keyForm } from './prefs.js';

export const ANGLE = '\u203a';
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?(\.\d+)?Z?$/;

/**
 * Field of a key in the width that lists have: a time of this day without its day.
 * @param {string} text
 */
export function shortField(text) {
  const time = TIME.exec(text);
  if (!time) return visible(text);
  const at = Date.parse(`${time[1]}T${time[2]}${time[3] || ''}Z`);
  const seconds = Boolean(time[3]) && time[3] !== ':00';
  const old = Math.abs(Date.now() - at) > 86400e3;
  return `${old ? `${day(at)} ` : ''}${clock(at, seconds)}Z`;
}

/** @param {Key} key */
export const isWhole = key => key.len === undefined || key.len === null;

/** Key as the HBase shell prints it. @param {Key} key */
export const escapedKey = key =>
  escaped(key.hex) + (isWhole(key) ? '' : `${ELLIPSIS} ${group(key.len || 0)} B`);

/** @param {RowKey | null | undefined} schema @param {number} at */
const isDerived = (schema, at) => Boolean(schema && schema.fields[at] && schema.fields[at].derived);

/** Text of a key in the chosen form. @param {Key} key @param {string} [form] */
export function keyText(key, form = keyForm()) {
  if (form === 'hex') return key.hex + (isWhole(key) ? '' : ELLIPSIS);
  if (form === 'decoded' && key.fields) return key.fields.map(shortField).join(` ${ANGLE} `);
  return escapedKey(key);
}

/**
 * @param {Key | null | undefined} key
 * @param {{schema?: RowKey | null, none?: string, form?: string}} [options] `none` is written for
 *   the empty key.
 */
export function keyView(key, options = {}) {
  const { schema, none = '(empty)', form = keyForm() } = options;
  if (!key || key.hex === '') return h('span', { class: 'key none' }, none);
  const title = `${key.fields ? `${key.fields.map(visible).join(` ${ANGLE} `)}\n` : ''}${escapedKey(key)}`;
  if (form === 'decoded' && key.fields) {
    const parts = key.fields.flatMap((field, at) => [
      at > 0 && h('i', null, ANGLE),
      h('span', { class: isDerived(schema, at) ? 'f d' : 'f' }, shortField(field)),
    ]);
    return h('span', { class: 'key', title }, parts);
  }
  const alien = form === 'decoded' && schema && !key.fields;
  return h(
    'span',
    { class: 'key', title },
    h('span', { class: 'f' }, keyText(key, form)),
    alien && h('span', { class: 'chip warn' }, 'not in schema'),
  );
}

/**
 * Segments of a declared key, in the order of their bytes.
 * @param {RowKey | null | undefined} schema
 */
export function ribbon(schema) {
  if (!schema) return null;
  return h(
    'ol',
    { class: 'ribbon', 'aria-label': 'Row key' },
    schema.fields.map(field =>
      h(
        'li',
        {
          class: field.derived ? 'd' : null,
        },
        h('b', null, field.name),
        h('span', null, fieldType(field)),
      ),
    ),
  );
}

/** @param {KeyField} field */
export function fieldType(field) {
  const text = field.ddl || field.type || '';
  const own = text.startsWith(`${field.name} `) ? text.slice(field.name.length + 1) : text;
  return field.desc && !/\bDESC\b/.test(own) ? `${own} DESC` : own;
}
