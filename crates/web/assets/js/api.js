// Requests to the API. Answers that did not change (ETag) are not sent again.

/** Error of the API, as its problem document says it, or of the network (`kind` is "gone"). */
export class Problem extends Error {
  /** @param {ProblemDocument} document @param {number} [retryAfter] */
  constructor(document, retryAfter) {
    super(document.title);
    this.status = document.status;
    this.kind = document.kind;
    this.detail = document.detail || '';
    this.field = document.field || '';
    /** Seconds after which the request may be sent again. */
    this.retryAfter = retryAfter || 0;
  }
}

/** @param {unknown} error @returns {Problem} */
export function problemOf(error) {
  if (error instanceof Problem) return error;
  const title = error instanceof Error ? error.message : String(error);
  return new Problem({ status: 0, kind: 'repair', title: `the page failed: ${title}` });
}

/** @param {unknown} error */
export const isAbort = error => error instanceof DOMException && error.name === 'AbortError';

/** @type {Map<string, {etag: string, body: unknown}>} */
const known = new Map();
const KNOWN_MAX = 24;

/**
 * Paths, with their metric, that nothing records here, which are not asked for again for a while.
 * @type {Map<string, {until: number, problem: Problem}>}
 */
const missing = new Map();
const MISSING_MS = 300e3;

/** Time of the last answer of any kind, and whether the last request had none. */
export const connection = { answered: Date.now(), gone: false };

/** @param {string} path @param {Params} [params] */
export function url(path, params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params || {})) {
    if (value !== null && value !== undefined && value !== '' && value !== false) {
      query.append(name, String(value));
    }
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** @param {string} table @param {string} [rest] */
export const ofTable = (table, rest = '') => `/api/tables/${encodeURIComponent(table)}${rest}`;

/**
 * What an address asks for, whatever its time: another metric of the path may be recorded.
 * @param {string} address
 */
export function sourceOf(address) {
  const [path, query] = address.split('?');
  const metric = new URLSearchParams(query).get('metric');
  return metric ? `${path}?metric=${metric}` : path;
}

/** @param {string} address @param {RequestInit} init */
async function send(address, init) {
  const source = sourceOf(address);
  const known = init.method ? undefined : missing.get(source);
  if (known && known.until > Date.now()) throw known.problem;
  let response;
  try {
    response = await fetch(address, { ...init, credentials: 'omit', redirect: 'error' });
  } catch (error) {
    if (isAbort(error)) throw error;
    connection.gone = true;
    throw new Problem({ status: 0, kind: 'gone', title: 'the server does not answer' });
  }
  connection.gone = false;
  connection.answered = Date.now();
  if (response.ok || response.status === 304) return response;
  const retry = Number(response.headers.get('Retry-After')) || 0;
  const document = await response.json().catch(() => null);
  const problem = new Problem(
    document && document.title
      ? document
      : {
          status: response.status,
          kind: response.status === 503 ? 'retry' : 'repair',
          title: `the server answered ${response.status}`,
        },
    retry,
  );
  if (problem.kind === 'missing_source')
    missing.set(source, { until: Date.now() + MISSING_MS, problem });
  throw problem;
}

/**
 * @template T
 * @param {string} path
 * @param {Params} [params]
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function get(path, params, signal) {
  const address = url(path, params);
  const last = known.get(address);
  /** @type {Record<string, string>} */
  const headers = { Accept: 'application/json' };
  if (last) headers['If-None-Match'] = last.etag;
  const response = await send(address, { headers, signal });
  if (response.status === 304 && last) return /** @type {T} */ (last.body);
  const body = await response.json();
  const etag = response.headers.get('ETag');
  known.delete(address);
  if (etag) known.set(address, { etag, body });
  for (const oldest of known.keys()) {
    if (known.size <= KNOWN_MAX) break;
    known.delete(oldest);
  }
  return body;
}

/**
 * Response whose body is not JSON alone.
 * @param {string} path @param {Params} params @param {string} accept @param {AbortSignal} [signal]
 */
export const getRaw = (path, params, accept, signal) =>
  send(url(path, params), { headers: { Accept: accept }, signal });

/** Token for requests that change something, kept while the tab lives. */
export const token = {
  get: () => sessionStorage.getItem('token') || '',
  /** @param {string} value */
  set: value =>
    value ? sessionStorage.setItem('token', value) : sessionStorage.removeItem('token'),
};

/**
 * @template T
 * @param {string} path @param {unknown} body
 * @returns {Promise<T>}
 */
export async function post(path, body) {
  /** @type {Record<string, string>} */
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  const response = await send(path, { method: 'POST', headers, body: JSON.stringify(body) });
  return response.json();
}
