import type { StreamWire } from '../dialect.ts';

/**
 * A stream as one array of JSON, which Google sends without `alt=sse`: state of one stream. Nothing comes before its `[`
 * or behind its `]`, which readers of Google's older REST clients would refuse.
 */
export function arrayWire(): StreamWire {
  let before = '[';
  return {
    type: 'application/json; charset=UTF-8',
    frameOf({ data }) {
      const element = Buffer.from(`${before}${data}\n`);
      before = ',\n';
      return element;
    },
    keepAlive() {
      const bytes = before === '[' ? '[' : ' ';
      if (before === '[') before = '';
      return bytes;
    },
    end: () => (before === '[' ? '[]' : ']'),
  };
}
