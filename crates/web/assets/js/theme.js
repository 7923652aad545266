// Before anything is painted: the chosen theme, and the modules of the page of the address, which
// are asked for at once instead of one after the other. A classic script: modules run later.
{
  const asked = new URLSearchParams(location.search).get('theme');
  let theme = asked;
  try {
    theme = asked || localStorage.getItem('theme');
  } catch {
    // Storage may be switched off; the system's theme is used.
  }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;

  /** @type {Record<string, string>} */
  const modules = {
    '': 'overview activity ramp',
    tables: 'tables grid ramp',
    activity: 'activity',
    regions: 'regions region grid ramp',
    heat: 'heatpage heatview heatdata heatcell heatlegend ramp',
    'hot-keys': 'hotkeys grid',
    rows: 'rows grid',
    'what-if': 'whatif heatview heatdata ramp',
    schema: 'schema',
  };
  const [, first = '', , page = 'regions'] = location.pathname.split('/');
  // The version in this script's own address: under any other one the page would load them again.
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  for (const name of (modules[first === 't' ? page : first] || '').split(' ').filter(Boolean)) {
    const link = document.createElement('link');
    link.rel = 'modulepreload';
    link.href = new URL(`${name}.js`, here).href;
    document.head.append(link);
  }
}
