import { FailureError, invalid } from '../kernel/failure.ts';
import type { PointId } from './point.ts';

/** Every engine's messages about names, so that no answer tells the engine or another owner. */

export function noCollection(name: string): FailureError {
  return new FailureError({ kind: 'not-found', message: `Collection '${name}' does not exist.` });
}

export function collectionExists(name: string): FailureError {
  return new FailureError({ kind: 'conflict', message: `A collection or an alias '${name}' exists already.` });
}

/** Refuses that one tenant's collections go to another when both have one name, of a collection or of an alias. */
export function refuseNamesake(from: readonly string[], to: readonly string[]): void {
  const taken = new Set(to);
  const namesake = from.find((name) => taken.has(name));
  if (namesake !== undefined) throw collectionExists(namesake);
}

export function noAlias(name: string): FailureError {
  return new FailureError({ kind: 'not-found', message: `There is no alias '${name}'.` });
}

export function noPoint(id: PointId): FailureError {
  return new FailureError({ kind: 'not-found', message: `No point with id ${id} exists.` });
}

export function tooManyCollections(max: number): FailureError {
  const message = `This account has ${max} collections, as many as it may have (vectors.limits.collections). Delete one first.`;
  return new FailureError(invalid(null, message));
}

/** JSON text of one point's payload. Longer texts are chunked anyway, to be found. */
export const payloadCharsMax = 4 * 1024 * 1024;

/** Aliases of one tenant. */
export const aliasesMax = 1_000;
/** Payload indexes of one collection. */
export const payloadIndexesMax = 100;

export function tooManyAliases(): FailureError {
  return new FailureError(invalid('actions', `actions: a key has at most ${aliasesMax} aliases. Delete some first`));
}

export function tooManyPayloadIndexes(): FailureError {
  const message = `field_name: a collection has at most ${payloadIndexesMax} payload indexes. Delete one first`;
  return new FailureError(invalid('field_name', message));
}
