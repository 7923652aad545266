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

/** Look of both maps. */
const LOOK = { scale: 'region', unit: 's', brightness: 0, lock: null, before: null };

/** What another key would serve worse. @param {WhatIfAnswer} answer @param {string} ddl */
function worseLine(answer, ddl) {
  const worse = answer.worse || [];
  const texts = worse.map(one => `${one.query}: ${one.now} \u2192 ${one.then}`);
  const sampled = (answer.sampled || '').replace('/', ' in ');
  return h(
    'div',
    { class: 'worse' },
    h(
      'span',
      null,
      worse.length
        ? [h('b', null, 'Serves worse: '), texts.join('; ')]
        : h('b', null, 'No query is served worse'),
    ),
    h(
      'span',
      { class: 'faint' },
      answer.operations ? `${num(answer.operations)} recorded operations, ${sampled}` : '',
    ),
    h('span', { class: 'grow' }),
    answer.migration && button('Show migration', () => migration(answer, ddl)),
  );
}

class WhatIfPage {
  /** @param {TablePage} page */
  constructor(page) {
    this.page = page;
    /** @type {Candidate[]} */
    this.candidates = [];
    this.chosen = page.params.get('key') || '';
    /** `true` once the candidates were asked for. */
    this.asked = false;
    this.cands = h('div', { class: 'cands' });
    this.figures = h('div');
    this.worse = h('div');
    this.now = half('Recorded');
    this.then = half('What if, the same sampled operations');
    this.maps = h('div', { class: 'wi grow' }, this.now.element, this.then.element);
    this.body = h('div', { class: 'page inner grow' }, this.figures, this.maps, this.worse);
    this.left = this.map(this.now.host, 'Recorded load', level => this.fieldName(level));
    this.right = this.map(this.then.host, 'Load under the other key', level => (level ? '' : 'key'));
    page.root.append(h('div', { class: 'tools' }, this.cands, this.form()), this.body);
    fill(this.figures, loading(2));
    this.watch();
    page.poll(() => this.loadCandidates());
  }

  /** Name of a field of the table's own key. @param {number} level */
  fieldName(level) {
    const field = this.page.info()?.row_key?.fields[level];
    return field ? field.name : level ? '' : 'row key';
  }

  /** @param {HTMLElement} host @param {string} name @param {(level: number) => string} names */
  map(host, name, names) {
    const view = new HeatView(host, { names });
    view.over.setAttribute('role', 'img');
    view.over.setAttribute('aria-label', `${name}; its figures are above`);
    view.over.removeAttribute('tabindex');
    return view;
  }

