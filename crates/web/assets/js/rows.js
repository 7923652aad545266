// Rows: by the fields of the declared key or by key, with versions and four forms of values.

import { get, isAbort, ofTable, url } from './api.js';
import { fill, h } from './dom.js';
import {
  ELLIPSIS,
  NONE,
  count,
  duration,
  escaped,
  fromHex,
  group,
  stamp,
  toHex,
  visible,
} from './format.js';
import { Grid } from './grid.js';
import { escapedKey, fieldType, keyView, shortField } from './keys.js';
import { onPrefs } from './prefs.js';
import { planHref } from './place.js';
import { empty, failure, loading } from './states.js';
import { copy, iconButton, keyFormControl, segments, select, toast } from './widgets.js';

/** Rows that are kept in the page. */
const KEPT = 20000;
/** @type {[string, string][]} */
const FORMS = [
  ['auto', 'auto'],
  ['text', 'text'],
  ['number', 'number'],
  ['hex', 'hex'],
  ['json', 'JSON'],
];

/** Column of a cell, `family:qualifier`. @param {Cell} cell */
const columnOf = cell =>
  `${visible(cell.family)}:${cell.qualifier.hex ? qualifierText(cell.qualifier.hex) : ''}`;

/** @param {string} hex */
function qualifierText(hex) {
  const shown = valueText({ hex, len: hex.length / 2 }, 'text');
  return shown.look === 'str' ? shown.text : escaped(hex);
}

/** @param {Cell} cell @param {string} form */
function valueView(cell, form) {
  const { text, look, note } = valueText(cell.value, form);
  return h('span', { class: `val ${look}` }, text, note && h('span', { class: 'ty' }, note));
}

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param {Uint8Array} data @returns {string | null} */
function utf8(data) {
  try {
    return STRICT.decode(data);
  } catch {
    return null;
  }
}

/** @param {Uint8Array} data @returns {[string, string] | null} text and type */
function number(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  if (data.length === 8) {
    const integer = view.getBigInt64(0);
    const float = view.getFloat64(0);
    const size = Math.abs(float);
    // A small integer has the bits of a denormal; a usual float those of a huge integer.
    if (Number.isFinite(float) && size > 1e-12 && size < 1e18) return [String(float), 'f64'];
    return [String(integer), 'i64'];
  }
  if (data.length === 4) return [String(view.getInt32(0)), 'i32'];
  if (data.length === 2) return [String(view.getInt16(0)), 'i16'];
  return data.length === 1 ? [String(view.getInt8(0)), 'i8'] : null;
}

/**
 * Text of a value, its look and a note.
 * @param {{hex: string, len: number}} value
 * @param {string} form auto, text, number, hex or json
 * @returns {{text: string, look: 'str' | 'num' | 'hex' | 'none', note: string}}
 */
function valueText(value, form) {
  if (value.len === 0) return { text: 'empty', look: 'none', note: '' };
  const data = fromHex(value.hex);
  const cut = data.length < value.len;
  const size = `${group(value.len)} B`;
  const text = form === 'hex' || form === 'number' ? null : utf8(data);
  if (form === 'json' && text !== null) {
    try {
      return { text: visible(JSON.stringify(JSON.parse(text))), look: 'hex', note: '' };
    } catch {
      // Not JSON: shown as text below.
    }
  }
  const controls =
    text === null ? [] : text.match(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g) || [];
  if (text !== null && (form !== 'auto' || controls.length * 8 <= text.length)) {
    return { text: visible(text) + (cut ? ELLIPSIS : ''), look: 'str', note: cut ? size : '' };
  }
  const as =
    !cut && (form === 'number' || (form === 'auto' && data.length === 8)) ? number(data) : null;
  if (as) return { text: as[0], look: 'num', note: as[1] };
  const shown = data.subarray(0, 256);
  const more = shown.length < value.len ? ELLIPSIS : '';
  return { text: spaced(shown) + more, look: 'hex', note: size };
}

/** @param {Uint8Array} data */
const spaced = data => toHex(data).replace(/(..)(?=.)/g, '$1 ');

