import { createHash } from 'node:crypto';
import { z } from 'zod';
import { someText } from '../../config/scalars.ts';
import { refuseWith } from '../operation.ts';

/** Version of something that has none in the store: another content gives another version. */
export function contentVersion(content: object): string {
  return createHash('sha256').update(JSON.stringify(content, inOrder)).digest('base64url').slice(0, 12);
}

/** PostgreSQL gives the members of a JSON object back in another order. */
function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const contentVersionField = z
  .string()
  .describe('Version of the content. It changes with each write; PATCH and PUT take it.');

export const knownContentVersion = someText(64)
  .optional()
  .describe('The `version` that you know. If the current one is another, the answer is 409 with `current`.');

/** Two people change the same thing: the second one sees what the first one wrote. */
export function checkContentVersion(known: string | undefined, current: { version: string }, what: string): void {
  if (known !== undefined && known !== current.version) refuseChanged(current, what);
}

/** For a change that the store refuses too: another one was written between the look at the version and this. */
export function refuseChanged(current: { version: string }, what: string): never {
  return refuseWith(
    { kind: 'conflict', message: `Another operator changed the ${what} in the meantime. Your change was not saved.` },
    { current },
  );
}
