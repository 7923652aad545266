// Details of a region beside the list, and the actions on regions and tables with their dry runs.

import { get, isAbort, ofTable, post, problemOf, token } from './api.js';
import { fill, h, svg } from './dom.js';
import { NONE, bytes, duration, escaped, num, percent, rate, stamp } from './format.js';
import { escapedKey, keyView } from './keys.js';
import { tableHref } from './place.js';
import { failure, loading } from './states.js';
import { button, chip, copy, dialog, iconButton, linkButton, toast } from './widgets.js';

/**
 * @param {TablePage} page @param {string} encoded @param {RowKey | null} schema
 * @param {HTMLElement} host @param {() => void} changed
 */
export async function openRegion(page, encoded, schema, host, changed) {
  host.querySelector('.drawer')?.remove();
  const body = h('div', { class: 'body' }, loading(8));
  const acts = h('div', { class: 'acts' });
  const title = h('h2', { class: 'mono' }, encoded.slice(0, 12));
  const badges = h('span');
  const close = () => {
    drawer.remove();
    page.set({ region: null });
    const list = host.querySelector('.scroll');
    if (list instanceof HTMLElement) list.focus();
  };
  const drawer = h(
    'aside',
    {
      class: 'drawer',
      'aria-label': `Region ${encoded}`,
      tabindex: -1,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === 'Escape') close();
      },
    },
    h('header', null, title, badges, iconButton('close', 'Close', close)),
    body,
    acts,
  );
  host.append(drawer);
  drawer.focus({ preventScroll: true });
  const load = async () => {
    try {
      const path = ofTable(page.table, `/regions/${encodeURIComponent(encoded)}`);
      /** @type {[RegionAnswer, ClusterAnswer]} */
      const [region, cluster] = await Promise.all([
        get(path, {}, page.signal),
        page.cluster() || get('/api/cluster', {}, page.signal),
      ]);
      title.textContent = region.encoded_name.slice(0, 12);
      fill(
        badges,
        region.badges.map(badge => chip(badge.replaceAll('_', ' '), 'bad')),
      );
      fill(body, details(region, schema));
      fill(acts, actions(page.table, region, otherServers(cluster, region), changed));
    } catch (error) {
      if (isAbort(error)) return;
      const gone = problemOf(error).status === 404;
      fill(
        body,
        failure(error, gone ? undefined : load),
        gone &&
          h(
            'p',
            { class: 'center' },
            h(
              'a',
              {
                class: 'link',
                href: tableHref(page.table, 'regions'),
              },
              'All regions of the table',
            ),
          ),
      );
    }
  };
  await load();
}

/** @param {string} name @param {...Children} value */
const pair = (name, ...value) => [h('dt', null, name), h('dd', null, ...value)];

