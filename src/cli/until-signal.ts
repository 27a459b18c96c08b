import { terminalClosed } from '../kernel/terminal-closed.ts';

/** Resolves at the first SIGINT or SIGTERM, or when the terminal closes; a second signal ends the process at once. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve();
      });
    }
    process.on('SIGHUP', () => {
      if (terminalClosed()) resolve();
    });
  });
}
