/** Calls `then` once after `ms`; what it returns stops it. Given, so that tests can say when. */
export type EngineTimer = (ms: number, then: () => void) => () => void;

/** The machine's own; keeps no process alive. */
export const systemTimer: EngineTimer = (ms, then) => {
  const timer = setTimeout(then, ms);
  timer.unref();
  return () => clearTimeout(timer);
};