/** @param {RegionAnswer} region @param {RowKey | null} schema */
function details(region, schema) {
  const key = (/** @type {Key} */ value, /** @type {string} */ none) =>
    value.hex === ''
      ? none
      : [
          keyView(value, { schema, form: 'decoded' }),
          h('div', { class: 'raw', title: escapedKey(value) }, escapedKey(value)),
          value.fields && h('div', { class: 'raw' }, value.hex),
        ];
  const opened = Number(/,(\d+)\.[0-9a-f]{32}\.$/.exec(region.name)?.[1]);
  /** @type {[string, string][]} */
  const figures = [
    ['Requests', num(region.requests_total)],
    ['Reads', rate(region.reads_per_s)],
    ['Writes', rate(region.writes_per_s)],
    ['p99 of reads', duration(region.read_p99_ms)],
    ['p99 of writes', duration(region.write_p99_ms)],
    ['Rows', region.rows === null ? NONE : `\u2248 ${num(region.rows)}`],
    ['Size', bytes(region.size_bytes)],
    ['Store files', num(region.store_files)],
    ['Memstore', bytes(region.memstore_bytes)],
    ['Locality', percent(region.locality)],
    ['Share of table', percent(region.share, 1)],
    ['Flushes', num(region.flushes)],
    ['Compactions', num(region.compactions)],
  ];
  const files = region.store_file_list || [];
  return [
    h(
      'dl',
      { class: 'kv' },
      pair(
        'Name',
        h('span', { class: 'mono wrap' }, region.name),
        ' ',
        iconButton('copy', 'Copy the name', () => copy(region.name, 'Name copied'), {
          class: 'ib small',
        }),
      ),
      pair('Server', h('span', { class: 'wrap' }, region.server || NONE)),
      pair('Start', key(region.start_key, '(first)')),
      pair('End', key(region.end_key, '(last)')),
      opened ? pair('Opened', stamp(opened)) : null,
    ),
    subRanges(region),
    h(
      'dl',
      { class: 'facts2' },
      figures.filter(([, text]) => text !== NONE).flatMap(([name, text]) => pair(name, text)),
    ),
    files.length > 0 &&
      h(
        'table',
        { class: 'mini' },
        h('caption', null, 'Store files'),
        h(
          'tbody',
          null,
          files.map(file =>
            h(
              'tr',
              null,
              h('td', { class: 'mono' }, `${file.family}/${file.name.slice(0, 12)}`),
              h('td', { class: 'r' }, bytes(file.size_bytes)),
              h(
                'td',
                { class: 'r muted' },
                file.cells === null || file.cells === undefined ? '' : `${num(file.cells)} cells`,
              ),
            ),
          ),
        ),
      ),
  ];
}

/** Load of the parts of a region, and what a split would do. @param {RegionAnswer} region */
function subRanges(region) {
  const ranges = region.sub_ranges;
  if (!ranges || !ranges.length) {
    return h('p', { class: 'faint' }, 'No load by sub-range is recorded of the last 10 min.');
  }
  const many = ranges.length > 1 ? `${ranges.length} parts` : 'one part';
  return h(
    'section',
    null,
    h('h3', { class: 'two' }, 'Load by sub-range, last 10 min', h('span', null, many)),
    subRangeBars(region, ranges),
    splitText(region),
  );
}

/**
 * Bars of the sub-ranges; a full line where a split halves the load, a dotted one where it halves
 * the size.
 * @param {RegionAnswer} region @param {{start: Key, load: number}[]} ranges
 */
function subRangeBars(region, ranges) {
  const top = Math.max(1e-9, ...ranges.map(range => range.load));
  const w = 360 / ranges.length;
  const mark = (/** @type {Key | null | undefined} */ key, /** @type {string} */ look) => {
    if (!key?.hex) return null;
    const before = ranges.filter(range => range.start.hex <= key.hex).length;
    const inside = ranges.some(range => range.start.hex === key.hex);
    const x = (inside ? before - 1 : before - 0.5) * w;
    return svg('path', { class: look, d: `M${x} 0V64` });
  };
  return svg(
    'svg',
    { viewBox: '0 0 360 64', preserveAspectRatio: 'none', class: 'subr', 'aria-hidden': 'true' },
    ranges.map((range, at) =>
      svg('rect', {
        class: range.load > 0.25 ? 'b h' : 'b',
        x: at * w,
        width: Math.max(0.6, w - 1),
        y: 62 - (range.load / top) * 56,
        height: (range.load / top) * 56,
      }),
    ),
    mark(region.half_load_key, 'm1'),
    mark(region.half_size_key, 'm2'),
  );
}

/** Shares of the load on both sides of a split. @param {[number, number] | null | undefined} parts */
const sides = parts => (parts ? `${percent(parts[0])} and ${percent(parts[1])}` : '');

/** What splits would do to the load. @param {RegionAnswer} region */
function splitText(region) {
  const size = sides(region.half_size);
  const atSize = size && ` At half size: ${size}.`;
  if (region.divisible === false)
    return h(
      'p',
      null,
      h('b', null, 'A split will not divide this load: '),
      `${region.indivisible_because || 'too much of it is in one place'}.`,
      region.half_load ? ` The best one gives ${sides(region.half_load)}.` : '',
      atSize,
    );
  return h(
    'p',
    null,
    'A split at the half-load point gives ',
    h('b', null, sides(region.half_load) || NONE),
    '.',
    atSize,
  );
}

