// What-if: recorded operations redrawn under another row key, beside the map as it is.

import { get, isAbort, ofTable, problemOf } from './api.js';
import { glyph } from './diagnosis.js';
import { fill, h } from './dom.js';
import { bytes, duration, factor, num } from './format.js';
import { HeatModel, fromJson, loadHeat } from './heatdata.js';
import { HeatView } from './heatview.js';
import { onPrefs } from './prefs.js';
import { scaleOf } from './ramp.js';
import { empty, failure, loading } from './states.js';
import { button, copy, dialog } from './widgets.js';

/**
 * Metrics: name, note, whether less is better, and their form.
 * @type {Record<string, [string, string, boolean, (value: Figure) => string]>}
 */
const METRICS = {
  d1: ['Window skew', 'D1, p99 of windows', true, factor],
  d2: ['Load lands on', 'D2, effective regions', false, factor],
  d3: ['Static balance', 'D3, by rows', true, factor],
  d8: ['Fan-out', 'D8, ranges per read', true, factor],
  d11: ['Bytes per key', 'D11', true, value => bytes(value)],
  d16: ['Write ceiling', 'D16', false, value => `${num(value)}/s`],
};

/** @param {Record<string, Delta>} metrics */
const deltas = metrics =>
  h(
    'dl',
    { class: 'deltas' },
    Object.entries(METRICS)
      .filter(([id]) => metrics[id])
      .map(([id, [name, note, less, text]]) => {
        const { now, then, source, ci } = /** @type {Delta} */ (metrics[id]);
        const change = (then ?? 0) - (now ?? 0);
        const look =
          Math.abs(change) < 0.05 * Math.abs(now || 1)
            ? ''
            : change < 0 === less
              ? 'better'
              : 'worse';
        return h(
          'div',
          { class: 'delta' },
          h('dt', null, name),
          h(
            'dd',
            null,
            h('span', { class: 'faint' }, text(now), ' \u2192 '),
            h('b', { class: look }, text(then)),
          ),
          h(
            'div',
            { class: 'note' },
            [note, source, ci ? `${factor(ci[0])}\u2013${factor(ci[1])}` : '']
              .filter(Boolean)
              .join(' \u00b7 '),
          ),
        );
      }),
  );

/** @param {WhatIfAnswer} answer @param {string} ddl */
function migration(answer, ddl) {
  const plan = answer.migration;
  if (!plan) return;
  const box = dialog(
    'Migration',
    [
      h(
        'p',
        null,
        'To ',
        h('code', null, ddl),
        `: ${bytes(plan.bytes)} are written anew, about ${duration((plan.seconds || 0) * 1000)}.`,
      ),
      h('pre', null, plan.ddl),
    ],
    {
      actions: [
        button('Close', () => box.close()),
        button('Copy', () => copy(plan.ddl, 'Statements copied'), { icon: 'copy', pri: true }),
      ],
    },
  );
}

/** What the figures do not say, or why there are none. @param {WhatIfAnswer} answer */
const notes = answer =>
  answer.notes?.length
    ? h(
        'ul',
        { class: 'notes muted' },
        answer.notes.map(note => h('li', null, note)),
      )
    : null;

/** Half of the page: a title and a map. @param {string} lead */
function half(lead) {
  const title = h('code');
  const tools = h('span');
  const host = h('div', { class: 'map' });
  const verdict = h('p', { class: 'wiverdict muted' });
  return {
    title,
    verdict,
    tools,
    host,
    element: h(
      'section',
      { class: 'panel column' },
      h('header', { class: 'wihead' }, h('span', { class: 'faint' }, lead), title, tools),
      verdict,
      host,
    ),
  };
}

/** Shape of a load and how regions share it. @param {HTMLElement} at @param {Verdict} [verdict] */
const showVerdict = (at, verdict) =>
  fill(
    at,
    verdict && [
      glyph(verdict.shape),
      h('b', null, verdict.title),
      h('span', { title: verdict.split }, verdict.distribution),
    ],
  );

