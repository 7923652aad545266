// Schema: the row key and its fields, families, findings of lint, and the plan of a query.

import { get, isAbort, ofTable } from './api.js';
import { fill, h } from './dom.js';
import { NONE, count, duration, num } from './format.js';
import { keyView, ribbon } from './keys.js';
import { failure, into, panel } from './states.js';
import { button, chip, copy, meter } from './widgets.js';

/**
 * @param {(string | Child)[]} heads
 * @param {HTMLTableRowElement[]} rows
 * @param {number[]} [right]
 */
const table = (heads, rows, right = []) =>
  h(
    'table',
    { class: 'mini' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        heads.map((head, at) =>
          h('th', { scope: 'col', class: right.includes(at) ? 'r' : null }, head),
        ),
      ),
    ),
    h('tbody', null, rows),
  );

/** @param {TableAnswer} info @param {string} name */
const isText = (info, name) =>
  info.ddl || `${name}, ${info.families.map(family => `{NAME => '${family.name}'}`).join(', ')}`;

/** Statement of the HBase shell that creates the table. @param {TableAnswer} info */
function shellStatement(info) {
  const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", "\\'")}'`;
  const families = info.families.map(family => {
    const options = [`NAME => ${quoted(family.name)}`, `VERSIONS => ${family.versions}`];
    if (family.ttl_s) options.push(`TTL => ${family.ttl_s}`);
    if (family.compression && family.compression !== 'NONE')
      options.push(`COMPRESSION => ${quoted(family.compression)}`);
    if (family.data_block_encoding && family.data_block_encoding !== 'NONE')
      options.push(`DATA_BLOCK_ENCODING => ${quoted(family.data_block_encoding)}`);
    return `{${options.join(', ')}}`;
  });
  return `create ${[quoted(info.name), ...families].join(', ')}`;
}

/** @param {TableAnswer} info */
function definition(info) {
  const parts = [];
  if (info.row_key_error)
    parts.push(h('p', { class: 'sec' }, chip('not readable', 'bad'), ` ${info.row_key_error}`));
  if (!info.row_key) {
    parts.push(
      h(
        'p',
        { class: 'sec muted' },
        'The table declares no row key: keys are shown as the HBase shell prints them. ',
        'ALTER TABLE \u2026 SET ROW KEY declares one without changing a byte.',
      ),
    );
  }
  parts.push(
    h(
      'div',
      { class: 'sec' },
      h('h3', null, 'Definition'),
      h('pre', null, info.ddl || shellStatement(info)),
    ),
  );
  const attributes = Object.entries(info.attributes || {});
  if (attributes.length) {
    parts.push(
      h(
        'div',
        { class: 'sec' },
        h('h3', null, 'Attributes'),
        h(
          'dl',
          { class: 'facts2' },
          attributes.flatMap(([name, value]) => [
            h('dt', null, name),
            h('dd', { class: 'mono wrap' }, value),
          ]),
        ),
      ),
    );
  }
  parts.push(
    h(
      'div',
      { class: 'acts' },
      button(
        info.ddl ? 'Copy DDL' : 'Copy',
        () => copy(isText(info, info.name), 'Definition copied'),
        { icon: 'copy' },
      ),
      button('As HBase shell', () => copy(shellStatement(info), 'Statement copied')),
    ),
  );
  return parts;
}

/** @param {TableAnswer} info */
function fields(info) {
  const { key_stats: stats, row_key: key } = info;
  if (stats && stats.length) {
    return table(
      ['Field', 'Distinct', 'Lowest', 'Highest', 'Bytes', 'Use'],
      stats.map(field =>
        h(
          'tr',
          null,
          h('td', { class: 'mono' }, field.field),
          h('td', { class: 'r' }, num(field.distinct)),
          h('td', { class: 'mono clip' }, field.lowest),
          h('td', { class: 'mono clip' }, field.highest),
          h('td', { class: 'r' }, num(field.bytes)),
          h('td', { class: 'muted' }, field.use),
        ),
      ),
      [1, 4],
    );
  }
  return table(
    ['Field', 'Type', 'Order', ''],
    (key?.fields || []).map(field =>
      h(
        'tr',
        null,
        h('td', { class: 'mono' }, field.name),
        h('td', null, field.type || field.ddl || NONE),
        h('td', null, field.desc ? 'greatest first' : 'least first'),
        h('td', { class: 'muted' }, field.derived ? 'computed' : ''),
      ),
    ),
  );
}

/** @param {NonNullable<TableAnswer['bytes_per_cell']>} sizes */
function sizes(sizes) {
  const codecs = [...new Set(sizes.map(size => size.codec))];
  const encodings = [...new Set(sizes.map(size => size.encoding))];
  const top = Math.max(...sizes.map(size => size.bytes));
  return table(
    ['Data block encoding', ...codecs.map(codec => (codec === 'NONE' ? 'No codec' : codec))],
    encodings.map(encoding =>
      h(
        'tr',
        null,
        h('td', null, encoding),
        codecs.map(codec => {
          const size = sizes.find(one => one.encoding === encoding && one.codec === codec);
          return h(
            'td',
            { class: 'r' },
            size
              ? [
                  meter(size.bytes / top),
                  ' ',
                  h(size.in_use ? 'b' : 'span', { class: 'figure' }, num(size.bytes)),
                ]
              : NONE,
          );
        }),
      ),
    ),
    codecs.map((_, at) => at + 1),
  );
}

/** @param {TableAnswer} info */
const families = info =>
  table(
    ['Name', 'Versions', 'TTL', 'Bloom', 'Codec', 'Encoding'],
    info.families.map(family =>
      h(
        'tr',
        null,
        h('td', { class: 'mono' }, family.name),
        h('td', null, num(family.versions)),
        h('td', null, family.ttl_s ? duration(family.ttl_s * 1000) : NONE),
        h('td', null, family.bloom),
        h('td', null, family.compression),
        h('td', null, family.data_block_encoding),
      ),
    ),
  );

/** @param {Lint[]} findings */
const lint = findings =>
  findings.length
    ? findings.map(finding =>
        h(
          'div',
          { class: 'sec' },
          chip(
            finding.rule,
            finding.severity === 'error'
              ? 'bad'
              : finding.severity.startsWith('warn')
                ? 'warn'
                : '',
          ),
          h('p', null, finding.text),
          finding.fix && h('pre', { class: 'faint' }, finding.fix),
        ),
      )
    : h('p', { class: 'nothing' }, 'No rule has a finding.');

/** @param {any} plan @param {RowKey | null | undefined} schema */
const planView = (plan, schema) => [
  h(
    'p',
    null,
    'Ranges ',
    h('b', null, num(plan.ranges_total ?? plan.ranges.length)),
    ' \u00b7 regions ',
    h('b', null, num(plan.regions)),
    ' \u00b7 fan-out ',
    h('b', null, num(plan.fan_out)),
    ' \u00b7 ',
    plan.sort ? chip('needs a sort', 'warn') : 'in key order',
  ),
  plan.text && h('pre', null, plan.text),
  h(
    'ol',
    { class: 'ranges' },
    plan.ranges
      .slice(0, 16)
      .map((/** @type {any} */ range) =>
        h(
          'li',
          null,
          keyView(range.start, { schema, none: '(first)' }),
          ' to ',
          keyView(range.stop, { schema, none: '(last)' }),
        ),
      ),
  ),
];

/** @param {TablePage} page */
export function show(page) {
  const rowKey = panel('Row key', '');
  const fieldPanel = panel('Fields', '');
  const sizePanel = panel('Bytes per cell', 'sampled blocks encoded each way');
  const lintPanel = panel('Lint', '');
  const familyPanel = panel('Families', '');
  const planPanel = panel('Plan of a query', 'conditions on fields, with blanks between them');
  const planned = h('div', { class: 'planned' });
  const input = h('input', {
    type: 'text',
    class: 'wide mono',
    value: page.params.get('plan') || '',
    placeholder: "device_id='sensor_00042' ts>='2024-03-15T00:00:00Z'",
    'aria-label': 'Conditions',
    'data-filter': '',
    spellcheck: 'false',
  });
  const plan = async () => {
    page.set({ plan: input.value });
    if (!input.value.trim()) {
      fill(planned);
      return;
    }
    try {
      fill(
        planned,
        planView(
          await get('/api/plan', { table: page.table, query: input.value }, page.signal),
          page.info()?.row_key,
        ),
      );
    } catch (error) {
      if (!isAbort(error)) fill(planned, failure(error));
    }
  };
  fill(
    planPanel.body,
    h(
      'form',
      {
        class: 'sec planform',
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          plan();
        },
      },
      input,
      button('Plan', plan),
    ),
    planned,
  );
  const ribbonHost = h('span');
  rowKey.element.querySelector('header')?.append(ribbonHost);
  page.root.classList.add('flow');
  page.root.append(
    h(
      'div',
      { class: 'over' },
      h(
        'div',
        { class: 'col' },
        rowKey.element,
        fieldPanel.element,
        sizePanel.element,
        planPanel.element,
      ),
      h('div', { class: 'col' }, lintPanel.element, familyPanel.element),
    ),
  );
  sizePanel.element.hidden = true;
  page.onTable(info => {
    fill(ribbonHost, ribbon(info.row_key));
    fill(rowKey.body, definition(info));
    fill(fieldPanel.body, fields(info));
    fieldPanel.notes.textContent = info.key_stats ? 'from sampled keys' : 'as declared';
    fieldPanel.element.hidden = planPanel.element.hidden = !info.row_key;
    sizePanel.element.hidden = !info.bytes_per_cell || !info.bytes_per_cell.length;
    if (info.bytes_per_cell) fill(sizePanel.body, sizes(info.bytes_per_cell));
    fill(familyPanel.body, families(info));
  });
  const loadLint = () =>
    into(
      page,
      lintPanel.body,
      ofTable(page.table, '/lint'),
      {},
      (/** @type {{findings: Lint[], rules: number}} */ answer) => {
        lintPanel.notes.textContent = `${count(answer.findings.length)} of ${count(answer.rules)} rules`;
        return lint(answer.findings);
      },
      'Lint is not available here',
    );
  let asked = false;
  page.poll(async () => {
    if (asked) return;
    asked = true;
    await loadLint();
    if (input.value) await plan();
  });
}
