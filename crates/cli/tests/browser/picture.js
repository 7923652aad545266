// Steps of the ramp in one of the page's heat maps: an expression whose value is one list per column of cells, from
// the top of the map down: 0 for zero, 1 to 255 on the ramp, -1 where a mark or a hatch is.
(async (columns, map) => {
  const { steps, zeroColor } = await import('/js/ramp.js');
  const [base, over] = document.querySelectorAll('.map')[map].querySelectorAll('canvas');
  const [x, y, w, h] = over.dataset.box.split(',').map(Number);
  const colors = [zeroColor(), ...steps(false).slice(1)];
  const known = new Map();
  // Borders of cells are blended where the map does not begin at a whole pixel.
  const stepOf = (r, g, b) => {
    const name = (r << 16) | (g << 8) | b;
    let step = known.get(name);
    if (step === undefined) {
      let least = 48;
      step = -1;
      colors.forEach((color, at) => {
        const far = Math.abs(color[0] - r) + Math.abs(color[1] - g) + Math.abs(color[2] - b);
        if (far < least) [least, step] = [far, at];
      });
      known.set(name, step);
    }
    return step;
  };
  const pen = base.getContext('2d');
  return Array.from({ length: columns }, (_, c) => {
    const at = Math.round(x + ((c + 0.5) / columns) * w);
    const { data } = pen.getImageData(at, Math.ceil(y) + 1, 1, Math.floor(h) - 2);
    const out = [];
    for (let k = 0; k < data.length; k += 4) out.push(stepOf(data[k], data[k + 1], data[k + 2]));
    return out;
  });
})
