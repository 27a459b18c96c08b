import { systemClock } from '../../../kernel/clock.ts';
import { parsedData } from '../../../kernel/json.ts';
import { awsReader } from './aws.ts';
import { azureReader } from './azure.ts';
import { gcpReader } from './gcp.ts';
import { type ManagerParts, type ReadSecret, type SecretReader, SecretUnread } from './secret-manager.ts';
import { vaultReader } from './vault.ts';

/** Secret managers by the word before the colon of a reference. */
const managers: Readonly<Record<string, (parts: ManagerParts) => SecretReader>> = {
  vault: vaultReader,
  aws: awsReader,
  gcp: gcpReader,
  azure: azureReader,
};

/** Longest text of a secret, as that of a file. */
const charsMax = 64 * 1024;
/** A value that has no end may have been changed: it is read again after this time. */
const lookAgainMs = 5 * 60_000;
const soonestMs = 5_000;
/** Share of a value's life after which the next one is fetched, and the time after which that is tried again. */
const renewAt = 2 / 3;
const retryMs = 30_000;

/** The value of a reference, or why there is none. */
export type SecretValue = { ok: true; text: string } | { ok: false; message: string };

/** Values of references such as `vault:secret/data/openai#api_key`. */
export interface ReadSecrets {
  values: ReadonlyMap<string, SecretValue>;
  /** Ms until they should be read again. */
  againMs: number;
}

/** Reads secrets of managers; logins and connections are kept between reads. */
export function createManagedSecrets(parts: ManagerParts, clock = systemClock) {
  const readers = new Map<string, SecretReader>();
  /** Leases, with the time at which the next one is due. */
  const leases = new Map<string, { secret: ReadSecret; dueMs: number }>();

  function readerOf(manager: string): SecretReader {
    const known = readers.get(manager);
    if (known !== undefined) return known;
    const open = managers[manager];
    if (open === undefined) throw new SecretUnread('Culvert reads vault, aws, gcp and azure');
    const reader = open(parts);
    readers.set(manager, reader);
    return reader;
  }

  async function readOne(source: string, which: 'due' | 'all'): Promise<ReadSecret | string> {
    const held = leases.get(source);
    const nowMs = clock.monotonicMs();
    if (which === 'due' && held !== undefined && nowMs < held.dueMs) return held.secret;
    const colon = source.indexOf(':');
    try {
      const secret = await readerOf(source.slice(0, colon))(source.slice(colon + 1));
      if (secret.leased) leases.set(source, { secret, dueMs: nowMs + (secret.lastsMs ?? 0) * renewAt });
      return secret;
    } catch (error) {
      if (held !== undefined && nowMs >= held.dueMs) held.dueMs = nowMs + retryMs;
      return error instanceof Error ? error.message : String(error);
    }
  }

  function dueIn(source: string, secret: ReadSecret | string): number {
    const held = leases.get(source);
    if (held !== undefined) return held.dueMs - clock.monotonicMs();
    return typeof secret === 'string' || secret.lastsMs === null ? lookAgainMs : secret.lastsMs * renewAt;
  }

  return {
    /** Never rejects. A secret of which several members are wanted is read once. `due`: a lease that lasts is kept. */
    async read(references: readonly string[], which: 'due' | 'all'): Promise<ReadSecrets> {
      const sources = [...new Set(references.map((reference) => split(reference).source))];
      const read = new Map(
        await Promise.all(sources.map(async (source) => [source, await readOne(source, which)] as const)),
      );
      const values = new Map(references.map((reference) => [reference, secretOf(reference, read)] as const));
      const soonest = Math.min(lookAgainMs, ...[...read].map(([source, secret]) => dueIn(source, secret)));
      return { values, againMs: Math.max(soonestMs, soonest) };
    },
  };
}

function split(reference: string): { source: string; member: string | null } {
  const at = reference.indexOf('#');
  return at < 0
    ? { source: reference, member: null }
    : { source: reference.slice(0, at), member: reference.slice(at + 1) };
}

function secretOf(reference: string, read: ReadonlyMap<string, ReadSecret | string>): SecretValue {
  const { source, member } = split(reference);
  const secret = read.get(source) ?? 'it was not asked for';
  try {
    if (typeof secret === 'string') throw new SecretUnread(secret);
    // As of a file: what `echo` leaves at the end would break a header.
    const text = memberOf(secret.value, member).replace(/[\r\n]+$/, '');
    if (text.length > charsMax) throw new SecretUnread('it is longer than 64 KB');
    return { ok: true, text };
  } catch (error) {
    if (!(error instanceof SecretUnread)) throw error;
    return { ok: false, message: `the secret ${reference} cannot be read: ${error.message}` };
  }
}

function memberOf(value: ReadSecret['value'], member: string | null): string {
  if (member === null) {
    if (typeof value === 'string') return value;
    const [first, ...others] = Object.keys(value).sort();
    if (first !== undefined && others.length === 0) return textOf(value[first], first);
    const names = [first ?? 'it has none', ...others].slice(0, 20).join(', ');
    throw new SecretUnread(`it has several members; write one after #: ${names}`);
  }
  const members = typeof value === 'string' ? parsed(value) : value;
  if (!Object.hasOwn(members, member)) {
    const names = Object.keys(members).sort().slice(0, 20).join(', ');
    throw new SecretUnread(`it has no member '${member}'${names === '' ? '' : `; it has ${names}`}`);
  }
  return textOf(members[member], member);
}

function textOf(value: unknown, member: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new SecretUnread(`its member '${member}' is no text`);
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  const members = parsedData(text);
  // It holds a secret: no message repeats it.
  if (members === null) throw new SecretUnread('it is no JSON object, so it has no members; leave out what is after #');
  return members;
}
