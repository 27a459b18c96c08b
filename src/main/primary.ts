import { randomUUID } from 'node:crypto';
import { processesOf, whyTooManyProcesses } from '../config/declared.ts';
import { urlOf } from '../http/connections/listening.ts';
import { createItemMemory } from '../inference/families/chat/item-memory.ts';
import { systemClock } from '../kernel/clock.ts';
import { openPrimaryBooks } from '../processes/books/primary-books.ts';
import { StartRefused } from '../processes/lifetime.ts';
import { type Reloads, reloadByAdmin } from '../processes/reloads.ts';
import { Workers, type WorkersParts } from '../processes/workers.ts';
import { openDataFolder } from '../stores/sqlite/data-folder.ts';
import { lockDataFolder } from '../stores/sqlite/data-folder-lock.ts';
import type { Gateway } from './gateway.ts';
import type { GatewayOptions } from './gateway-options.ts';

/**
 * Starts the workers of `server.processes`. This process holds the data folder, and of its stores the books: limits and
 * ledger of the embedded storage.
 */
export async function startWorkers({
  config,
  file,
  locals,
  log,
  program,
  reloads,
  flush,
}: Pick<GatewayOptions, 'config' | 'locals'> &
  Pick<WorkersParts, 'log' | 'program'> & { file: string | null; reloads: Reloads; flush(): void }): Promise<
  Pick<Gateway, 'issueFirstKey' | 'reconfigure' | 'noteReload' | 'close'>
> {
  const { host, port } = config.server;
  const folder = openDataFolder(config.storage.data_dir);
  const lock = lockDataFolder(folder, urlOf(host, port));
  if (lock.kind === 'held') throw new StartRefused(lock.message);
  const tooMany = whyTooManyProcesses(config);
  if (tooMany !== null) log.warn(tooMany);
  const clock = systemClock;
  const books =
    config.storage.database === 'sqlite'
      ? await openPrimaryBooks({ config, folder, bootId: randomUUID(), clock, log }).catch((error: unknown) => {
          lock.release();
          throw error;
        })
      : null;
  const items = createItemMemory({ clock });
  const vectors =
    config.vectors.engine === 'qdrant'
      ? null
      : (await import('../processes/vectors/vectors-host.ts')).openVectorsHost(config.vectors, folder.path, log);
  const workers = new Workers({
    count: processesOf(config),
    log,
    program,
    form: process.stdout.isTTY === true ? 'pretty' : 'json',
    given: () => ({ config: reloads.current, file, locals }),
    reload: (mode) => reloads.reload(reloadByAdmin, mode),
    items: { keepItems: items.keep, findItems: items.find },
    books,
    vectors,
    onAllEnded() {
      flush();
      lock.release();
      process.exit(1);
    },
  });
  books?.watch(() => workers.notifyStanding());
  const close = async (graceMs: number, delayMs = 0) => {
    await workers.stop({ graceMs, delayMs });
    await vectors?.close();
    await books?.close();
    lock.release();
  };
  const stopped = stopDuringStart();
  try {
    lock.announce(await Promise.race([workers.start(), stopped.promise]));
  } catch (error) {
    await close(0);
    throw error;
  } finally {
    stopped.ignore();
  }
  return {
    issueFirstKey: async () => null,
    reconfigure: (next) => workers.configure(next),
    noteReload: (reload) => workers.noteReload(reload),
    close,
  };
}

/** Rejects at a signal to end, which would else leave the workers to their end and the folder locked. */
function stopDuringStart(): { promise: Promise<never>; ignore(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (signal: string) => reject(new StartRefused(`${signal} came during the start, so nothing was started.`));
  for (const signal of endSignals) process.once(signal, stop);
  return {
    promise,
    ignore() {
      for (const signal of endSignals) process.off(signal, stop);
    },
  };
}

const endSignals = ['SIGTERM', 'SIGINT'] as const;
