import { setImmediate as nextTurn } from 'node:timers/promises';
import { matchesGlob } from '../../../books/auth/model-glob.ts';
import type { GivenObject } from '../../../books/auth/provider-object-store.ts';
import type { NamedObject } from '../../../formats/dialects/named-objects.ts';
import { type Failure, failureIn } from '../../../kernel/failure.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { type Bound, bindCandidates, type KnownObject, unknownObjectFailure } from './bind-candidates.ts';
import { GivenObjects, hashOf } from './given-objects.ts';

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

/**
 * Ownership of objects at providers: an id in an answer serves the tenant that received it, and goes to the credential
 * that gave it. Other ids pass only when the operator shares them. An id that cannot be looked up is refused.
 */
export class ProviderObjects extends GivenObjects {
  /**
   * The targets that may answer a request that names these ids. 404 for an id that the tenant was never given, 503 when
   * the owner cannot be found out.
   */
  bind(query: BindQuery): Promise<Bound | Failure> {
    return bind(this, query).catch(failureIn);
  }

  /** The target and credential that gave this id to a tenant; null: none did. Rejects when the database is away. */
  async homeOf(tenant: string, id: string): Promise<Pick<GivenObject, 'target' | 'credential'> | null> {
    const hashes = [hashOf(id)];
    const row = (await this.find(tenant, hashes, hashes)).findLast((one) => one.tenant === tenant) ?? null;
    if (row !== null) this.used(id, row);
    return row;
  }

  /** The ids among these that the tenant was given. Rejects likewise. */
  async givenTo(tenant: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const hashes = new Map(ids.map((id) => [hashOf(id), id]));
    const rows = ids.length === 0 ? [] : await this.find(tenant, [...hashes.keys()], []);
    return new Set(rows.flatMap((row) => (row.tenant === tenant ? (hashes.get(row.idHash) ?? []) : [])));
  }
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