  /** Form for a key of one's own. */
  form() {
    const own = h('input', {
      type: 'text',
      class: 'mono',
      placeholder: 'Another key: SALT(16 BY id), id U64',
      'aria-label': 'Another row key',
      spellcheck: 'false',
      'data-filter': '',
    });
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      if (own.value.trim()) this.choose(own.value.trim());
    };
    return h(
      'form',
      { class: 'planform', onsubmit: submit },
      own,
      h('button', { type: 'submit', class: 'btn' }, 'Try'),
    );
  }

  /** Draws again when the window or the preferences change, and keeps one cursor. */
  watch() {
    const { page, left, right } = this;
    const redraw = () => {
      left.draw();
      right.draw();
    };
    const observer = new ResizeObserver(redraw);
    observer.observe(this.maps);
    page.signal.addEventListener('abort', () => observer.disconnect());
    onPrefs(redraw, page.signal);
    page.onTable(info => {
      this.now.title.textContent = info.row_key?.ddl || 'no declared row key';
      redraw();
    });
    this.shareCursor(left, right);
    this.shareCursor(right, left);
  }

  /** One cursor: the same time in both maps. @param {HeatView} view @param {HeatView} other */
  shareCursor(view, other) {
    view.over.addEventListener('pointermove', event => {
      view.cursor = view.at(event.offsetX, event.offsetY);
      if (other.model && view.model && view.cursor) {
        const { cols } = other.model;
        const c = Math.floor((view.cursor.c / view.model.cols) * cols);
        other.cursor = { i: other.cursor?.i ?? 0, c: Math.min(cols - 1, c) };
      }
      this.drawCursors();
    });
    view.over.addEventListener('pointerleave', () => {
      view.cursor = other.cursor = null;
      this.drawCursors();
    });
  }

  drawCursors() {
    this.left.drawOver();
    this.right.drawOver();
  }

  drawCandidates() {
    const candidate = (/** @type {Candidate} */ one) =>
      h(
        'button',
        {
          type: 'button',
          class: 'cand',
          'aria-pressed': String(this.chosen === (one.id || one.ddl)),
          onclick: () => this.choose(one.id || one.ddl),
        },
        h('code', null, one.ddl),
        h('span', null, one.note || ''),
      );
    fill(this.cands, this.candidates.map(candidate));
  }

  /** @param {string} key id of a candidate, or a key */
  choose(key) {
    this.chosen = key;
    this.page.set({ key }, true);
    this.drawCandidates();
    this.load();
  }

  /** Part of the load that is compared. */
  span() {
    const { params } = this.page;
    const to = Number(params.get('to')) || Date.now();
    const from = Number(params.get('from')) || to - 21600e3;
    return { to, from, metric: params.get('metric') || 'writes', rows: 256, cols: 360 };
  }

  async load() {
    const { page, chosen } = this;
    const ddl = this.candidates.find(one => (one.id || one.ddl) === chosen)?.ddl || chosen;
    if (!ddl) return;
    this.maps.classList.add('waits');
    const asked = this.span();
    try {
      /** @type {[Heat, WhatIfAnswer]} */
      const [heat, answer] = await Promise.all([
        loadHeat(page.table, asked, page.signal),
        get(ofTable(page.table, '/what-if'), { row_key: ddl, ...asked }, page.signal),
      ]);
      this.show(heat, answer, ddl);
    } catch (error) {
      if (!isAbort(error)) this.fail(error);
    } finally {
      this.maps.classList.remove('waits');
    }
  }

  /** @param {unknown} error */
  fail(error) {
    const why = failure(error, () => this.load(), 'Operations are not sampled here');
    fill(this.figures, h('div', { class: 'panel' }, why));
  }

  /** @param {Heat} heat @param {WhatIfAnswer} answer @param {string} ddl */
  show(heat, answer, ddl) {
    const { now, then } = this;
    then.title.textContent = ddl;
    fill(
      then.tools,
      button('Copy', () => copy(ddl, 'Row key copied'), { icon: 'copy' }),
    );
    fill(this.figures, answer.metrics && deltas(answer.metrics), notes(answer));
    showVerdict(now.verdict, answer.verdicts?.now);
    showVerdict(then.verdict, answer.verdicts?.then);
    const other = answer.heat && fromJson(answer.heat);
    // One scale for both.
    const both = other ? [heat, other] : [heat];
    const lock = scaleOf(both.map(one => new HeatModel(one, LOOK).level()));
    this.left.show(new HeatModel(heat, { ...LOOK, lock }));
    if (other) this.right.show(new HeatModel(other, { ...LOOK, lock }));
    fill(this.worse, answer.metrics && worseLine(answer, ddl));
  }

  /** Asks once which keys are proposed, and tries the first. */
  async loadCandidates() {
    if (this.asked) return;
    this.asked = true;
    const { page } = this;
    try {
      /** @type {WhatIfAnswer} */
      const answer = await get(ofTable(page.table, '/what-if'), {}, page.signal);
      this.candidates = answer.candidates || [];
      this.chosen = this.chosen || this.candidates[0]?.id || this.candidates[0]?.ddl || '';
      this.drawCandidates();
      if (this.chosen) await this.load();
      else this.noCandidates(answer);
    } catch (error) {
      if (isAbort(error)) return;
      this.asked = problemOf(error).kind === 'missing_source';
      const again = this.asked ? undefined : () => this.loadCandidates();
      const why = failure(error, again, 'Operations are not sampled here');
      if (this.asked) fill(this.body, why);
      else fill(this.figures, h('div', { class: 'panel' }, why));
    }
  }

  /** @param {WhatIfAnswer} answer */
  noCandidates(answer) {
    fill(
      this.body,
      empty(
        'No other key is proposed',
        h('p', null, 'Write one above to see what it would do.'),
        notes(answer),
      ),
    );
  }
}

/** @param {TablePage} page */
export function show(page) {
  new WhatIfPage(page);
}