/**
 * @param {string} table @param {RegionAnswer} region
 * @param {Server[]} places servers that the region can be moved to
 * @param {() => void} changed
 */
function actions(table, region, places, changed) {
  const path = ofTable(table, `/regions/${encodeURIComponent(region.encoded_name)}`);
  const name = region.encoded_name.slice(0, 12);
  const last = region.end_key.hex === '';
  return [
    button('Split', () => askSplit(path, region, changed), { icon: 'split' }),
    button('Merge with next', () => askMerge(table, path, region, changed), {
      icon: 'merge',
      disabled: last,
      title: last ? 'This is the last region' : '',
    }),
    button('Move', () => askMove(path, name, places, changed), {
      icon: 'move',
      disabled: !places.length,
      title: places.length ? '' : 'The cluster has no other region server',
    }),
    button('Flush', () => action(`Flush ${name}`, `${path}/flush`, () => ({}), changed)),
    button('Compact', () => askCompact(path, name, changed)),
    linkButton(
      'Heat map',
      tableHref(
        table,
        'heat',
        region.start_key.hex || region.end_key.hex
          ? { k0: region.start_key.hex, k1: region.end_key.hex }
          : {},
      ),
    ),
  ];
}

/** @param {string} path @param {RegionAnswer} region @param {() => void} changed */
function askSplit(path, region, changed) {
  const best = region.half_load_key || region.half_size_key;
  const input = h('input', {
    type: 'text',
    class: 'wide mono',
    value: best ? escaped(best.hex) : '',
    'aria-label': 'Split key',
  });
  const suggest = (
    /** @type {string} */ name,
    /** @type {Key | null | undefined} */ key,
    /** @type {[number, number] | null | undefined} */ parts,
  ) =>
    key?.hex &&
    button(parts ? `${name}: load ${sides(parts)}` : name, () => {
      input.value = escaped(key.hex);
      input.dispatchEvent(new Event('change'));
    });
  const load = suggest('Half load', region.half_load_key, region.half_load);
  const size = suggest('Half size', region.half_size_key, region.half_size);
  action(
    `Split ${region.encoded_name.slice(0, 12)}`,
    `${path}/split`,
    () => (input.value ? { split_key: input.value } : {}),
    changed,
    h(
      'div',
      { class: 'stack' },
      region.divisible === false && splitText(region),
      h('label', { class: 'stack' }, h('span', { class: 'muted' }, 'Split key as \\x text'), input),
      load || size
        ? h('div', { class: 'acts' }, load, size)
        : h('span', { class: 'muted' }, 'No suggestion: the region has no known middle.'),
    ),
    input,
  );
}

/**
 * @param {string} table
 * @param {string} path
 * @param {RegionAnswer} region
 * @param {() => void} changed
 */
async function askMerge(table, path, region, changed) {
  try {
    // The neighbour begins where this region ends.
    const end = region.end_key;
    /** @type {RegionsAnswer} */
    const near = await get(ofTable(table, '/regions'), { q: escaped(end.hex), limit: 1000 });
    const next = near.regions.find(other => other.start_key.hex === end.hex);
    if (!next) return toast('The next region was not found; it may have been split meanwhile');
    action(
      `Merge ${region.encoded_name.slice(0, 12)} with ${next.encoded_name.slice(0, 12)}`,
      `${path}/merge`,
      () => ({ with: next.encoded_name }),
      changed,
    );
  } catch (error) {
    toast(problemOf(error).message);
  }
}

/**
 * Servers that a region can be moved to, those with the fewest regions first.
 * @param {ClusterAnswer} cluster @param {RegionAnswer} region
 */
const otherServers = (cluster, region) =>
  cluster.servers
    .filter(server => server.name && server.name !== region.server)
    .sort((one, other) => one.regions - other.regions);

