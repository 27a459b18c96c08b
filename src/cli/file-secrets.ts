import type { Env } from '../config/environment.ts';
import { keepManagedSecrets } from '../config/managed-secrets.ts';
import { managedReferences } from '../config/references.ts';
import { systemClock as clock } from '../kernel/clock.ts';

/** Secrets that were read just now are not read again, ms. */
const freshMs = 2_000;

type Managers = Awaited<ReturnType<typeof openManagers>>;

/** Loaded for files that name a manager alone. */
async function openManagers(env: Env) {
  const [{ createManagedSecrets }, { createTransport }, { environmentProxies }] = await Promise.all([
    import('../upstream/credentials/secret-managers/managed-secrets.ts'),
    import('../upstream/transport/send.ts'),
    import('../upstream/transport/proxy.ts'),
  ]);
  const transport = createTransport({ proxyOf: environmentProxies(env) });
  return createManagedSecrets({ env, transport });
}

/** Secrets of managers that a configuration names (docs/secrets.md). They are read before it is checked. */
export class FileSecrets {
  readonly #text: () => string | null;
  readonly #env: Env;
  #managers: Promise<Managers> | null = null;
  #known = '';
  #readAtMs = Number.NEGATIVE_INFINITY;
  #againMs = 0;

  /** `text`: that of the configuration now; null where it cannot be read. */
  constructor(text: () => string | null, env: Env = process.env) {
    this.#text = text;
    this.#env = env;
  }

  /**
   * Reads all of them, or those that are due, unless they were read just now. A file without any is only looked through. Never
   * rejects.
   */
  async read(which: 'due' | 'all' = 'all'): Promise<{ changed: string[]; unread: string[] }> {
    const references = managedReferences(this.#text() ?? '');
    const known = references.join('\n');
    if (references.length === 0 || (known === this.#known && clock.monotonicMs() - this.#readAtMs < freshMs)) {
      this.#known = known;
      return { changed: [], unread: [] };
    }
    this.#managers ??= openManagers(this.#env);
    const { values, againMs } = await (await this.#managers).read(references, which);
    this.#known = known;
    this.#readAtMs = clock.monotonicMs();
    this.#againMs = againMs;
    return keepManagedSecrets(values);
  }

  /** From now on reads them again before they end, and calls `onChange` when one has another value. Returns its end. */
  watch(onChange: () => void, log: { warn(facts: object, message: string): void }): () => void {
    let state: 'watching' | 'ended' = 'watching';
    let timer: NodeJS.Timeout;
    const look = async () => {
      if (this.#known !== '' && clock.monotonicMs() - this.#readAtMs >= this.#againMs) {
        const { changed, unread } = await this.read('due');
        if (unread.length > 0) log.warn({ errors: unread }, awayMessage);
        if (changed.length > 0) onChange();
      }
      if (state === 'watching') timer = setTimeout(look, lookEveryMs).unref();
    };
    timer = setTimeout(look, lookEveryMs).unref();
    return () => {
      state = 'ended';
      clearTimeout(timer);
    };
  }
}

const lookEveryMs = 5_000;
const awayMessage = 'secrets of a manager cannot be read: their last values stay in use';
