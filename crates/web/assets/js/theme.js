// The chosen theme, before anything is painted. A classic script: modules run after the document.
{
  const asked = new URLSearchParams(location.search).get('theme');
  let theme = asked;
  try {
    theme = asked || localStorage.getItem('theme');
  } catch {
    // Storage may be switched off; the system's theme is used.
  }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}
