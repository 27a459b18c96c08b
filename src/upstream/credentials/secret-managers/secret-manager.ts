import { isObject } from '../../../kernel/json.ts';
import type { JsonAnswer } from '../../transport/get-json.ts';
import type { Transport } from '../../transport/upstream-call.ts';

/** Longest wait for the answer of a secret manager, ms. */
export const managerTimeoutMs = 10_000;

/** A secret as its manager has it: a text, or members by name. */
export interface ReadSecret {
  value: string | Readonly<Record<string, unknown>>;
  /** Ms after which the value may no longer work; null: it works until it is changed. */
  lastsMs: number | null;
  /** Each read makes another one, with another end. */
  leased?: boolean;
}

/** Reads one secret by the path in its reference. Rejects with `SecretUnread`. */
export type SecretReader = (path: string) => Promise<ReadSecret>;

/** Environment of a manager, by the names that its own tools read, and the way to it. */
export interface ManagerParts {
  env: Readonly<Record<string, string | undefined>>;
  transport: Transport;
}

/** A secret cannot be read. The message says why and what to do, and holds no secret. */
export class SecretUnread extends Error {}

/** The message of an answer that is no secret, such as `Vault answered 403: permission denied`. */
export function refusedBy(manager: string, { status, body }: JsonAnswer): SecretUnread {
  const why = messageIn(body);
  return new SecretUnread(`${manager} answered ${status}${why === null ? '' : `: ${why}`}`);
}

/** `{errors: […]}` of Vault, `{error: {message}}` of Google and Azure, `{Message}` of AWS; its first line. */
function messageIn(body: unknown): string | null {
  if (!isObject(body)) return null;
  const { errors, error, message, Message, __type: type } = body;
  const found = Array.isArray(errors) ? errors[0] : isObject(error) ? error.message : (Message ?? message ?? type);
  return typeof found === 'string' && found !== '' ? found.replace(/\n.*/s, '').slice(0, 200) : null;
}
