import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { matchesGlob } from '../../auth/model-glob.ts';
import type { GivenObject, ProviderObjectStore } from '../../auth/provider-object-store.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import type { NamedObject } from '../dialects/named-objects.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import type { RouteAttempt, RouteCandidate } from '../routing/route.ts';
import { type Bound, bindCandidates, type KnownObject, strangerAmong } from './bind-candidates.ts';

/**
 * Whose are the objects that live at providers: what an answer gives out serves the tenant that it was given to, and goes
 * to the credential that gave it; others pass only where the operator shares them. What cannot be looked up is refused.
 */
export interface ProviderObjects {
  /** Opens the database, so that what is given is written at once. Never rejects. */
  ready(): Promise<unknown>;
  /** Remembers ids that an attempt's answer gave to a tenant. Never throws: what cannot be written is tried again. */
  give(tenant: string, attempt: Pick<RouteAttempt, 'target' | 'credential'>, ids: readonly string[]): void;
  /** Who may answer a request that names these; 404 for what the tenant was never given, 503 when nobody can tell. */
  bind(asked: BindQuery): Promise<Bound | Failure>;
  /** Forgets what is old, unless nobody has named or been given anything since the start; resolves to how many. */
  sweep(nowMs: number): Promise<number>;
  /** Writes what is left. */
  close(): Promise<void>;
}

export interface BindQuery {
  tenant: string;
  /** The alias asked for, for messages. */
  model: string;
  named: readonly NamedObject[];
  candidates: readonly RouteCandidate[];
  providers: ReadonlyMap<string, Pick<ConfiguredProvider, 'config'>>;
}

export interface ProviderObjectsParts {
  /** Opened at the first id: most callers never give or name one. */
  open(): Promise<ProviderObjectStore>;
  clock: Clock;
  /** For the operator's log. */
  onTrouble(message: string): void;
  /** For tests: real time otherwise. */
  pause?(ms: number): Promise<unknown>;
}

/** As long as OpenAI keeps responses. */
export const objectKeptForMs = 30 * 24 * 3_600_000;
/** Ids of one tenant; beyond it the oldest are forgotten. */
export const objectsPerTenantMax = 1_000_000;
/** Between two looks at how many a tenant has. */
const trimEvery = 10_000;
/** Ids that wait for a database that is away; beyond it those of whom most wait are lost, and named by nobody. */
const waitingMax = 20_000;
const writtenAtOnce = 500;
/** Ids of one request between which others have their turn. */
const lookedForAtOnce = 128;
const retryAfterMs = 1_000;

