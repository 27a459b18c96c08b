import type { GivenObject } from '../../../books/auth/provider-object-store.ts';
import { type NamedObject, objectNotFound, threadField } from '../../../formats/dialects/named-objects.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { RouteCandidate } from '../../../routing/route.ts';

/** One id of a request, with what is known of it. */
export interface KnownObject {
  named: NamedObject;
  /** The row of the asking tenant; null when it was not given the id. */
  tenantRow: GivenObject | null;
  /** The rows of other tenants. */
  others: readonly GivenObject[];
  /** Providers at which the operator shares it with everybody. */
  sharedAt: ReadonlySet<string>;
}

/** The candidates that can reach what a request names, and the field that leaves no others; null: any can. */
export interface Bound {
  kind: 'bound';
  candidates: readonly RouteCandidate[];
  field: string | null;
}

/** A 404 for an id that the tenant was never given, whether it exists or not; null: the tenant may name them all. */
export function unknownObjectFailure(objects: readonly KnownObject[]): Failure | null {
  for (const object of objects) if (!mayBeNamed(object)) return objectNotFound(object.named.field);
  return null;
}

/**
 * Leaves of the candidates those targets and credentials under which everything lives that a request names, which has
 * no stranger. A 400 when nothing that serves the model can reach it all.
 */
export function bindCandidates(
  model: string,
  objects: readonly KnownObject[],
  candidates: readonly RouteCandidate[],
): Bound | Failure {
  let left = candidates;
  let field: string | null = null;
  for (const object of objects) {
    // An item that the caller sends whole needs nothing from its origin.
    if (object.named.use === 'label') continue;
    const next = reaching(object, left);
    if (next.length === 0) return outOfReach(object.named.field, field, model);
    field ??= object.named.field;
    left = next;
  }
  return { kind: 'bound', candidates: left, field };
}

function mayBeNamed({ named, tenantRow, others, sharedAt }: KnownObject): boolean {
  if (tenantRow !== null || sharedAt.size > 0) return true;
  return named.use === 'label' && others.length === 0;
}

function reaching(
  { tenantRow, others, sharedAt }: KnownObject,
  candidates: readonly RouteCandidate[],
): RouteCandidate[] {
  if (tenantRow !== null) {
    const there = withCredentials(candidates, (credential) => credential === tenantRow.credential);
    // Its own model first: its stored thoughts are of no use to others.
    return there.map((candidate) =>
      candidate.target.id === tenantRow.target ? candidate : { ...candidate, awkward: true },
    );
  }
  const at = candidates.filter(({ target }) => sharedAt.has(target.provider));
  const homes = new Set(others.map(({ credential }) => credential));
  const atHome = withCredentials(at, (credential) => homes.has(credential));
  return atHome.length > 0 ? atHome : at;
}

function withCredentials(
  candidates: readonly RouteCandidate[],
  fits: (credential: string) => boolean,
): RouteCandidate[] {
  const left: RouteCandidate[] = [];
  for (const candidate of candidates) {
    const { credentials } = candidate.target;
    const fitting = credentials.filter(({ id }) => fits(id));
    if (fitting.length === 0) continue;
    const all = fitting.length === credentials.length;
    left.push(all ? candidate : { ...candidate, target: { ...candidate.target, credentials: fitting } });
  }
  return left;
}

function outOfReach(field: string, earlier: string | null, model: string): Failure {
  if (field === threadField) return objectNotFound(field);
  const message =
    earlier === null || earlier === field
      ? `The objects that '${field}' names are at a provider that does not serve the model '${model}'. Use the model that they came from.`
      : `The objects that '${field}' and '${earlier}' name belong to different credentials, so no provider has both.`;
  return invalid(field, message);
}
