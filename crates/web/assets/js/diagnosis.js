// The diagnosis: names and signs of shapes, the strip that heads a table's pages, the fix.

import { h, svg } from './dom.js';
import { factor, percent } from './format.js';
import { keyView } from './keys.js';
import { SHAPE_NAMES, SPLITS } from './picture.js';
import { tableHref } from './place.js';
import { button, chip, copy, dialog, linkButton } from './widgets.js';

/**
 * Signs of shapes: lines and areas as paths in 30 x 16.
 * @type {Record<string, [string, string?]>}
 */
const SIGNS = {
  even: [
    'M6 5h.1M11 5h.1M16 5h.1M21 5h.1M8 8h.1M13 8h.1M18 8h.1M23 8h.1M6 11h.1M11 11h.1M16 11h.1M21 11h.1',
  ],
  frontier: ['M3 3 27 13'],
  hot_row: ['M3 8h24'],
  hot_prefix: ['', 'M11 6h16v4H11z'],
  hot_range: ['', 'M10 4h10v8H10z'],
  periodic: ['', 'M6 3h3v10H6zM13.500 3h3v10h-3zM21 3h3v10h-3z'],
  sweep: ['M4 3 10 13M11 3 17 13M18 3 24 13'],
  salt_imbalance: ['M4 4.500h22M4 7h22', 'M4 9.500h22V13H4z'],
  tombstone_head: ['M4 4 27 9', 'M4 6 27 11 27 13 4 8z'],
  idle: ['M5 8h20'],
  too_few: ['M5 8h3M13 8h3M21 8h3'],
};

/** @param {string | null | undefined} shape */
export const shapeName = shape => (shape ? SHAPE_NAMES[shape] || shape : '');

/** @param {string | null | undefined} shape */
export function glyph(shape) {
  const [line, area] = SIGNS[shape || ''] || SIGNS.idle || [''];
  return svg(
    'svg',
    { class: 'glyph', width: 30, height: 16, viewBox: '0 0 30 16', 'aria-hidden': 'true' },
    svg('rect', { class: 'frame', x: 0.5, y: 0.5, width: 29, height: 15, rx: 2 }),
    line ? svg('path', { class: 'ln', d: line }) : null,
    area ? svg('path', { class: 'fl', d: area }) : null,
  );
}

/** @param {DiagnosisAnswer} answer */
export const findingsOf = answer => answer.findings || [];

/** @param {string | undefined} split */
export const splitText = split => (split && SPLITS[split]) || '';

/** @param {Finding} finding */
export const splitChip = finding =>
  splitText(finding.split)
    ? h(
        'span',
        {
          class: splitText(finding.split).endsWith('helps') ? 'chip ok' : 'chip',
          title: finding.why,
        },
        splitText(finding.split),
      )
    : null;

/** @param {Finding} finding */
const isNamed = finding =>
  Boolean(finding.confidence) && finding.shape !== 'idle' && finding.shape !== 'too_few';

/**
 * Strip of the worst finding; null if there is none.
 * @param {string} table
 * @param {string} page
 * @param {Finding[]} findings
 */
export function strip(table, page, findings) {
  const [worst, ...others] = findings;
  if (!worst) return null;
  const calm = worst.severity !== 'bad' && worst.severity !== 'warn';
  return h(
    'section',
    { class: `diag ${worst.severity}`, 'aria-label': 'Diagnosis' },
    h(
      'span',
      { class: 'name' },
      glyph(worst.shape),
      h('b', null, shapeName(worst.shape)),
      h(
        'span',
        null,
        [isNamed(worst) ? percent(worst.confidence) : '', worst.rule]
          .filter(Boolean)
          .join(' \u00b7 '),
      ),
    ),
    h(
      'p',
      { title: worst.text },
      worst.text,
      others.length > 0 && h('span', { class: 'faint' }, ` and ${others.length} more`),
    ),
    h(
      'span',
      { class: 'do' },
      !calm && splitChip(worst),
      worst.fix && button('Fix', () => showFix(worst)),
      !calm && h('a', { class: 'btn pri', href: tableHref(table, 'what-if') }, 'Try in what-if'),
      page !== 'heat' &&
        h('a', { class: 'btn nophone', href: tableHref(table, 'heat') }, 'Heat map'),
    ),
  );
}

/** Names of evidence figures. @type {Record<string, string>} */
const EVIDENCE = {
  d1_p99: 'Window skew (D1, p99)',
  d2: 'Load lands on (D2, regions)',
  d3: 'Static balance (D3)',
  frontiers: 'Frontiers',
  last_percent_share: 'Load in the newest 1 % of keys',
};

/** Region with the most requests. @param {NonNullable<Finding['region']>} region */
const busiest = region =>
  h(
    'p',
    { title: region.encoded_name },
    'Busiest region: from ',
    keyView(region.start_key, { none: 'the first row' }),
    ' to ',
    keyView(region.end_key, { none: 'the last row' }),
    region.server ? ` on ${region.server.split(',').slice(0, 2).join(':')}` : '',
    `, ${percent(region.share)} of the requests`,
  );

/** @param {Finding} finding */
export function showFix(finding) {
  const fix = finding.fix;
  const evidence = Object.entries(finding.evidence || {});
  const box = dialog(
    `${shapeName(finding.shape)}: ${finding.table}`,
    [
      h('p', null, finding.text),
      finding.region && busiest(finding.region),
      evidence.length > 0 &&
        h(
          'dl',
          { class: 'facts2' },
          evidence.flatMap(([name, value]) => [
            h('dt', null, EVIDENCE[name] || name),
            h('dd', null, name.endsWith('share') ? percent(value) : factor(value)),
          ]),
        ),
      splitText(finding.split) &&
        h(
          'p',
          null,
          chip(splitText(finding.split), splitText(finding.split).endsWith('helps') ? 'ok' : ''),
          finding.why ? ` ${finding.why}` : '',
        ),
      fix && h('pre', null, fix.text),
    ],
    {
      actions: [
        linkButton('Try in what-if', tableHref(finding.table, 'what-if')),
        button('Close', () => box.close()),
        ...(fix
          ? [button('Copy', () => copy(fix.text, 'Fix copied'), { icon: 'copy', pri: true })]
          : []),
      ],
    },
  );
  box.addEventListener('click', event => {
    if (event.target instanceof HTMLAnchorElement) box.close();
  });
}
