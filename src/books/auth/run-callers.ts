import { hashKey, type KeyEntry, never } from './key-directory.ts';
import { matchesGlob } from './model-glob.ts';
import { type RunKey, type RunKeys, runPrefix } from './run-keys.ts';

/** Keys of runs that a process remembers; a forgotten one is opened again. */
const runsMax = 10_000;

/** The callers behind keys of runs: each as its parent is at the moment, with less. */
export class RunCallers {
  readonly #keys: RunKeys;
  /** By the hash of the secret, oldest first. */
  readonly #opened = new Map<string, RunKey>();
  readonly #byId = new Map<string, RunKey>();
  /** Made of the parents that are known now. */
  #entries = new Map<string, KeyEntry>();

  constructor(keys: RunKeys) {
    this.#keys = keys;
  }

  /** Null: no such key, or its parent is gone. */
  entry(secret: string, parentOf: (keyId: string) => KeyEntry | undefined): KeyEntry | null {
    const hash = hashKey(secret);
    let run = this.#opened.get(hash) ?? null;
    if (run === null) {
      run = this.#keys.open(secret);
      if (run === null) return null;
      this.#remember(hash, run);
    }
    return this.#entryOf(run, parentOf);
  }

  /** By the id of its principal, for work that goes on after its caller has left. */
  byId(id: string, parentOf: (keyId: string) => KeyEntry | undefined): KeyEntry | null {
    const run = this.#byId.get(id);
    return run === undefined ? null : this.#entryOf(run, parentOf);
  }

  /** Key of a run that this process knows. */
  seen(id: string): RunKey | null {
    return this.#byId.get(id) ?? null;
  }

  /** Knows a run that another process has opened. */
  recall(run: RunKey): void {
    if (this.#byId.has(runKeyId(run))) return;
    this.#makeRoom();
    this.#byId.set(runKeyId(run), run);
  }

  /** Parents may have changed. */
  forget(): void {
    this.#entries = new Map();
  }

  #makeRoom(): void {
    if (this.#byId.size < runsMax) return;
    this.#opened.clear();
    this.#byId.clear();
    this.forget();
  }

  #remember(hash: string, run: RunKey): void {
    this.#makeRoom();
    this.#opened.set(hash, run);
    this.#byId.set(runKeyId(run), run);
  }

  #entryOf(run: RunKey, parentOf: (keyId: string) => KeyEntry | undefined): KeyEntry | null {
    const id = runKeyId(run);
    const known = this.#entries.get(id);
    if (known !== undefined) return known;
    const parent = parentOf(run.keyId);
    if (parent === undefined) return null;
    const { models, usd, rpm } = run;
    const { allowedModels } = parent.principal;
    const entry: KeyEntry = {
      ...parent,
      untilMs: never,
      expiresMs: Math.min(parent.expiresMs, run.expiresMs),
      principal: {
        ...parent.principal,
        keyId: id,
        // Its parent may have lost some since.
        allowedModels:
          models?.filter((name) => allowedModels?.some((glob) => matchesGlob(glob, name)) ?? true) ?? allowedModels,
        run: { id: run.id, keyId: run.keyId, usd, rpm },
      },
    };
    this.#entries.set(id, entry);
    return entry;
  }
}

/** Differs from its parent's: work that goes on by it is not its parent's. */
function runKeyId({ id, keyId }: RunKey): string {
  return `${keyId}~${id}`;
}

export function isRunSecret(secret: string): boolean {
  return secret.startsWith(runPrefix);
}
