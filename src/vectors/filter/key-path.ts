/** A payload key path: `a.b`, `a[0]`, `a[].b`, `"a.b"`. `each`: all elements of the array. */
export interface KeyPath {
  /** The path in the caller's spelling. */
  text: string;
  steps: readonly KeyStep[];
}

export type KeyStep = { kind: 'key'; name: string } | { kind: 'index'; at: number } | { kind: 'each' };
