// Heat map.

import { get, isAbort, ofTable } from './api.js';
import { fill } from './dom.js';
import { failure, loading } from './states.js';

/** @param {import('./table.js').TablePage} page */
export function show(page) {
  fill(page.root, loading());
  page.poll(async () => {
    try {
      await get(ofTable(page.table, '/heat'), {}, page.signal);
    } catch (error) {
      if (!isAbort(error)) fill(page.root, failure(error, undefined, 'Heat is not recorded here'));
    }
  });
}
