import { FailureError } from '../../kernel/failure.ts';
import type { PointId } from '../point.ts';

/** The same words whether nobody or another tenant has it. */
export function noSuchCollection(name: string): FailureError {
  return new FailureError({ kind: 'not-found', message: `Collection '${name}' does not exist.` });
}

export function noSuchPoint(id: PointId): FailureError {
  return new FailureError({ kind: 'not-found', message: `No point with id ${id} exists.` });
}

export function conflict(message: string): FailureError {
  return new FailureError({ kind: 'conflict', message });
}

export function noSuchAlias(alias: string): FailureError {
  return new FailureError({ kind: 'not-found', message: `Alias '${alias}' does not exist.` });
}
