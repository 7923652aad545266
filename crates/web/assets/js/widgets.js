// Controls and small pictures that all pages use.

import { byId, h, icon, svg } from './dom.js';
import { keyForm, setKeyForm } from './prefs.js';

/** Says a text to screen readers. @param {string} text */
export function announce(text) {
  byId('live').textContent = text;
}

let toastTimer = 0;

/** Shows and says a short text. @param {string} text */
export function toast(text) {
  const box = byId('toast');
  box.textContent = text;
  box.classList.add('on');
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => box.classList.remove('on'), 2600);
  announce(text);
}

/** @param {string} text @param {string} [what] */
export async function copy(text, what = 'Copied') {
  try {
    await navigator.clipboard.writeText(text);
    toast(what);
  } catch {
    // Pages without a secure context have no clipboard: the text is shown to be copied by hand.
    dialog('Copy', h('textarea', { rows: 6, readonly: true, 'aria-label': 'Text to copy' }, text));
  }
}

/**
 * @param {string} label
 * @param {(event: Event) => unknown} onclick
 * @param {{icon?: string, pri?: boolean, title?: string, disabled?: boolean, class?: string}} [options]
 */
export const button = (label, onclick, options = {}) =>
  h(
    'button',
    {
      type: 'button',
      class: `btn${options.pri ? ' pri' : ''} ${options.class || ''}`.trim(),
      onclick,
      title: options.title,
      disabled: options.disabled,
    },
    options.icon && icon(options.icon),
    label,
  );

/**
 * @param {string} name
 * @param {string} label
 * @param {(event: Event) => unknown} onclick
 * @param {Record<string, unknown>} [props]
 */
export const iconButton = (name, label, onclick, props) =>
  h(
    'button',
    {
      type: 'button',
      class: 'ib',
      'aria-label': label,
      title: label,
      onclick,
      ...props,
    },
    icon(name),
  );

/** @param {string} label @param {string} href @param {string} [iconName] */
export const linkButton = (label, href, iconName) =>
  h('a', { class: 'btn', href }, iconName && icon(iconName), label);

/**
 * Choice of a few, side by side.
 * @param {string} label @param {[string, string][]} choices value and text
 * @param {string} value @param {(value: string) => void} onchange
 */
export function segments(label, choices, value, onchange) {
  const group = h('div', { class: 'seg', role: 'group', 'aria-label': label });
  for (const [id, text] of choices) {
    group.append(
      h(
        'button',
        {
          type: 'button',
          'aria-pressed': String(id === value),
          'data-id': id,
          onclick: () => {
            for (const other of group.children) {
              other.setAttribute('aria-pressed', String(other.getAttribute('data-id') === id));
            }
            onchange(id);
          },
        },
        text,
      ),
    );
  }
  return group;
}

/**
 * @param {string} label @param {[string, string][]} choices @param {string} value
 * @param {(value: string) => void} onchange @param {Record<string, unknown>} [props]
 */
export function select(label, choices, value, onchange, props) {
  const list = h('select', {
    'aria-label': label,
    title: label,
    ...props,
    onchange: () => onchange(list.value),
  });
  for (const [id, text] of choices) {
    list.append(h('option', { value: id, selected: id === value }, text));
  }
  return list;
}

export const keyFormControl = () =>
  segments(
    'Keys',
    [
      ['decoded', 'Decoded'],
      ['escaped', '\\x'],
      ['hex', 'Hex'],
    ],
    keyForm(),
    setKeyForm,
  );

/** @param {string} text @param {string} [look] ok, warn, bad or line */
export const chip = (text, look = '') => h('span', { class: `chip ${look}` }, text);

/**
 * Bar of a part from 0 to 1; its figure stands beside it.
 * @param {Figure} part
 * @param {boolean} [hot]
 */
export function meter(part, hot) {
  const fill = h('i');
  fill.style.width = `${Math.max(0, Math.min(1, part || 0)) * 100}%`;
  return h('span', { class: hot ? 'meter hot' : 'meter', 'aria-hidden': 'true' }, fill);
}

/**
 * @param {Figure[] | undefined} series
 * @param {string} [look] w for writes
 * @param {number} [w]
 * @param {number} [ht]
 */
export function sparkline(series, look = '', w = 38, ht = 16) {
  const box = svg('svg', {
    class: `spark ${look}`,
    width: w,
    height: ht,
    viewBox: `0 0 ${w} ${ht}`,
    'aria-hidden': 'true',
  });
  const values = (series || []).map(value => value ?? NaN);
  const top = Math.max(1e-9, ...values.filter(Number.isFinite)) * 1.15;
  const x = (/** @type {number} */ i) =>
    ((i * (w - 3)) / Math.max(1, values.length - 1) + 1).toFixed(1);
  const y = (/** @type {number} */ v) => (ht - 1.5 - (v / top) * (ht - 4)).toFixed(1);
  let line = '';
  let last = -1;
  let first = -1;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    if (first < 0) first = i;
    line += `${last === i - 1 && line ? 'L' : 'M'}${x(i)} ${y(value)}`;
    last = i;
  });
  if (last < 0) return box;
  if (!line.slice(1).includes('M')) {
    box.append(svg('path', { class: 'area', d: `${line}V${ht}H${x(first)}z` }));
  }
  box.append(
    svg('path', { class: 'line', d: line }),
    svg('circle', { class: 'end', cx: x(last), cy: y(values[last] || 0), r: 1.5 }),
  );
  return box;
}

/**
 * Opens a dialog; Escape and the cross close it.
 * @param {string} title @param {Children} body
 * @param {{actions?: HTMLElement[], class?: string, bare?: boolean}} [options]
 */
export function dialog(title, body, options = {}) {
  const before = document.activeElement;
  /** @type {HTMLDialogElement} */
  const box = h(
    'dialog',
    { class: options.class, 'aria-label': title },
    !options.bare &&
      h(
        'header',
        null,
        h('h2', null, title),
        iconButton('close', 'Close', () => box.close()),
      ),
    h('div', { class: 'body' }, body),
    options.actions && h('footer', null, options.actions),
  );
  box.addEventListener('close', () => {
    box.remove();
    if (before instanceof HTMLElement) before.focus();
  });
  box.addEventListener('click', event => {
    if (event.target === box) box.close();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

/** Saves bytes as a file. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const href = URL.createObjectURL(blob);
  const link = h('a', { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 10e3);
}

/** @param {number} ms @param {() => void} work */
export function debounce(ms, work) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}
