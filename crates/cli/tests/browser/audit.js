// What a person would see to be wrong in a page: an expression whose value is a list of sentences.
(() => {
  const found = new Set();
  const name = element => {
    const classes = typeof element.className === 'string' ? element.className : '';
    return `${element.tagName.toLowerCase()}${classes.trim() && '.'}${classes.trim().replace(/\s+/g, '.')}`;
  };
  const isShown = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  const heads = document.querySelectorAll('h1').length;
  if (heads !== 1) found.add(`${heads} h1 instead of one`);
  const ids = new Map();
  for (const { id } of document.querySelectorAll('[id]')) ids.set(id, (ids.get(id) || 0) + 1);
  for (const [id, times] of ids) if (times > 1) found.add(`id ${id} is there ${times} times`);
  if (!document.documentElement.lang) found.add('no language');
  if (!document.title) found.add('no title');

  // Wider than the window, other than inside of something that scrolls or cuts off.
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width)
    found.add(`the page is ${document.documentElement.scrollWidth} wide in ${width}`);
  const isHeld = element => {
    for (let at = element.parentElement; at; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== 'visible' && at !== document.body && at !== document.documentElement) return true;
    return false;
  };
  for (const element of document.body.querySelectorAll('*')) {
    const box = element.getBoundingClientRect();
    if (box.width && box.right > width + 1 && isShown(element) && !isHeld(element))
      found.add(`${name(element)} ends at ${Math.round(box.right)} of ${width}`);
  }

  // Contrast of text with the colours behind it. Text of controls that are off may be pale.
  const pen = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const rgba = color => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3]));
  const luminance = color => {
    const [r, g, b] = color.map(value => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const groundOf = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const layer = rgba(getComputedStyle(at).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reduceRight((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const opacityOf = element => {
    let all = 1;
    for (let at = element; at; at = at.parentElement) all *= Number(getComputedStyle(at).opacity);
    return all;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element || !isShown(element)) continue;
    if (element.closest('noscript, script, .sr, .skip:not(:focus), :disabled, option')) continue;
    const ground = groundOf(element);
    const color = rgba(getComputedStyle(element).color);
    color[3] *= opacityOf(element);
    const [a, b] = [luminance(over(color, ground)), luminance(ground)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.add(`contrast ${contrast.toFixed(2)} of ${name(element)}: ${text.slice(0, 30)}`);
  }
  return [...found];
})()
