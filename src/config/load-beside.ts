import { statSync } from 'node:fs';
import { createWorkThread } from '../kernel/threads/work-thread.ts';
import { withinMs } from '../kernel/within-ms.ts';
import type { ConfigResult } from './check.ts';
import { type LoadOptions, loadConfig } from './load.ts';
import type { LoadOrder } from './load-orders.ts';
import { managedSecrets } from './managed-secrets.ts';

/** A thread takes 0.2 s to start: smaller files are checked sooner here. */
const largeBytes = 128 * 1024;

/** 4 MB take some seconds. */
const textMsMax = 30_000;

/** `loadConfig` that holds up no request: large files, 1 MB in a second, and texts of requests are read in a thread. */
export async function loadConfigBeside(entry: URL, options: LoadOptions): Promise<ConfigResult> {
  const { file } = options;
  const bytes = file === null ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  if (bytes < largeBytes && options.text === undefined) return loadConfig(options);
  const thread = createWorkThread(entry, 'thread of the configuration');
  const order = (id: number) => {
    const message: LoadOrder = { id, options: { ...options, env: { ...options.env } }, managed: managedSecrets() };
    return { message, transfer: [] };
  };
  const loaded = thread.ask<ConfigResult>(order);
  try {
    if (options.text === undefined) return await loaded;
    return (
      (await withinMs(
        textMsMax,
        loaded.catch(() => null),
        null,
      )) ?? unchecked
    );
  } catch {
    // A machine that has no room for another thread still reloads.
    return loadConfig(options);
  } finally {
    void thread.close();
  }
}

/** A text that ended its thread would end the server's, too. */
const unchecked: ConfigResult = {
  ok: false,
  errors: [{ file: 'culvert.yaml', line: 1, column: 1, path: '', message: 'the check takes too much time or memory' }],
  sources: [],
};