export function createProviderObjects(parts: ProviderObjectsParts): ProviderObjects {
  const { clock, onTrouble } = parts;
  const pause = parts.pause ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms).unref()));
  let opening: Promise<ProviderObjectStore> | null = null;
  let opened: ProviderObjectStore | null = null;
  /** By id and tenant, the oldest first. */
  const waiting = new Map<string, GivenObject>();
  let writing: Promise<void> | null = null;
  /** Until the database is tried again. */
  let resting = false;
  let troubled = false;
  let closed = false;
  /** Ids written since a tenant was last looked at. */
  const written = new Map<string, number>();

  async function store(): Promise<ProviderObjectStore> {
    opening ??= parts.open().catch((error: unknown) => {
      opening = null;
      throw error;
    });
    opened = await opening;
    return opened;
  }

  async function writeAll(to: ProviderObjectStore): Promise<void> {
    while (waiting.size > 0) {
      const batch = [...waiting.values()].slice(0, writtenAtOnce);
      await to.give(batch);
      for (const row of batch) if (waiting.get(keyOf(row)) === row) waiting.delete(keyOf(row));
      for (const { tenant } of batch) countWritten(to, tenant);
    }
  }

  /** One writer at a time; resolves when there is nothing left to write, or it failed. */
  function write(): Promise<void> {
    // An embedded database has the rows before this returns, and so before the caller has the answer.
    writing ??= (opened === null ? store().then(writeAll) : writeAll(opened))
      .then(
        () => {
          troubled = false;
        },
        (error: unknown) => {
          if (!troubled) onTrouble(`ids that providers gave out cannot be written: ${String(error)}`);
          troubled = true;
          if (!closed) rest();
        },
      )
      .finally(() => {
        writing = null;
      });
    return writing;
  }

  function rest(): void {
    resting = true;
    void pause(retryAfterMs).then(() => {
      resting = false;
      return write();
    });
  }

  /** Nobody waits for what is removed meanwhile. */
  function countWritten(to: ProviderObjectStore, tenant: string): void {
    const count = (written.get(tenant) ?? 0) + 1;
    written.set(tenant, count % trimEvery);
    if (count < trimEvery) return;
    to.trim(tenant, objectsPerTenantMax).catch((error: unknown) =>
      onTrouble(`ids that providers gave to ${tenant} could not be trimmed: ${String(error)}`),
    );
  }

  /** `wanted`: those of them that are worth a second look. */
  async function find(tenant: string, hashes: readonly string[], wanted: readonly string[]): Promise<GivenObject[]> {
    // What this process has just given out may be on its way.
    const own = hashes.flatMap((idHash) => waiting.get(keyOf({ idHash, tenant })) ?? []);
    const from = await store();
    const found = [...(await from.find(hashes, clock.wallMs())), ...own];
    const { lookAgainAfterMs } = from;
    if (lookAgainAfterMs === null) return found;
    const known = new Set(found.map(({ idHash }) => idHash));
    const missing = wanted.filter((hash) => !known.has(hash));
    if (missing.length === 0) return found;
    await pause(lookAgainAfterMs);
    return [...found, ...(await from.find(missing, clock.wallMs()))];
  }

  async function known({ tenant, providers }: BindQuery, named: readonly NamedObject[]): Promise<KnownObject[]> {
    const objects = named.map((one) => ({ named: one, idHash: hashOf(one.id) }));
    const found = Map.groupBy(
      await find(
        tenant,
        objects.map(({ idHash }) => idHash),
        objects.filter((one) => one.named.use === 'reference').map(({ idHash }) => idHash),
      ),
      ({ idHash }) => idHash,
    );
    return objects.map(({ named: one, idHash }) => {
      const rows = found.get(idHash) ?? [];
      return {
        named: one,
        own: rows.findLast((row) => row.tenant === tenant) ?? null,
        others: rows.filter((row) => row.tenant !== tenant),
        sharedAt: sharersOf(one.id, providers),
      };
    });
  }

  async function bind(asked: BindQuery): Promise<Bound | Failure> {
    const named = distinct(asked.named);
    const objects: KnownObject[] = [];
    for (let at = 0; at < named.length; at += lookedForAtOnce) {
      if (at > 0) await nextTurn();
      const some = await known(asked, named.slice(at, at + lookedForAtOnce));
      const stranger = strangerAmong(some);
      // Refused without a look at the rest: a stranger's thousands cost no more than one.
      if (stranger !== null) return stranger;
      objects.push(...some);
    }
    return bindCandidates(asked.model, objects, asked.candidates);
  }

  /** Of the oldest, from whom most wait: a flood of one tenant's takes nobody else's. */
  function makeRoom(): void {
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

  return {
    ready: () => (opened === null ? store().catch(() => undefined) : Promise.resolve()),
    give(tenant, { target, credential }, ids) {
      const expiresMs = clock.wallMs() + objectKeptForMs;
      for (const id of ids) {
        const row = { idHash: hashOf(id), tenant, target: target.id, credential: credential.id, expiresMs };
        waiting.set(keyOf(row), row);
      }
      while (waiting.size > waitingMax) makeRoom();
      if (!resting) void write();
    },
    async bind(asked) {
      try {
        return await bind(asked);
      } catch (error) {
        if (error instanceof FailureError) return error.failure;
        throw error;
      }
    },
    async sweep(nowMs) {
      if (opening === null) return 0;
      const from = await store();
      const tenants = [...written.keys()];
      written.clear();
      for (const tenant of tenants) await from.trim(tenant, objectsPerTenantMax);
      return from.sweep(nowMs);
    },
    async close() {
      closed = true;
      if (waiting.size > 0) await write();
      await (await opening?.catch(() => null))?.close();
    },
  };
}

/** Each id once: looked up, if it is anywhere. */
function distinct(named: readonly NamedObject[]): NamedObject[] {
  const byId = new Map<string, NamedObject>();
  for (const one of named) {
    const before = byId.get(one.id);
    if (before === undefined || (before.use === 'label' && one.use === 'reference')) byId.set(one.id, one);
  }
  return [...byId.values()];
}

function sharersOf(id: string, providers: BindQuery['providers']): Set<string> {
  const sharers = new Set<string>();
  for (const [name, { config }] of providers) {
    if (config.shared_objects.some((glob) => matchesGlob(glob, id))) sharers.add(name);
  }
  return sharers;
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest().subarray(0, 16).toString('base64url');
}

function keyOf({ idHash, tenant }: Pick<GivenObject, 'idHash' | 'tenant'>): string {
  return `${idHash} ${tenant}`;
}
