/** To the child that holds an engine. The first is `load`; then orders, one at a time. */
export type ToHost = { kind: 'load'; load: object } | { kind: 'order'; id: number; order: object };

/** From it. */
export type FromHost =
  | { kind: 'loaded' }
  | { kind: 'not-loaded'; message: string }
  | { kind: 'done'; id: number; answer: unknown }
  | { kind: 'failed'; id: number; message: string };
