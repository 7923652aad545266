// Addresses of the page.

/** Pages of a table, in the order of their tabs. */
export const TABLE_PAGES = [
  { id: 'regions', name: 'Regions' },
  { id: 'heat', name: 'Heat map' },
  { id: 'hot-keys', name: 'Hot keys' },
  { id: 'rows', name: 'Rows' },
  { id: 'what-if', name: 'What-if' },
  { id: 'schema', name: 'Schema' },
];

/** @param {string} table @param {string} page @param {Record<string, string | number>} [query] */
export function tableHref(table, page, query) {
  const path = `/t/${encodeURIComponent(table).replaceAll('%3A', ':')}/${page}`;
  if (!query) return path;
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) params.set(name, String(value));
  return `${path}?${params}`;
}

/** Address of the plan of some conditions. @param {string} table @param {string} conditions */
export const planHref = (table, conditions) => tableHref(table, 'schema', { plan: conditions });

/**
 * Table and page of a path.
 * @param {string} path
 * @returns {{table: string, page: string} | null}
 */
export function placeOf(path) {
  const parts = /^\/t\/([^/]+)(?:\/([^/]*))?\/?$/.exec(path);
  if (!parts) return null;
  try {
    return { table: decodeURIComponent(parts[1] || ''), page: parts[2] || 'regions' };
  } catch {
    return null;
  }
}

let arrive = () => {};

/** Sets what shows the page of the address. @param {() => void} show */
export function onGo(show) {
  arrive = show;
}

/** Opens an address of the page. @param {string} href */
export function go(href) {
  history.pushState(null, '', href);
  arrive();
}
