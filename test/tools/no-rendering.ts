import type { Rendering } from '../../src/tools/scrape/rendering.ts';

/** For tests of pages that no browser is to see. */
export const noRendering: Rendering = {
  wayOf: () => 'as-needed',
  missing: () => 'there is none in this test',
  render: () => Promise.reject(new Error('nothing is rendered here')),
  close: async () => undefined,
};
