import { createHash } from 'node:crypto';
import type { GivenObject, ProviderObjectStore } from '../../../books/auth/provider-object-store.ts';
import type { Config } from '../../../config/schema.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { OpenedOnce } from '../../../kernel/opened-once.ts';

export interface GivenObjectsParts {
  /** Opened at the first id: most callers never give or name one. */
  open(): Promise<ProviderObjectStore>;
  clock: Clock;
  /** The configuration in force. */
  readonly snapshots: { readonly current: { config: { storage: Pick<Config['storage'], 'provider_objects'> } } };
  /** For the operator's log. */
  onTrouble(message: string): void;
  /** For tests: real time otherwise. */
  pause?(ms: number): Promise<unknown>;
}

/** The target that gave an id, and its credential. */
interface GivingPlace {
  target: { id: string };
  credential: { id: string };
}

/** The time for which OpenAI keeps responses. */
const objectRetentionMs = 30 * 24 * 3_600_000;
/**
 * Ids of objects that OpenAI and Anthropic keep until they are deleted: files, fine-tuning, evals, skills, conversations,
 * vector stores.
 */
const lasting = /^(?:file[-_]|ftjob-|ftckpt_|ft:|eval|skill|conv_|vs_)/;
/** Ids of one tenant; beyond it the oldest are forgotten. */
const objectsPerTenantMax = 1_000_000;
/** Between two looks at how many a tenant has. */
const trimEvery = 10_000;
/**
 * Ids that wait for an unreachable database. Beyond it the tenant with most waiting ids loses its oldest, which nobody
 * can name then.
 */
const waitingMax = 20_000;
const writtenAtOnce = 500;
const retryAfterMs = 1_000;
/** An answer waits this long for its ids to be written. Then it goes out: its caller has paid for them. */
const recordWaitMaxMs = 10_000;
const recordLookMs = 50;

/** Ids that providers gave to tenants: written by and by, and found from the moment at which they were given. */
export class GivenObjects {
  readonly #parts: GivenObjectsParts;
  readonly #once: OpenedOnce<ProviderObjectStore>;
  #opened: ProviderObjectStore | null = null;
  /** Keyed by id and tenant, the oldest first. */
  readonly #waiting = new Map<string, GivenObject>();
  #writing: Promise<void> | null = null;
  /** Pause until the database is tried again. */
  #resting = false;
  #troubled = false;
  #closed = false;
  /** Ids written since a tenant was last looked at. */
  readonly #written = new Map<string, number>();

  constructor(parts: GivenObjectsParts) {
    this.#parts = parts;
    this.#once = new OpenedOnce(() => parts.open());
  }

  /** Opens the database, so that new ids are written at once. Never rejects. */
  ready(): Promise<unknown> {
    return this.#opened === null ? this.#store().catch(() => undefined) : Promise.resolve();
  }

  /** Remembers ids that an attempt's answer gave to a tenant. Never throws: what cannot be written is tried again. */
  give(tenant: string, { target, credential }: GivingPlace, ids: readonly string[]): void {
    const nowMs = this.#parts.clock.wallMs();
    for (const id of ids) {
      const expiresMs = nowMs + this.#retentionMs(id);
      const row = { idHash: hashOf(id), tenant, target: target.id, credential: credential.id, expiresMs };
      this.#waiting.set(keyOf(row), row);
    }
    this.#put();
  }

  /**
   * Remembers an object for its whole time again where a tenant uses one that its provider keeps until it is deleted, and
   * half of the time is over. Never throws.
   */
  used(id: string, row: GivenObject): void {
    if (!lasting.test(id)) return;
    const nowMs = this.#parts.clock.wallMs();
    const retentionMs = this.#retentionMs(id);
    if (row.expiresMs - nowMs > retentionMs / 2) return;
    this.#waiting.set(keyOf(row), { ...row, expiresMs: nowMs + retentionMs });
    this.#put();
  }

  /** Forgets an object that its tenant has deleted at its provider. Never throws. */
  forget(tenant: string, { target, credential }: GivingPlace, id: string): void {
    const row = { idHash: hashOf(id), tenant, target: target.id, credential: credential.id, expiresMs: 0 };
    this.#waiting.set(keyOf(row), row);
    this.#put();
  }

