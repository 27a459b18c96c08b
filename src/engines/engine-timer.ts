/** Calls `then` once after `ms`; the returned function stops it. A parameter, so that tests control time. */
export type EngineTimer = (ms: number, then: () => void) => () => void;

/** The machine's own; keeps no process alive. */
export const systemTimer: EngineTimer = (ms, then) => {
  const timer = setTimeout(then, ms);
  timer.unref();
  return () => clearTimeout(timer);
};
