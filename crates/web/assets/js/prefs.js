// What the reader prefers: the form of keys and the theme. Kept in the browser, if it allows that.

/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {string} name */
export function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string} value */
export function store(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The preference then lasts as long as the page.
  }
}

const FORMS = ['decoded', 'escaped', 'hex'];
let form = new URLSearchParams(location.search).get('keys') || stored('keys') || 'decoded';
if (!FORMS.includes(form)) form = 'decoded';

export const keyForm = () => form;

/** @param {string} value */
export function setKeyForm(value) {
  form = value;
  store('keys', value);
  for (const listener of listeners) listener();
}

const system = matchMedia('(prefers-color-scheme: dark)');
system.addEventListener('change', () => listeners.forEach(listener => listener()));

export const isDark = () => {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === 'dark' : system.matches;
};

export function switchTheme() {
  const theme = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  store('theme', theme);
  for (const listener of listeners) listener();
}

/**
 * Calls back when the form of keys or the theme changes.
 * @param {() => void} listener
 * @param {AbortSignal} signal
 */
export function onPrefs(listener, signal) {
  listeners.add(listener);
  signal.addEventListener('abort', () => listeners.delete(listener));
}

const phone = matchMedia('(max-width: 700px)');
export const isPhone = () => phone.matches;
