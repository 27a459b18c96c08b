import { terminalClosed } from '../kernel/terminal-closed.ts';
import type { Log } from '../observe/log.ts';
import type { Reloads } from './reloads.ts';

/** A start that cannot go on; its message is a sentence that says what to do. */
export class StartRefused extends Error {}

/** Whatever one request's callback throws, the others go on. */
export function outliveErrors(log: Log): void {
  process.on('uncaughtException', (error) => log.error({ error: error.stack }, 'uncaught exception'));
  process.on('unhandledRejection', (error) =>
    log.error({ error: error instanceof Error ? error.stack : String(error) }, 'unhandled rejection'),
  );
}

/** Work that runs until a signal: a gateway, or the workers that each have one. */
export interface Served<Key> {
  issueFirstKey(): Promise<Key>;
  /** Running requests get `graceMs` after `delayMs`. */
  close(graceMs: number, delayMs?: number): Promise<void>;
}

/** One signal may come twice: with the process group, and passed on by npm, which got it too. */
const sameSignalMs = 500;

/** Longest time that a timer of Node may have. */
const timeoutMaxMs = 2 ** 31 - 1;

/** How long what nobody waits for any more may keep the process, once everything is closed. */
const lingerMs = 200;

/** Issues the first key and greets with it, then serves until a signal; the exit code. */
export function untilStopped<Key>(
  { server, reloads, log, flush }: { server: Served<Key>; reloads: Reloads; log: Log; flush(): void },
  greet: (newUserKey: Key) => Promise<void>,
): Promise<number> {
  return new Promise((resolve) => {
    let stopping = false;
    let firstSignalMs = 0;
    // Not awaited, because requests are served already, and a signal must find its handlers below.
    server.issueFirstKey().then(greet, refuse);
    async function refuse(error: unknown): Promise<void> {
      if (stopping) return;
      stopping = true;
      console.error(error instanceof StartRefused ? error.message : error);
      reloads.close();
      await server.close(0).catch(() => undefined);
      flush();
      resolve(1);
    }
    const stop = (signal: string) => {
      // A second signal means now.
      if (stopping) {
        if (performance.now() - firstSignalMs < sameSignalMs) return;
        flush();
        process.exit(130);
      }
      stopping = true;
      firstSignalMs = performance.now();
      const { shutdown_grace: graceMs, drain_delay: delayMs } = reloads.current.server;
      const first = delayMs > 0 ? `all requests are served for ${delayMs / 1_000} s, then ` : '';
      log.info(`${signal}: ${first}running requests finish, within at most ${graceMs / 1_000} s`);
      flush();
      reloads.close();
      // Idle threads do not keep the process, so it would end (with 13) before it learns that the last one is gone.
      const alive = setTimeout(() => undefined, timeoutMaxMs);
      server
        .close(graceMs, delayMs)
        .then(
          () => {
            flush();
            resolve(0);
            // A call to a receiver of traces that says nothing would keep the process until it times out.
            setTimeout(() => process.exit(), lingerMs).unref();
          },
          (error: unknown) => {
            console.error(error);
            resolve(1);
          },
        )
        .finally(() => clearTimeout(alive));
    };
    process.on('SIGTERM', () => stop('SIGTERM'));
    process.on('SIGINT', () => stop('SIGINT'));
    process.on('SIGHUP', () => {
      if (terminalClosed() && !stopping) stop('the terminal was closed');
    });
  });
}
