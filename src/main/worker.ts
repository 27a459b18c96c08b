import { createLog } from '../observe/log.ts';
import { outliveErrors, StartRefused } from '../processes/lifetime.ts';
import { takeSeat } from '../processes/worker-seat.ts';
import type { Gateway } from './gateway.ts';
import { announce, openGatewayOf, type StartOptions } from './start.ts';

/** How long the last lines of the log may take to reach the primary. */
const lingerMs = 100;

/** Serves as a worker of `server.processes` until its primary ends it. */
export async function work({
  version,
  flushCompileCache,
}: Pick<StartOptions, 'version' | 'flushCompileCache'>): Promise<number> {
  process.title = 'culvert spare';
  const seat = await takeSeat(import('./gateway.ts'));
  process.title = `culvert worker ${seat.given.number}`;
  const { given, primary } = seat;
  const { log, flush } = await createLog({ level: given.config.telemetry.log.level, form: given.form });
  let gateway: Gateway;
  try {
    gateway = await openGatewayOf({ ...given, log, version }, { reload: primary.reload, seat });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    await primary.refused(error.message);
    process.exit(1);
  }
  outliveErrors(log);
  setImmediate(flushCompileCache);
  // Before this worker serves, so that none says that it is ready before.
  const newUserKey = given.greets
    ? await gateway.issueFirstKey().catch((error: unknown) => {
        log.error({ error: String(error) }, 'no first key was made');
        return null;
      })
    : null;
  const { promise, resolve } = Promise.withResolvers<number>();
  seat.serve(
    {
      async configure(next) {
        log.level = next.telemetry.log.level;
        await gateway.reconfigure(next);
      },
      noteReload: gateway.noteReload,
      measure: gateway.measure,
      facts: gateway.facts,
      bodies: gateway.recentBodies,
      findRefused: gateway.findRefused,
      lookAgain: gateway.lookAgain,
      takeHints: gateway.takeHints,
      stop(graceMs, delayMs) {
        const end = (code: number) => {
          flush();
          resolve(code);
          setTimeout(() => process.exit(code), lingerMs);
        };
        gateway.close(graceMs, delayMs).then(
          () => end(0),
          (error: unknown) => {
            log.error({ error: String(error) }, 'a worker did not close in order');
            end(1);
          },
        );
      },
    },
    gateway.url,
    () => {
      if (given.greets) void announce({ gateway, found: [...given.locals], newUserKey, version });
    },
  );
  return promise;
}