/** @param {TablePage} page */
export function show(page) {
  const cands = h('div', { class: 'cands' });
  const figures = h('div');
  const worse = h('div');
  const now = half('Recorded');
  const then = half('What if, the same sampled operations');
  const maps = h('div', { class: 'wi grow' }, now.element, then.element);
  const body = h('div', { class: 'page inner grow' }, figures, maps, worse);
  const names = (/** @type {boolean} */ own) => (/** @type {number} */ level) =>
    own
      ? page.info()?.row_key?.fields[level]?.name || (level ? '' : 'row key')
      : level
        ? ''
        : 'key';
  const left = new HeatView(now.host, { names: names(true) });
  const right = new HeatView(then.host, { names: names(false) });
  for (const [view, name] of /** @type {[HeatView, string][]} */ ([
    [left, 'Recorded load'],
    [right, 'Load under the other key'],
  ])) {
    view.over.setAttribute('role', 'img');
    view.over.setAttribute('aria-label', `${name}; its figures are above`);
    view.over.removeAttribute('tabindex');
  }
  const own = h('input', {
    type: 'text',
    class: 'mono',
    placeholder: 'Another key: SALT(16 BY id), id U64',
    'aria-label': 'Another row key',
    spellcheck: 'false',
    'data-filter': '',
  });
  /** @type {Candidate[]} */
  let candidates = [];
  let chosen = page.params.get('key') || '';
  page.root.append(
    h(
      'div',
      { class: 'tools' },
      cands,
      h(
        'form',
        {
          class: 'planform',
          onsubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            if (own.value.trim()) choose(own.value.trim());
          },
        },
        own,
        h('button', { type: 'submit', class: 'btn' }, 'Try'),
      ),
    ),
    body,
  );
  fill(figures, loading(2));
  const redraw = () => {
    left.draw();
    right.draw();
  };
  const observer = new ResizeObserver(redraw);
  observer.observe(maps);
  page.signal.addEventListener('abort', () => observer.disconnect());
  onPrefs(redraw, page.signal);
  page.onTable(info => {
    now.title.textContent = info.row_key?.ddl || 'no declared row key';
    redraw();
  });
  // One cursor: the same time in both maps.
  for (const [view, other] of [
    [left, right],
    [right, left],
  ]) {
    view?.over.addEventListener('pointermove', event => {
      view.cursor = view.at(event.offsetX, event.offsetY);
      if (other && other.model && view.model && view.cursor)
        other.cursor = {
          i: other.cursor?.i ?? 0,
          c: Math.min(
            other.model.cols - 1,
            Math.floor((view.cursor.c / view.model.cols) * other.model.cols),
          ),
        };
      redrawOver();
    });
    view?.over.addEventListener('pointerleave', () => {
      left.cursor = right.cursor = null;
      redrawOver();
    });
  }
  const redrawOver = () => {
    left.drawOver();
    right.drawOver();
  };

  const drawCands = () =>
    fill(
      cands,
      candidates.map(one =>
        h(
          'button',
          {
            type: 'button',
            class: 'cand',
            'aria-pressed': String(chosen === (one.id || one.ddl)),
            onclick: () => choose(one.id || one.ddl),
          },
          h('code', null, one.ddl),
          h('span', null, one.note || ''),
        ),
      ),
    );
  const choose = (/** @type {string} */ key) => {
    chosen = key;
    page.set({ key }, true);
    drawCands();
    load();
  };
  const span = () => {
    const to = Number(page.params.get('to')) || Date.now();
    return {
      to,
      from: Number(page.params.get('from')) || to - 21600e3,
      metric: page.params.get('metric') || 'writes',
      rows: 256,
      cols: 360,
    };
  };
  const load = async () => {
    const ddl = candidates.find(one => (one.id || one.ddl) === chosen)?.ddl || chosen;
    if (!ddl) return;
    maps.classList.add('waits');
    const asked = span();
    try {
      const [heat, answer] = await Promise.all([
        loadHeat(page.table, asked, page.signal),
        /** @type {Promise<WhatIfAnswer>} */ (
          get(ofTable(page.table, '/what-if'), { row_key: ddl, ...asked }, page.signal)
        ),
      ]);
      const look = { scale: 'region', unit: 's', brightness: 0, lock: null, before: null };
      const real = new HeatModel(heat, look);
      then.title.textContent = ddl;
      fill(
        then.tools,
        button('Copy', () => copy(ddl, 'Row key copied'), { icon: 'copy' }),
      );
      fill(figures, answer.metrics && deltas(answer.metrics), notes(answer));
      showVerdict(now.verdict, answer.verdicts?.now);
      showVerdict(then.verdict, answer.verdicts?.then);
      const other = answer.heat && fromJson(answer.heat);
      // One scale for both.
      const levels = other ? [real.level(), new HeatModel(other, look).level()] : [real.level()];
      const lock = scaleOf(levels);
      left.show(new HeatModel(heat, { ...look, lock }));
      if (other) right.show(new HeatModel(other, { ...look, lock }));
      const [first] = answer.worse || [];
      fill(
        worse,
        answer.metrics &&
          h(
            'div',
            { class: 'worse' },
            h(
              'span',
              null,
              first
                ? [
                    h('b', null, 'Serves worse: '),
                    (answer.worse || [])
                      .map(one => `${one.query}: ${one.now} \u2192 ${one.then}`)
                      .join('; '),
                  ]
                : h('b', null, 'No query is served worse'),
            ),
            h(
              'span',
              { class: 'faint' },
              answer.operations
                ? `${num(answer.operations)} recorded operations, ${(answer.sampled || '').replace('/', ' in ')}`
                : '',
            ),
            h('span', { class: 'grow' }),
            answer.migration && button('Show migration', () => migration(answer, ddl)),
          ),
      );
    } catch (error) {
      if (!isAbort(error))
        fill(
          figures,
          h('div', { class: 'panel' }, failure(error, load, 'Operations are not sampled here')),
        );
    } finally {
      maps.classList.remove('waits');
    }
  };
  let asked = false;
  page.poll(async () => {
    if (asked) return;
    asked = true;
    try {
      /** @type {WhatIfAnswer} */
      const answer = await get(ofTable(page.table, '/what-if'), {}, page.signal);
      candidates = answer.candidates || [];
      chosen = chosen || candidates[0]?.id || candidates[0]?.ddl || '';
      drawCands();
      if (chosen) await load();
      else
        fill(
          body,
          empty(
            'No other key is proposed',
            h('p', null, 'Write one above to see what it would do.'),
            notes(answer),
          ),
        );
    } catch (error) {
      if (isAbort(error)) return;
      asked = problemOf(error).kind === 'missing_source';
      fill(body, failure(error, undefined, 'Operations are not sampled here'));
    }
  });
}