/** @param {string} path @param {string} name @param {Server[]} places @param {() => void} changed */
function askMove(path, name, places, changed) {
  const text = (/** @type {Server} */ server) =>
    `${server.name} \u00b7 ${num(server.regions)} regions, ${rate(server.reads_per_s)} reads, ${rate(server.writes_per_s)} writes`;
  const input = h(
    'select',
    { class: 'wide', 'aria-label': 'Server' },
    places.map(server => h('option', { value: server.name }, text(server))),
  );
  action(
    `Move ${name}`,
    `${path}/move`,
    () => ({ server: input.value }),
    changed,
    h('label', { class: 'stack' }, h('span', { class: 'muted' }, 'To the server'), input),
    input,
  );
}

/** @param {string} path @param {string} name @param {() => void} changed */
function askCompact(path, name, changed) {
  const major = h('input', { type: 'checkbox' });
  action(
    `Compact ${name}`,
    `${path}/compact`,
    () => ({ major: major.checked }),
    changed,
    h('label', { class: 'check' }, major, 'Major: all files into one, deleted cells are dropped'),
    major,
  );
}

/** @param {string} table @param {string} verb @param {object} body @param {() => void} changed */
export const tableAction = (table, verb, body, changed) =>
  action(
    `${verb === 'flush' ? 'Flush' : 'Compact'} ${table}`,
    ofTable(table, `/${verb}`),
    () => body,
    changed,
  );

/**
 * Dialog of an action: asks for a dry run, shows it, and does it on demand.
 * @param {string} title @param {string} path @param {() => object} body @param {() => void} changed
 * @param {HTMLElement} [form] @param {HTMLElement} [input] whose change asks again
 */
export function action(title, path, body, changed, form, input) {
  const would = h('div', { class: 'would', 'aria-live': 'polite' });
  const doIt = button('Do it', () => run(), { pri: true, disabled: true });
  const box = dialog(
    title,
    [
      form || null,
      h('h3', null, 'What it would do'),
      would,
      !token.get() &&
        h(
          'p',
          { class: 'muted' },
          'Without a token this is a dry run only. Enter the token under the lock in the upper bar.',
        ),
    ],
    { actions: [button('Cancel', () => box.close()), doIt] },
  );
  const dryRun = async () => {
    fill(would, loading(2));
    doIt.disabled = true;
    try {
      /** @type {ActionAnswer} */
      const answer = await post(path, { ...body(), dry_run: true });
      fill(would, steps(answer));
      doIt.disabled = !token.get();
    } catch (error) {
      fill(would, failure(error, dryRun));
    }
  };
  const run = async () => {
    doIt.disabled = true;
    try {
      /** @type {ActionAnswer} */
      const answer = await post(path, { ...body(), dry_run: false });
      box.close();
      toast(answer.task === undefined ? 'Done' : `Started as task ${answer.task}`);
      changed();
      // A task ends a little later.
      setTimeout(changed, 2500);
    } catch (error) {
      fill(would, failure(error, run));
    }
  };
  input?.addEventListener('change', dryRun);
  dryRun();
}

/** @param {ActionAnswer} answer */
function steps(answer) {
  const { statement } = answer;
  return [
    h(
      'ol',
      { class: 'steps' },
      (answer.would || []).map(step =>
        h(
          'li',
          null,
          h('b', null, step.do.replaceAll('_', ' ')),
          step.text ? ` ${step.text}` : '',
          step.region ? [' ', h('code', null, step.region)] : '',
          step.count ? ` ${step.count}` : '',
          step.load ? `, load ${step.load.map(part => percent(part)).join(' and ')}` : '',
          step.bytes ? `, ${bytes(step.bytes)}` : '',
          step.ms !== undefined &&
            step.ms !== null &&
            h('span', { class: 'faint' }, ` about ${duration(step.ms)}`),
        ),
      ),
    ),
    statement &&
      h(
        'div',
        { class: 'codeline' },
        h('pre', null, statement),
        iconButton('copy', 'Copy the statement', () => copy(statement, 'Statement copied')),
      ),
  ];
}