  #retentionMs(id: string): number {
    return lasting.test(id) ? this.#parts.snapshots.current.config.storage.provider_objects : objectRetentionMs;
  }

  #put(): void {
    while (this.#waiting.size > waitingMax) this.#makeRoom();
    if (!this.#resting) void this.#write();
  }

  /**
   * Resolves when these ids are written, so that they outlive this process: before their answer goes out. After
   * `recordWaitMaxMs` without the database it resolves too. Null: they are written. Never rejects.
   */
  recorded(tenant: string, ids: readonly string[]): Promise<void> | null {
    if (this.#waiting.size === 0) return null;
    const keys = ids.map((id) => keyOf({ idHash: hashOf(id), tenant }));
    return keys.some((key) => this.#waiting.has(key)) ? this.#recorded(keys) : null;
  }

  async #recorded(keys: readonly string[]): Promise<void> {
    const { clock } = this.#parts;
    const byMs = clock.monotonicMs() + recordWaitMaxMs;
    while (keys.some((key) => this.#waiting.has(key)) && clock.monotonicMs() < byMs) {
      const tried = this.#resting || this.#writing === null ? this.#pause(recordLookMs) : this.#writing;
      await Promise.race([tried, this.#pause(recordWaitMaxMs)]);
    }
  }

  /** All that is known of these ids, of all tenants; `rechecked`: those of them that are worth a second look. */
  async find(tenant: string, hashes: readonly string[], rechecked: readonly string[]): Promise<GivenObject[]> {
    const { clock } = this.#parts;
    // An id that this process has just given out may not be written yet.
    const waiting = hashes.flatMap((idHash) => this.#waiting.get(keyOf({ idHash, tenant })) ?? []);
    const from = await this.#store();
    const isNewer = new Set(waiting.map(keyOf));
    const stored = async (ids: readonly string[]) =>
      (await from.find(ids, clock.wallMs())).filter((row) => !isNewer.has(keyOf(row)));
    // A row that waits may say that its object was deleted.
    const found = [...(await stored(hashes)), ...waiting.filter(({ expiresMs }) => expiresMs > clock.wallMs())];
    const { lookAgainAfterMs } = from;
    if (lookAgainAfterMs === null) return found;
    const known = new Set(found.map(({ idHash }) => idHash));
    const missing = rechecked.filter((hash) => !known.has(hash));
    if (missing.length === 0) return found;
    await this.#pause(lookAgainAfterMs);
    return [...found, ...(await stored(missing))];
  }

  /** Forgets old ids, unless nobody has named or received any since the start. Resolves to their number. */
  async sweep(nowMs: number): Promise<number> {
    if (this.#once.unused) return 0;
    const from = await this.#store();
    const tenants = [...this.#written.keys()];
    this.#written.clear();
    for (const tenant of tenants) await from.trim(tenant, objectsPerTenantMax);
    return from.sweep(nowMs);
  }

  /** Writes the rest. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#waiting.size > 0) await this.#write();
    await (await this.#once.opened())?.close();
  }

  async #store(): Promise<ProviderObjectStore> {
    this.#opened = await this.#once.open();
    return this.#opened;
  }

  /** One writer at a time; resolves when there is nothing left to write, or it failed. */
  #write(): Promise<void> {
    // An embedded database has the rows before this returns, and so before the caller has the answer.
    this.#writing ??= (
      this.#opened === null ? this.#store().then((to) => this.#writeAll(to)) : this.#writeAll(this.#opened)
    )
      .then(
        () => {
          this.#troubled = false;
        },
        (error: unknown) => {
          if (!this.#troubled) this.#parts.onTrouble(`ids that providers gave out cannot be stored: ${String(error)}`);
          this.#troubled = true;
          if (!this.#closed) this.#rest();
        },
      )
      .finally(() => {
        this.#writing = null;
      });
    return this.#writing;
  }

  async #writeAll(to: ProviderObjectStore): Promise<void> {
    const waiting = this.#waiting;
    while (waiting.size > 0) {
      const batch = [...waiting.values()].slice(0, writtenAtOnce);
      await to.give(batch);
      for (const row of batch) if (waiting.get(keyOf(row)) === row) waiting.delete(keyOf(row));
      for (const { tenant } of batch) this.#countWritten(to, tenant);
    }
  }

  #rest(): void {
    this.#resting = true;
    void this.#pause(retryAfterMs).then(() => {
      this.#resting = false;
      return this.#write();
    });
  }

  #pause(ms: number): Promise<unknown> {
    return this.#parts.pause?.(ms) ?? new Promise((resolve) => setTimeout(resolve, ms).unref());
  }

  /** Nobody waits for ids that are removed meanwhile. */
  #countWritten(to: ProviderObjectStore, tenant: string): void {
    const count = (this.#written.get(tenant) ?? 0) + 1;
    this.#written.set(tenant, count % trimEvery);
    if (count < trimEvery) return;
    to.trim(tenant, objectsPerTenantMax).catch((error: unknown) =>
      this.#parts.onTrouble(`old ids that providers gave to ${tenant} could not be removed: ${String(error)}`),
    );
  }

  /** Drops the oldest of the tenant with most waiting ids: one tenant's flood does not touch the others. */
  #makeRoom(): void {
    const waiting = this.#waiting;
    const counts = new Map<string, number>();
    for (const { tenant } of waiting.values()) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    const [most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
    let surplus = writtenAtOnce;
    for (const [key, { tenant }] of waiting) {
      if (tenant !== most) continue;
      waiting.delete(key);
      surplus -= 1;
      if (surplus === 0) return;
    }
  }
}

/** Key of an id in the store. */
export function hashOf(id: string): string {
  return createHash('sha256').update(id).digest().subarray(0, 16).toString('base64url');
}

function keyOf({ idHash, tenant }: Pick<GivenObject, 'idHash' | 'tenant'>): string {
  return `${idHash} ${tenant}`;
}
