// Regular requests of the visible page. One request at a time; none while the page is hidden.

import { Problem, isAbort } from './api.js';

export const PERIOD = 10e3;
/** Periods between the requests for what changes slowly. */
const SLOW = 6;

/**
 * Runs `main` now and every ten seconds, and each of `slow` now and every minute, one after the
 * other. Hidden pages ask nothing and are brought up to date when they are shown.
 * @param {AbortSignal} signal
 * @param {() => Promise<unknown>} main
 * @param {(() => Promise<unknown>)[]} [slow]
 * @returns {() => void} asks all again at once
 */
export function poll(signal, main, slow = []) {
  let timer = 0;
  let turn = 0;
  let running = false;
  let last = 0;
  const run = async (/** @type {() => Promise<unknown>} */ work) => {
    try {
      await work();
    } catch (error) {
      if (!isAbort(error)) console.warn(error instanceof Problem ? error.message : error);
    }
  };
  const tick = async () => {
    clearTimeout(timer);
    if (signal.aborted || document.hidden || running) return;
    running = true;
    last = Date.now();
    const side = turn === 0 ? slow : slow.filter((_, at) => turn % SLOW === (at + 1) % SLOW);
    turn++;
    await run(main);
    for (const work of side) {
      if (!signal.aborted) await run(work);
    }
    running = false;
    if (!signal.aborted) timer = setTimeout(tick, Math.max(500, last + PERIOD - Date.now()));
  };
  document.addEventListener(
    'visibilitychange',
    () => {
      if (!document.hidden && Date.now() - last >= PERIOD) tick();
    },
    { signal },
  );
  signal.addEventListener('abort', () => clearTimeout(timer));
  tick();
  return () => {
    turn = 0;
    tick();
  };
}
