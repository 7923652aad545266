// Elements. Text enters the document as text nodes only.

/**
 * Creates an element. Of `props`, functions become listeners (`onclick`), `class` and other names
 * attributes; false and null leave a name out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown> | null} [props]
 * @param {...Children} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  setProps(element, props);
  append(element, children);
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, unknown> | null} [props]
 * @param {...Children} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setProps(element, props);
  append(element, children);
  return element;
}

/** @param {Element} element @param {Record<string, unknown> | null | undefined} props */
function setProps(element, props) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === 'value' && 'value' in element) {
      /** @type {HTMLInputElement} */ (element).value = String(value);
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
}

/** @param {Element} element @param {Children[]} children */
function append(element, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replaces all children.
 * @template {Element} E
 * @param {E} element
 * @param {...Children} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** @param {string} id @returns {HTMLElement} */
export const byId = id => /** @type {HTMLElement} */ (document.getElementById(id));

/** Paths of 16 x 16 pictures. @type {Record<string, string>} */
const ICONS = {
  cube: 'M8 1.5 14 4.8v6.4L8 14.5 2 11.2V4.8zM2 4.8l6 3.3 6-3.3M8 8.1v6.4',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.4 10.4 14 14',
  lock: 'M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  open: 'M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 4.9-.8',
  help: 'M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8zM6.2 6.4a1.9 1.9 0 1 1 2.6 1.7c-.6.3-.8.6-.8 1.3M8 11.4v.2',
  moon: 'M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.7 5.7 0 1 0 6.8 6.8z',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M3.2 12.8l1.1-1.1M11.7 4.3l1.1-1.1',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  down: 'M4.5 6.5 8 10l3.5-3.5',
  up: 'M4.5 9.5 8 6l3.5 3.5',
  save: 'M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11',
  back: 'M6 3 2.5 6.5 6 10M2.5 6.5h7a4 4 0 0 1 0 8H7',
  whole: 'M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  play: 'M4.5 3v10l8-5z',
  pause: 'M5 3v10M11 3v10',
  diff: 'M5 13V3M2.5 5.5 5 3l2.5 2.5M11 3v10M8.5 10.5 11 13l2.5-2.5',
  layers: 'M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3',
  split: 'M8 14V9M8 9 3 4M8 9l5-5M3 7V4h3M10 4h3v3',
  merge: 'M8 14V9M8 9 4 3M8 9l4-6M6 11.8 8 14l2-2.2',
  move: 'M2 8h11M9.5 4.5 13 8l-3.5 3.5',
  flush: 'M3 5h10M5 8h6M7 11h2',
  compaction: 'M3 4h10M3 12h10M8 5.5v2M8 8.5v2',
  deploy: 'M4 14V2M4 3h8l-2 2.5L12 8H4',
  restart: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  error: 'M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.2',
  schema: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6',
};

/** @param {string} name @param {number} [size] */
export const icon = (name, size = 16) =>
  svg(
    'svg',
    {
      class: 'icon',
      width: size,
      height: size,
      viewBox: '0 0 16 16',
      'aria-hidden': 'true',
    },
    svg('path', { d: ICONS[name] || ICONS.schema }),
  );
