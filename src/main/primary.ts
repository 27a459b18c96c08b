import { processesOf } from '../config/declared.ts';
import { urlOf } from '../http/listening.ts';
import { createKeptItems } from '../inference/families/chat/kept-items.ts';
import { systemClock } from '../kernel/clock.ts';
import { StartRefused } from '../processes/lifetime.ts';
import type { Reloads } from '../processes/reloads.ts';
import { Workers, type WorkersParts } from '../processes/workers.ts';
import { openDataFolder } from '../stores/sqlite/data-folder.ts';
import { lockDataFolder } from '../stores/sqlite/data-folder-lock.ts';
import type { Gateway } from './gateway.ts';
import type { GatewayOptions } from './gateway-options.ts';

/** Starts the workers of `server.processes`. This process holds the data folder, and opens no store. */
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
  Pick<Gateway, 'issueFirstKey' | 'reconfigure' | 'close'>
> {
  const { host, port } = config.server;
  const lock = lockDataFolder(openDataFolder(config.storage.data_dir), urlOf(host, port));
  if (lock.kind === 'held') throw new StartRefused(lock.message);
  const items = createKeptItems({ clock: systemClock });
  const workers = new Workers({
    count: processesOf(config),
    log,
    program,
    form: process.stdout.isTTY === true ? 'pretty' : 'json',
    given: () => ({ config: reloads.current, file, locals }),
    reload: (mode) => reloads.reload('the admin API', mode),
    items: { keepItems: items.keep, findItems: items.find },
    onGone() {
      flush();
      lock.release();
      process.exit(1);
    },
  });
  const close = async (graceMs: number, delayMs = 0) => {
    await workers.stop({ graceMs, delayMs });
    lock.release();
  };
  try {
    lock.announce(await workers.start());
  } catch (error) {
    await close(0);
    throw error;
  }
  return { issueFirstKey: async () => null, reconfigure: (next) => workers.configure(next), close };
}
