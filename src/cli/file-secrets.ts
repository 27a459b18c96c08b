import { configText } from '../config/load.ts';
import { keepManagedSecrets } from '../config/managed-secrets.ts';
import { managedReferences } from '../config/references.ts';
import { systemClock as clock } from '../kernel/clock.ts';

/** Secrets that were read just now are not read again, ms. */
const freshMs = 2_000;

type Managers = Awaited<ReturnType<typeof openManagers>>;
let opened: Promise<Managers> | null = null;

/** Loaded for files that name a manager alone. */
async function openManagers() {
  const [{ createManagedSecrets }, { createTransport }, { environmentProxies }] = await Promise.all([
    import('../upstream/credentials/secret-managers/managed-secrets.ts'),
    import('../upstream/transport/send.ts'),
    import('../upstream/transport/proxy.ts'),
  ]);
  const transport = createTransport({ proxyOf: environmentProxies(process.env) });
  return createManagedSecrets({ env: process.env, transport });
}

/** Secrets of managers that a configuration file names (docs/secrets.md). They are read before the file is checked. */
export class FileSecrets {
  readonly #file: string | null;
  #known = '';
  #readAtMs = Number.NEGATIVE_INFINITY;
  #againMs = 0;

  /** `file`: null where there is none. */
  constructor(file: string | null) {
    this.#file = file;
  }

  /** Reads all of them, unless they were read just now. A file without any is only looked through. Never rejects. */
  async read(): Promise<{ changed: string[]; unread: string[] }> {
    const references = managedReferences(configText(this.#file) ?? '');
    const known = references.join('\n');
    if (references.length === 0 || (known === this.#known && clock.monotonicMs() - this.#readAtMs < freshMs)) {
      this.#known = known;
      return { changed: [], unread: [] };
    }
    opened ??= openManagers();
    const { values, againMs } = await (await opened).read(references);
    this.#known = known;
    this.#readAtMs = clock.monotonicMs();
    this.#againMs = againMs;
    return keepManagedSecrets(values);
  }

  /** From now on reads them again before they end, and calls `onChange` when one has another value. */
  watch(onChange: () => void, log: { warn(facts: object, message: string): void }): void {
    const look = async () => {
      if (this.#known !== '' && clock.monotonicMs() - this.#readAtMs >= this.#againMs) {
        const { changed, unread } = await this.read();
        if (unread.length > 0) log.warn({ errors: unread }, awayMessage);
        if (changed.length > 0) onChange();
      }
      setTimeout(look, lookEveryMs).unref();
    };
    setTimeout(look, lookEveryMs).unref();
  }
}

const lookEveryMs = 5_000;
const awayMessage = 'secrets of a manager cannot be read: their last values stay in use';
