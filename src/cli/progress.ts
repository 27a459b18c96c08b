const paintIntervalMs = 200;

/** A count that grows on one line of stderr, where that is a terminal; nothing elsewhere. */
export function createProgress(noun: string): { count(done: number): void; end(): void } {
  if (process.stderr.isTTY !== true) return { count() {}, end() {} };
  let paintedMs = 0;
  return {
    count(done) {
      const nowMs = performance.now();
      if (nowMs - paintedMs < paintIntervalMs) return;
      paintedMs = nowMs;
      process.stderr.write(`\r${done.toLocaleString('en')} ${noun}`);
    },
    end() {
      // Overwrites the present line, so that the next line begins alone.
      process.stderr.write('\r\u001b[K');
    },
  };
}
