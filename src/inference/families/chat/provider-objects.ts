import { setImmediate as nextTurn } from 'node:timers/promises';
import { matchesGlob } from '../../../books/auth/model-glob.ts';
import type { GivenObject } from '../../../books/auth/provider-object-store.ts';
import type { NamedObject } from '../../../formats/dialects/named-objects.ts';
import { type Failure, failureIn } from '../../../kernel/failure.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { type Bound, bindCandidates, type KnownObject, unknownObjectFailure } from './bind-candidates.ts';
import { GivenObjects, type GivenObjectsParts, type GivingAttempt, type GivingPlace, hashOf } from './given-objects.ts';

/**
 * Ownership of objects at providers: an id in an answer serves the tenant that received it, and goes to the credential
 * that gave it. Other ids pass only when the operator shares them. An id that cannot be looked up is refused.
 */
export interface ProviderObjects {
  /** Opens the database, so that new ids are written at once. Never rejects. */
  ready(): Promise<unknown>;
  /** Remembers ids that an attempt's answer gave to a tenant. Never throws: what cannot be written is tried again. */
  give(tenant: string, attempt: GivingAttempt, ids: readonly string[]): void;
  /** Forgets an object that the tenant has deleted there. Never throws. */
  forget(tenant: string, place: GivingPlace, id: string): void;
  /**
   * Resolves when these ids are written, so that they outlive this process: before their answer goes out. After ten
   * seconds without the database it resolves too. Null: they are written. Never rejects.
   */
  recorded(tenant: string, ids: readonly string[]): Promise<void> | null;
  /**
   * The targets that may answer a request that names these ids. 404 for an id that the tenant was never given, 503 when
   * the owner cannot be found out.
   */
  bind(query: BindQuery): Promise<Bound | Failure>;
  /** The credential that gave this id to a tenant; null: none did. Rejects when the database cannot be asked. */
  credentialOf(tenant: string, id: string): Promise<string | null>;
  /**
   * The target and credential that gave this id to a tenant; null: none did. Rejects when the database cannot be asked.
   */
  homeOf(tenant: string, id: string): Promise<Pick<GivenObject, 'target' | 'credential'> | null>;
  /** The ids among these that the tenant was given. Rejects likewise. */
  givenTo(tenant: string, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Forgets what is old, unless nobody has named or been given anything since the start; resolves to how many. */
  sweep(nowMs: number): Promise<number>;
  /** Writes the rest. */
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

/** Ids of one request between which others have their turn. */
const idsPerLookup = 128;

export function createProviderObjects(parts: GivenObjectsParts): ProviderObjects {
  const objects = new GivenObjects(parts);
  async function homeOf(tenant: string, id: string) {
    const hashes = [hashOf(id)];
    const row = (await objects.find(tenant, hashes, hashes)).findLast((one) => one.tenant === tenant) ?? null;
    if (row !== null) objects.used(id, row);
    return row;
  }
  return {
    ready: () => objects.ready(),
    give: (tenant, attempt, ids) => objects.give(tenant, attempt, ids),
    forget: (tenant, place, id) => objects.forget(tenant, place, id),
    recorded: (tenant, ids) => objects.recorded(tenant, ids),
    async bind(query) {
      try {
        return await bind(objects, query);
      } catch (error) {
        return failureIn(error);
      }
    },
    credentialOf: async (tenant, id) => (await homeOf(tenant, id))?.credential ?? null,
    homeOf,
    async givenTo(tenant, ids) {
      const hashes = new Map(ids.map((id) => [hashOf(id), id]));
      const rows = ids.length === 0 ? [] : await objects.find(tenant, [...hashes.keys()], []);
      return new Set(rows.flatMap((row) => (row.tenant === tenant ? (hashes.get(row.idHash) ?? []) : [])));
    },
    sweep: (nowMs) => objects.sweep(nowMs),
    close: () => objects.close(),
  };
}

async function bind(given: GivenObjects, query: BindQuery): Promise<Bound | Failure> {
  const named = distinct(query.named);
  const objects: KnownObject[] = [];
  for (let at = 0; at < named.length; at += idsPerLookup) {
    if (at > 0) await nextTurn();
    const some = await known(given, query, named.slice(at, at + idsPerLookup));
    const stranger = unknownObjectFailure(some);
    // Refused without a look at the rest: a stranger's thousands cost no more than one.
    if (stranger !== null) return stranger;
    objects.push(...some);
  }
  return bindCandidates(query.model, objects, query.candidates);
}

async function known(
  given: GivenObjects,
  { tenant, providers }: BindQuery,
  named: readonly NamedObject[],
): Promise<KnownObject[]> {
  const objects = named.map((one) => ({ named: one, idHash: hashOf(one.id) }));
  const found = Map.groupBy(
    await given.find(
      tenant,
      objects.map(({ idHash }) => idHash),
      objects.filter((one) => one.named.use === 'reference').map(({ idHash }) => idHash),
    ),
    ({ idHash }) => idHash,
  );
  return objects.map(({ named: one, idHash }) => {
    const rows = found.get(idHash) ?? [];
    const tenantRow = rows.findLast((row) => row.tenant === tenant) ?? null;
    if (tenantRow !== null) given.used(one.id, tenantRow);
    return {
      named: one,
      tenantRow,
      others: rows.filter((row) => row.tenant !== tenant),
      sharedAt: sharersOf(one.id, providers),
    };
  });
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
