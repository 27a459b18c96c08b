/**
 * Calls `look` at this interval, without keeping the process alive, until the returned function is called. All repeated
 * work goes through here. The owner of the work stops it.
 */
export function every(ms: number, look: () => void): () => void {
  const timer = setInterval(look, ms);
  timer.unref();
  return () => clearInterval(timer);
}
