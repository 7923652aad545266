// Numbers, sizes, times, bytes and values as text.

export const NONE = '\u2013';
export const DOT = ' \u00b7 ';
export const ELLIPSIS = '\u2026';

/** @param {number} value @param {string} suffix */
function three(value, suffix) {
  const text = value >= 99.95 ? value.toFixed(0) : value.toPrecision(3);
  return (text.includes('.') ? text.replace(/\.?0+$/, '') : text) + suffix;
}

/** Three significant figures; exact below 1000. @param {Figure} value @returns {string} */
export function num(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  if (value < 0) return '\u2212' + num(size);
  if (size < 10) return size === 0 ? '0' : size < 0.01 ? '<0.01' : three(size, '');
  if (size < 999.5)
    return size < 100 && !Number.isInteger(size) ? three(size, '') : size.toFixed(0);
  const units = ['k', 'M', 'G', 'T', 'P'];
  let scaled = size / 1000;
  let unit = 0;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit++;
  }
  return three(scaled, units[unit] || '');
}

/** Exact to 9,999,999, then three figures. @param {Figure} value */
export const count = value =>
  value === null || value === undefined ? NONE : value <= 9999999 ? group(value) : num(value);

/** @param {number} value */
export const group = value =>
  Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');

/** @param {Figure} value */
export const rate = value => (value === null || value === undefined ? NONE : `${num(value)}/s`);

/** Bytes as HBase counts them: 1 MB = 1024 x 1024. @param {Figure} value */
export function bytes(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  const text = unit === 0 || size >= 99.95 ? size.toFixed(0) : size.toPrecision(3);
  return `${text} ${units[unit]}`;
}

/** Duration of so many milliseconds. @param {Figure} ms */
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return NONE;
  if (ms < 1) return `${Math.round(ms * 1000)} \u00b5s`;
  if (ms < 999.5) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  if (ms < 59950)
    return `${ms < 9950 && ms % 1000 ? (ms / 1000).toFixed(1) : (ms / 1000).toFixed(0)} s`;
  if (ms < 5400e3) return `${Math.round(ms / 60e3)} min`;
  if (ms < 129600e3) return `${Math.round(ms / 3600e3)} h`;
  return `${Math.round(ms / 86400e3)} d`;
}

/** @param {Figure} part 0 to 1 @param {number} [digits] */
export function percent(part, digits = 0) {
  if (part === null || part === undefined || !Number.isFinite(part)) return NONE;
  const value = part * 100;
  const least = 10 ** -digits;
  if (value > 0 && value < least) return `<${least} %`;
  return `${value.toFixed(digits)} %`;
}

/** One decimal from 0.05 to 100. @param {Figure} value */
export const factor = value =>
  value === null || value === undefined ? NONE : value < 100 ? value.toFixed(1) : num(value);

/** @param {number} value @param {number} [size] */
const pad = (value, size = 2) => String(value).padStart(size, '0');

/** `12:40`, with seconds on demand. @param {number} ms @param {boolean} [seconds] */
export function clock(ms, seconds) {
  const at = new Date(ms);
  return `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}${seconds ? `:${pad(at.getUTCSeconds())}` : ''}`;
}

/** `03-15`. @param {number} ms */
export const day = ms => new Date(ms).toISOString().slice(5, 10);

/**
 * Clock of today, else with the day.
 * @param {Figure} ms
 * @param {number} now
 * @param {boolean} [seconds]
 */
export function moment(ms, now, seconds) {
  if (ms === null || ms === undefined) return NONE;
  const same = Math.floor(ms / 86400e3) === Math.floor(now / 86400e3);
  return (same ? '' : `${day(ms)} `) + clock(ms, seconds);
}

/** `2024-03-15 10:42:00Z`. @param {Figure} ms */
export const stamp = ms =>
  ms === null || ms === undefined || !Number.isFinite(ms)
    ? NONE
    : new Date(ms).toISOString().replace('T', ' ').replace('.000Z', 'Z');

/** @param {string} hex @returns {Uint8Array} */
export function fromHex(hex) {
  const out = new Uint8Array(hex.length >> 1);
  for (let i = 0; i < out.length; i++) out[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return out;
}

/** @param {Uint8Array} data */
export const toHex = data => Array.from(data, hexByte).join('');

/** @param {number} byte */
const hexByte = byte => byte.toString(16).padStart(2, '0');

/** Bytes as the HBase shell prints them (`Bytes.toStringBinary`). @param {string} hex */
export function escaped(hex) {
  let out = '';
  for (const byte of fromHex(hex)) {
    const printable = byte >= 32 && byte < 127 && byte !== 92;
    out += printable ? String.fromCharCode(byte) : `\\x${hexByte(byte).toUpperCase()}`;
  }
  return out;
}

/** The reverse of `escaped`, in hexadecimal digits. @param {string} text */
export function unescaped(text) {
  const data = [];
  const utf8 = new TextEncoder();
  for (let i = 0; i < text.length;) {
    const byte = /^\\x([0-9a-fA-F]{2})/.exec(text.slice(i, i + 4));
    if (byte) {
      data.push(parseInt(byte[1] || '0', 16));
      i += 4;
    } else {
      const char = String.fromCodePoint(text.codePointAt(i) || 0);
      data.push(...utf8.encode(char));
      i += char.length;
    }
  }
  return toHex(Uint8Array.from(data));
}

/** Direction marks and invisible characters, which could make a text look like another. */
const INVISIBLE = /[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Text with symbols for control characters and codes for invisible ones. @param {string} text */
export const visible = text =>
  text
    .replace(/[\u0000-\u001f]/g, char => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replace(/[\u007f-\u009f]/g, char =>
      char === '\u007f' ? '\u2421' : `\\u00${char.charCodeAt(0).toString(16)}`,
    )
    .replace(INVISIBLE, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Host and port of a server. @param {string | null} server */
export const shortServer = server => {
  const [host = '', port] = (server || '').split(',');
  const name = /^[\d.]+$|:/.test(host) ? host : host.split('.')[0];
  return port ? `${name}:${port}` : name || NONE;
};