/** Bytes of types of a fixed width. @type {Record<string, number>} */
const WIDTHS = {
  BOOL: 1,
  U8: 1,
  I8: 1,
  U16: 2,
  I16: 2,
  U32: 4,
  I32: 4,
  F32: 4,
  FLOAT: 4,
  DATE: 4,
  IPV4: 4,
  U64: 8,
  I64: 8,
  F64: 8,
  DOUBLE: 8,
  TIMESTAMP: 8,
  UUID: 16,
  IPV6: 16,
};

/**
 * Bytes of each segment of a key in the binary profile; null where they do not add up, so that
 * nothing is drawn under a wrong name.
 * @param {string} hex @param {KeyField[]} fields
 */
function segmentBytes(hex, fields) {
  const out = [];
  let at = 0;
  for (const field of fields) {
    const type = field.ddl || field.type || '';
    const salt = /^SALT\((\d+)/.exec(type);
    const sized = /^HASH\(.*?(\d+)\)/.exec(type) || /\b(?:CHAR|BYTES)\((\d+)\)/.exec(type);
    let size = salt
      ? Number(salt[1]) <= 256
        ? 1
        : 2
      : sized
        ? Number(sized[1])
        : WIDTHS[(field.type || '').replace(/\(.*/, '')];
    if (size === undefined) {
      // A text ends with 00 01, flipped in falling order; the last one of rising order has no end.
      const end = field.desc ? 'fffe' : '0001';
      let stop = hex.indexOf(end, at * 2);
      while (stop >= 0 && stop % 2) stop = hex.indexOf(end, stop + 1);
      size = stop < 0 ? hex.length / 2 - at : stop / 2 + 2 - at;
    }
    out.push(size);
    at += size;
  }
  return at * 2 === hex.length ? out : null;
}

class RowsPage {
  /** @param {TablePage} page */
  constructor(page) {
    this.page = page;
    this.form = 'auto';
    /** @type {RowKey | null} */
    this.schema = page.info()?.row_key || null;
    this.by = page.choice('by', ['fields', 'key'], 'key');
    /** @type {Record<string, HTMLInputElement>} */
    this.inputs = {};
    /** @type {string[]} */
    this.columns = [];
    this.selected = page.params.get('row') || '';
    this.query = h('form', {
      class: 'rq',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        this.scan();
      },
    });
    this.plan = h('div', { class: 'plan' }, 'Plan');
    this.side = h('section', { class: 'panel rowside', 'aria-label': 'Row' });
    /** @type {Grid<Row>} */
    this.grid = new Grid({
      label: `Rows of ${page.table}`,
      signal: page.signal,
      sort: '',
      onSort: () => {},
      columns: this.tracks(),
      onOpen: row => this.open(row),
      card: row => [
        h(
          'div',
          null,
          keyView(row.key, { schema: this.schema }),
          h('div', { class: 'sub' }, row.cells[0] ? valueView(row.cells[0], this.form) : ''),
        ),
        h(
          'div',
          { class: 'nums' },
          h(
            'div',
            { class: 'num' },
            `${row.cells.length} ${row.cells.length === 1 ? 'cell' : 'cells'}`,
          ),
        ),
      ],
    });
    page.root.append(
      this.query,
      this.plan,
      h('div', { class: 'cols grow' }, this.grid.element, this.side),
    );
    this.drawSide(null);
    this.grid.state(loading());
    onPrefs(() => {
      if (this.row) this.open(this.row);
    }, page.signal);
    let first = true;
    page.onTable(info => {
      const changed = first || this.schema?.ddl !== info.row_key?.ddl;
      this.schema = info.row_key;
      if (!changed) return;
      if (first && !page.params.has('by') && info.row_key) this.by = 'fields';
      if (!info.row_key) this.by = 'key';
      first = false;
      this.drawQuery();
      this.scan();
    });
    page.poll(async () => {});
  }

  /** @param {string} name @param {string} label @param {string} hint @param {number} width */
  input(name, label, hint, width) {
    const input = h('input', {
      type: 'text',
      placeholder: hint,
      value: this.page.params.get(name) || '',
      spellcheck: 'false',
      autocomplete: 'off',
    });
    input.style.width = `${width}px`;
    this.inputs[name] = input;
    return h('label', null, h('code', null, label), input);
  }

  drawQuery() {
    this.inputs = {};
    const salt = this.schema?.fields.find(field => field.derived);
    const fields =
      this.by === 'fields'
        ? (this.schema?.fields || [])
            .filter(field => !field.derived)
            .flatMap(field => this.fieldInputs(field))
        : [
            this.input('prefix', 'prefix', 'any', 200),
            this.input('start', 'start', '(first)', 200),
            this.input('stop', 'stop', '(last)', 200),
          ];
    fill(
      this.query,
      this.schema &&
        segments(
          'Select',
          [
            ['fields', 'By fields'],
            ['key', 'By row key'],
          ],
          this.by,
          value => {
            this.by = value;
            this.page.set({ by: value });
            this.drawQuery();
          },
        ),
      fields,
      this.by === 'fields' &&
        salt &&
        h(
          'label',
          null,
          h('code', null, salt.name),
          h('span', { class: 'computed' }, (this.saltText = h('span', null, 'computed'))),
        ),
      this.input('cols', 'columns', 'all', 50),
      this.input('limit', 'limit', '100', 44),
      this.input('versions', 'versions', '1', 36),
      h('button', { type: 'submit', class: 'btn pri' }, 'Scan'),
      h('span', { class: 'grow' }),
      keyFormControl(),
      h(
        'label',
        null,
        h('code', null, 'values'),
        select('Values', FORMS, this.form, value => {
          this.form = value;
          this.grid.draw();
          if (this.row) this.open(this.row);
        }),
      ),
    );
  }

  /** @param {KeyField} field */
  fieldInputs(field) {
    const { name, type } = field;
    if (/TIME|DATE/.test(type || ''))
      return [
        this.input(`${name}.ge`, `${name} \u2265`, 'any', 116),
        this.input(`${name}.lt`, `${name} <`, 'now', 116),
      ];
    if (/^[UI]\d|INT|DOUBLE|FLOAT/.test(type || ''))
      return [this.input(name, `${name} =`, 'any', 72)];
    return [this.input(name, `${name} =`, 'any, begin*', 98)];
  }

  /** Parameters of the request, from the inputs. */
  params() {
    /** @type {Record<string, string>} */
    const params = { limit: '100' };
    for (const [name, input] of Object.entries(this.inputs)) {
      const value = input.value.trim();
      if (!value) continue;
      const plain =
        ['prefix', 'start', 'stop', 'limit', 'versions', 'cols'].includes(name) &&
        (this.by === 'key' || ['limit', 'versions', 'cols'].includes(name));
      if (plain) params[name] = value;
      else if (value.length > 1 && value.endsWith('*'))
        params[`field.${name}.prefix`] = value.slice(0, -1);
      else params[`field.${name}`] = value;
    }
    // Without a bound the server would read by fields, and leave out keys that do not decode.
    if (this.by === 'key' && this.schema && !params.start && !params.prefix) params.start = '\\x00';
    return params;
  }

  /** Conditions as the plan page reads them. */
  conditions() {
    const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", "''")}'`;
    return Object.entries(this.params())
      .filter(([name]) => name.startsWith('field.'))
      .map(([name, value]) => {
        const [, field = '', op = ''] = name.split('.');
        const sign = { ge: '>=', lt: '<' }[op] || '=';
        return `${field}${sign}${quoted(value)}${op === 'prefix' ? '*' : ''}`;
      })
      .join(' ');
  }

  /** @param {string} [next] token of the page after the rows that are shown */
  async scan(next) {
    const { page, grid } = this;
    if (!next) {
      /** @type {Record<string, string | null>} */
      const state = { by: this.by };
      for (const [name, input] of Object.entries(this.inputs))
        state[name] = input.value.trim() || null;
      page.set(state);
      grid.rows.clear();
      grid.setTotal(0);
      grid.state(loading());
    }
    const serial = (this.serial = (this.serial || 0) + 1);
    try {
      /** @type {RowsAnswer} */
      const answer = await get(
        ofTable(page.table, '/rows'),
        { ...this.params(), next, value_bytes_max: 1024 },
        page.signal,
      );
      if (serial !== this.serial) return;
      this.take(answer);
    } catch (error) {
      if (isAbort(error) || serial !== this.serial) return;
      if (next) toast(error instanceof Error ? error.message : String(error));
      else grid.state(failure(error, () => this.scan()));
    }
  }

  /** @param {RowsAnswer} answer */
  take(answer) {
    const { grid } = this;
    const from = grid.total;
    answer.rows.forEach((row, at) => grid.rows.set(from + at, row));
    const names = new Set(from ? this.columns : []);
    for (const row of answer.rows) row.cells.forEach(cell => names.add(columnOf(cell)));
    this.columns = [...names].slice(0, 12);
    grid.options.columns = this.tracks();
    const total = from + answer.rows.length;
    grid.state(
      total
        ? null
        : empty(
            'No row fits',
            h('p', null, 'Rows with all cells deleted or expired are not shown.'),
          ),
    );
    grid.layout();
    grid.setTotal(total);
    this.drawPlan(answer);
    const { next } = answer;
    fill(
      grid.foot,
      h('span', null, `${count(total)} rows`),
      next &&
        total < KEPT &&
        h(
          'button',
          {
            type: 'button',
            class: 'link',
            onclick: () => this.scan(next),
          },
          `Next ${this.inputs.limit?.value || 100}`,
        ),
      h(
        'span',
        { class: 'opt' },
        next
          ? 'Paging continues after the last key, so splits and new rows do not shift pages'
          : 'All rows that fit',
      ),
    );
    const shown =
      answer.rows.find(row => row.key.hex === this.selected) || (from ? null : answer.rows[0]);
    if (shown && innerWidth > 1180) this.open(shown);
  }

  /** @param {RowsAnswer} answer */
  drawPlan(answer) {
    const { plan, rows } = answer;
    const salts = plan.salts || [];
    if (this.saltText)
      this.saltText.textContent =
        salts.length === 1 ? `${salts[0]} computed` : `all ${salts.length || ''}`;
    const conditions = this.conditions();
    fill(
      this.plan,
      h('span', null, 'Plan'),
      salts.length === 1 && h('span', null, h('b', null, `salt ${salts[0]} computed`)),
      h(
        'span',
        null,
        h('b', null, count(plan.ranges)),
        plan.ranges === 1 ? ' range, ' : ' ranges, ',
        h('b', null, count(plan.regions)),
        plan.regions === 1 ? ' region' : ' regions',
      ),
      h(
        'span',
        null,
        h('b', null, count(plan.rows_examined)),
        ' rows examined, ',
        h('b', null, count(rows.length)),
        ' returned',
      ),
      h('span', null, h('b', null, duration(plan.ms))),
      h('span', { class: 'grow' }),
      this.by === 'fields' &&
        h('a', { class: 'link', href: planHref(this.page.table, conditions) }, 'Explain'),
    );
  }

  /** @returns {Column<Row>[]} */
  tracks() {
    const fields = this.schema?.fields || [];
    /** @type {Column<Row>[]} */
    const keys = fields.length
      ? fields.map((field, at) => ({
          id: 'k',
          name: field.name,
          width: field.derived ? '38px' : 'minmax(70px, 130px)',
          cell: row =>
            row.key.fields
              ? h(
                  'span',
                  { class: field.derived ? 'mono faint' : 'mono', title: row.key.fields[at] },
                  shortField(row.key.fields[at] ?? ''),
                )
              : at === 0
                ? h('span', { class: 'whole' }, keyView(row.key, { schema: this.schema }))
                : '',
        }))
      : [{ id: 'k', name: 'Row key', width: 'minmax(140px, 1fr)', cell: row => keyView(row.key) }];
    return [
      ...keys,
      ...this.columns.map(name => ({
        id: 'v',
        name,
        width: 'minmax(90px, 2fr)',
        cell: (/** @type {Row} */ row) => {
          const cells = row.cells.filter(cell => columnOf(cell) === name);
          const [cell] = cells;
          return cell
            ? [
                valueView(cell, this.form),
                cells.length > 1 && h('span', { class: 'chip line' }, `${cells.length} versions`),
              ]
            : h('span', { class: 'faint' }, NONE);
        },
      })),
    ];
  }

  /** @param {Row} row */
  open(row) {
    this.row = row;
    this.selected = row.key.hex;
    this.page.set({ row: row.key.hex.slice(0, 512) });
    for (const [at, known] of this.grid.rows)
      if (known === row && this.grid.cursor !== at) this.grid.select(at);
    this.drawSide(row);
  }

  /** @param {Row | null} row */
  drawSide(row) {
    if (!row) {
      fill(
        this.side,
        h('header', null, h('h2', null, 'Row')),
        h('p', { class: 'nothing' }, 'Choose a row to see its bytes and versions.'),
      );
      return;
    }
    const { key } = row;
    const fields = this.schema?.fields || [];
    const data = fromHex(key.hex);
    fill(
      this.side,
      h(
        'header',
        null,
        h('h2', null, 'Row'),
        h('span', { class: 'grow' }),
        iconButton('copy', 'Copy the key', () => copy(escaped(key.hex), 'Key copied as \\x text')),
      ),
      key.fields &&
        h(
          'div',
          { class: 'sec' },
          h('h3', null, 'Key fields'),
          h(
            'dl',
            { class: 'kv three' },
            fields.flatMap((field, at) => [
              h('dt', null, field.name),
              h('dd', { class: 'mono wrap' }, visible(key.fields?.[at] ?? NONE)),
              h('dd', { class: 'faint r' }, fieldType(field)),
            ]),
          ),
        ),
      h(
        'div',
        { class: 'sec' },
        h('h3', null, `Key bytes \u00b7 ${group(key.len || data.length)}`),
        this.anatomy(key, data),
        h('div', { class: 'mono faint wrap' }, escapedKey(key)),
      ),
      h(
        'div',
        { class: 'sec' },
        h(
          'h3',
          null,
          row.cells_total && row.cells_total > row.cells.length
            ? `Cells \u00b7 ${row.cells.length} of ${count(row.cells_total)}`
            : 'Cells',
        ),
        this.cells(row),
      ),
    );
  }

  /** Bytes of a key, under the names of their fields. @param {Key} key @param {Uint8Array} data */
  anatomy(key, data) {
    const fields = this.schema?.fields || [];
    const sizes = key.fields && !key.len ? segmentBytes(key.hex, fields) : null;
    if (!sizes)
      return h(
        'div',
        { class: 'anat mono' },
        h('div', { class: 'k1' }, h('span', { class: 'by' }, spaced(data))),
      );
    let at = 0;
    return h(
      'div',
      { class: 'anat mono' },
      sizes.map((size, index) => {
        const part = data.subarray(at, (at += size));
        return h(
          'div',
          { class: fields[index].derived ? 'k0' : `k${1 + (index % 4)}` },
          h('span', { class: 'by' }, spaced(part)),
          h('span', { class: 'nm' }, `${fields[index].name} \u00b7 ${size} B`),
        );
      }),
    );
  }

  /**
   * Link to the bytes of a cell. A key that was cut names another row.
   * @param {Row} row
   * @param {Row['cells'][number]} cell
   */
  saveLink(row, cell) {
    if (row.key.len || cell.qualifier.len) {
      const title = 'The key is longer than this page shows: read the cell with halite shell';
      return h('span', { class: 'faint', title }, 'Not saved from here');
    }
    const href = url(ofTable(this.page.table, '/cell'), {
      row: row.key.hex,
      family: utf8Hex(cell.family),
      qualifier: cell.qualifier.hex,
      ts: cell.ts,
    });
    return h('a', { class: 'link', href, download: '' }, 'Save');
  }

  /** @param {Row} row */
  cells(row) {
    let last = '';
    return h(
      'table',
      { class: 'cells' },
      h(
        'tbody',
        null,
        row.cells.map(cell => {
          const name = columnOf(cell);
          const older = name === last;
          last = name;
          return h(
            'tr',
            { class: older ? 'old' : null },
            h('th', { scope: 'row', class: 'mono' }, older ? '' : name),
            h(
              'td',
              null,
              h('div', { class: 'wrap' }, valueView(cell, this.form)),
              h(
                'div',
                { class: 'ver' },
                `${stamp(cell.ts)} \u00b7 ${group(cell.value.len)} B${cell.type === 'Put' ? '' : ` \u00b7 ${cell.type}`}${older ? ' \u00b7 older version' : ''} `,
                this.saveLink(row, cell),
              ),
            ),
          );
        }),
      ),
    );
  }
}

/** @param {string} text */
const utf8Hex = text =>
  Array.from(new TextEncoder().encode(text), byte => byte.toString(16).padStart(2, '0')).join('');

/** @param {TablePage} page */
export function show(page) {
  new RowsPage(page);
}
