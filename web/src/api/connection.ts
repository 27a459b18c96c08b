import { serverPath } from './server-path.ts';

// Whether Culvert answers. While it does not, its health is requested every two seconds.
const askEveryMs = 2_000;

let reachable = true;
let timer: ReturnType<typeof setTimeout> | null = null;
const listeners = new Set<() => void>();

export function isReachable(): boolean {
  return reachable;
}

export function onReachable(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A call got an answer. */
export function answered(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  set(true);
}

/** A call got none. */
export function unheard(): void {
  set(false);
  timer ??= setTimeout(ask, askEveryMs);
}

/**
 * Loads the code of a page, or of a part of one. Where that fails, it loads it once more when Culvert answers: a page that is
 * opened during a restart comes after it, and the reader's page stays until then.
 */
export async function whenReachable<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load();
  } catch {
    if (timer === null) await ask();
    if (!reachable)
      await new Promise<void>((done) => {
        const stop = onReachable(() => {
          stop();
          done();
        });
      });
    return load();
  }
}

async function ask(): Promise<void> {
  timer = null;
  try {
    await fetch(`${serverPath}/healthz`, { cache: 'no-store' });
    answered();
  } catch {
    unheard();
  }
}

function set(next: boolean): void {
  if (reachable === next) return;
  reachable = next;
  for (const listener of listeners) listener();
}
