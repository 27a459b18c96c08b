import type { Clock } from '../../kernel/clock.ts';
import { culvert } from '../../kernel/command-form.ts';
import { type Failure, forbidden, isFailure, unauthenticated } from '../../kernel/failure.ts';
import { nothingStored, type PlaceCount, type Stored } from './account-store.ts';
import type { LastingCallers } from './caller-note.ts';
import { changedRows } from './changed-rows.ts';
import { createGuestDoor, type GuestDoor, type GuestRequest } from './guests/guest-door.ts';
import {
  accountFacts,
  buildDirectory,
  type Declared,
  declaredKeyId,
  hashKey,
  invalidKey,
  type KeyEntry,
  keyPrefix,
  never,
  operatorOf,
  patchDirectory,
} from './key-directory.ts';
import { KeyPlaces } from './key-places.ts';
import type { Operator } from './operator.ts';
import type { Principal } from './principal.ts';
import { isRunSecret, RunCallers } from './run-callers.ts';
import { type RunKeys, runLengthMax } from './run-keys.ts';

/** All keys in memory. The ring is synchronous: no request waits for a database here. */
export interface KeyRing extends LastingCallers {
  /**
   * For /v1: the caller, or 401 (key) before 403 (an admin key in the wrong place, account, address). `addressOf` gives
   * the caller's address, null where it is not known; asked only for keys that are bound to some. `connection` is what
   * the headers came on: the same headers on it again need no second look.
   */
  authenticate(headers: KeyHeaders, addressOf: () => string | null, connection?: object): Principal | Failure;
  /** For /admin/v1 and /metrics: who administers, or 401, or 403 for a user's key. */
  authenticateAdmin(headers: KeyHeaders): Operator | Failure;
  /**
   * Principal of the secret with this hash now, for sessions, which keep no secret. Refuses as it would refuse the
   * secret. `addressOf` as above.
   */
  opens(hash: string, addressOf: () => string | null): Opened | Failure;
  /** One who logs in without a key, by id; null: removed. */
  operator(id: string): Operator | null;
  /** Hash of the admin key; null: there is none. */
  adminHash(): string | null;
  /** The caller without a key of this server, by a token, a certificate or a key of another system; null: none came. */
  byGuest(request: Omit<GuestRequest, 'key'>): ReturnType<GuestDoor['principal']>;
  /** At the start and at each configuration reload. */
  declare(declared: Declared): void;
  /** The present contents of the store. */
  restock(stored: Stored): void;
  /** Whether a key, or its account, names a guard. */
  nameGuards(): boolean;
  /** Plan of the account, by its name. */
  planOf(account: string): string;
  /** User keys that are not revoked; expired ones count. Zero on a public address refuses the start. */
  userKeys(): number;
}

/** Owner of a secret. */
export type Opened = { to: 'v1'; principal: Principal } | { to: 'admin'; operator: Operator };

/** Answer of `authenticate` and `authenticateAdmin` where no key came at all: a browser may have a session. */
export const noKeySent = unauthenticated(
  "No API key was sent. Send one in the header Authorization, as 'Bearer sk-cv-…', or in x-culvert-key, x-api-key, api-key or x-goog-api-key.",
);
/** Answer where a key of this server's form is not known here: another process may have made it since the last look. */
export const unknownKey: Failure = { ...invalidKey };
const twoKeys = unauthenticated('The request has two different API keys. Send one.');
const revoked = unauthenticated('The API key no longer works: it was revoked or removed.');
const expired = unauthenticated('The API key has expired.');
const suspended = forbidden('The account of this API key is suspended.');
const adminOnV1 = forbidden(
  `A key of an operator, such as the admin key, opens /admin/v1 and /metrics only. Create a key for /v1 with: ${culvert} keys create --account A --name N`,
);
const elsewhere = (address: string | null): Failure =>
  forbidden(`This API key may not be used from the address ${address ?? '(unknown)'}.`);
const userOnAdmin = forbidden('This needs the admin key. An API key does not open it.');

/** Everybody whom the file and the store know, by what a request names. */
function knownFrom(declared: Declared, stored: Stored) {
  const accounts = accountFacts(declared, stored);
  const entries = buildDirectory(declared, stored, accounts);
  const byKeyId = new Map<string, KeyEntry>();
  for (const entry of entries.values()) if (entry.kind === 'user') byKeyId.set(entry.principal.keyId, entry);
  return knownOf(declared, stored, { accounts, entries, byKeyId });
}

function knownOf(
  declared: Declared,
  stored: Stored,
  found: { accounts: ReturnType<typeof accountFacts>; entries: Map<string, KeyEntry>; byKeyId: Map<string, KeyEntry> },
) {
  return {
    ...found,
    plans: new Set([...declared.plans, ...stored.plans.map(({ name }) => name)]),
    operators: new Map(stored.operators.map((row) => [row.id, operatorOf(row)])),
    adminHash: declared.adminKey === null ? null : hashKey(declared.adminKey),
    nameGuards: nameGuards(found.byKeyId),
  };
}

type Known = ReturnType<typeof knownFrom>;

function nameGuards(entries: ReadonlyMap<string, KeyEntry>): boolean {
  for (const { principal } of entries.values()) if (principal.guards.length > 0) return true;
  return false;
}

/** The same as `knownFrom`, where few rows are others than `before`. Changes the maps of `known` that nobody compares. */
function knownSince(known: Known, declared: Declared, before: Stored, stored: Stored): Known {
  const accountRows = changedRows(before.accounts, stored.accounts);
  const keyRows = changedRows(before.keys, stored.keys);
  if (accountRows === null || keyRows === null || before.operators !== stored.operators) {
    return knownFrom(declared, stored);
  }
  const { entries, byKeyId } = known;
  const changed = new Set([...accountRows.removed, ...accountRows.present].map(({ id }) => id));
  // Guests look whether it is another map.
  const accounts = changed.size === 0 ? known.accounts : accountFacts(declared, stored);
  const ofChanged = changed.size === 0 ? [] : stored.keys.filter(({ account }) => changed.has(account));
  const rows = { removed: [...keyRows.removed, ...ofChanged], present: [...keyRows.present, ...ofChanged] };
  patchDirectory(entries, rows, declared, stored, accounts);
  const find = (id: string, hashes: readonly string[]) => {
    byKeyId.delete(id);
    for (const entry of hashes.map((one) => entries.get(one))) {
      if (entry?.kind === 'user' && entry.principal.keyId === id) byKeyId.set(id, entry);
    }
  };
  for (const { id } of rows.removed) find(id, []);
  for (const { id, secrets } of rows.present)
    find(
      id,
      secrets.map(({ hash }) => hash),
    );
  for (const key of declared.keys) find(declaredKeyId(key), [key.hash]);
  return knownOf(declared, stored, { accounts, entries, byKeyId });
}

function guestsOf({ guests, defaultPlan }: Declared, { accounts, plans }: Known) {
  return { guests: guests ?? noGuests, accounts, plans, defaultPlan };
}

const noGuests = { tokens: [] };

function principalFor(entry: KeyEntry, addressOf: () => string | null): Principal | Failure {
  if (entry.suspended) return suspended;
  if (entry.addresses !== null) {
    const address = addressOf();
    if (!entry.addresses.lets(address)) return elsewhere(address);
  }
  return entry.principal;
}

function operatorBehind(entry: KeyEntry | Failure): Operator | Failure {
  if (isFailure(entry)) return entry;
  return entry.kind === 'admin' ? entry.operator : userOnAdmin;
}

function openedBy(entry: KeyEntry, addressOf: () => string | null): Opened | Failure {
  if (entry.kind === 'admin') return { to: 'admin', operator: entry.operator };
  const principal = principalFor(entry, addressOf);
  return isFailure(principal) ? principal : { to: 'v1', principal };
}

function ownerNow({ expiresMs, suspended: isSuspended, principal }: KeyEntry, clock: Clock): Principal | Failure {
  if (expiresMs <= clock.wallMs()) return expired;
  return isSuspended ? suspended : principal;
}

/** Why this entry opens nothing by now; itself where it does. */
function inForce(entry: KeyEntry | null, clock: Clock): KeyEntry | Failure {
  if (entry === null) return unknownKey;
  if (entry.untilMs === never && entry.expiresMs === never) return entry;
  const nowMs = clock.wallMs();
  // A secret that was rotated out is as if it had never been, like a revoked one.
  if (entry.untilMs <= nowMs) return invalidKey;
  return entry.expiresMs <= nowMs ? expired : entry;
}

/** Knows the file's keys at once; the store's from the first `restock` on. */
export function createKeyRing(
  clock: Clock,
  first: Declared,
  runKeys: RunKeys | null = null,
  places = new KeyPlaces(),
): KeyRing {
  let declared = first;
  let stored = nothingStored;
  let known = knownFrom(declared, stored);

  function take(nextDeclared: Declared, nextStored: Stored, next: Known): void {
    [declared, stored, known] = [nextDeclared, nextStored, next];
    runs?.forget();
  }

  const runs = runKeys === null ? null : new RunCallers(runKeys);
  const parentOf = (keyId: string) => known.byKeyId.get(keyId);
  const callers = new ConnectionCallers();
  const guests = createGuestDoor(clock, () => guestsOf(declared, known));

  function find(headers: KeyHeaders): KeyEntry | Failure {
    const secret = presentedSecret(headers, known.entries);
    if (typeof secret !== 'string') return secret;
    if (runs !== null && isRunSecret(secret)) return inForce(runs.entry(secret, parentOf), clock);
    return findHashed(hashKey(secret));
  }

  function findHashed(hashed: string): KeyEntry | Failure {
    const entry = known.entries.get(hashed);
    return inForce(entry ?? null, clock);
  }

  return {
    authenticate(headers, addressOf, connection) {
      const before = connection === undefined ? null : callers.find(connection, known, headers);
      if (before !== null) {
        if (places.byRequest) places.count(before, addressOf());
        return before;
      }
      const entry = find(headers);
      if (isFailure(entry)) return entry;
      if (entry.kind === 'admin') return adminOnV1;
      const principal = principalFor(entry, addressOf);
      if (isFailure(principal)) return principal;
      const count = places.count(principal, addressOf());
      if (connection !== undefined) callers.keep(connection, known, headers, entry, places.byRequest ? null : count);
      return principal;
    },
    authenticateAdmin: (headers) => operatorBehind(find(headers)),
    opens(hash, addressOf) {
      const entry = findHashed(hash);
      return isFailure(entry) ? entry : openedBy(entry, addressOf);
    },
    operator: (id) => known.operators.get(id) ?? null,
    adminHash: () => known.adminHash,
    byGuest: (request) => guests.principal({ ...request, key: firstPresented(request.headers) }),
    principalOf(keyId) {
      const entry = known.byKeyId.get(keyId) ?? runs?.byId(keyId, parentOf);
      return entry == null ? (guests.principalOf(keyId) ?? revoked) : ownerNow(entry, clock);
    },
    ...notesOf(runs, guests),
    declare: (next) => take(next, stored, knownFrom(next, stored)),
    restock: (next) => take(declared, next, knownSince(known, declared, stored, next)),
    nameGuards: () => known.nameGuards,
    userKeys: () => known.byKeyId.size,
    planOf: (account) => known.accounts.get(account)?.plan ?? declared.defaultPlan,
  };
}

function notesOf(runs: RunCallers | null, guests: GuestDoor): Pick<LastingCallers, 'noteOf' | 'recall'> {
  return {
    noteOf(keyId) {
      const [run, guest] = [runs?.seen(keyId) ?? null, guests.seen(keyId)];
      return run === null && guest === null ? null : { run, guest };
    },
    recall({ run, guest }) {
      if (run !== null) runs?.recall(run);
      if (guest !== null) guests.recall(guest);
    },
  };
}

/** The headers a key may come in, as node:http gives them: lower-case names. */
export interface KeyHeaders {
  readonly authorization?: string | undefined;
  readonly [name: string]: string | readonly string[] | undefined;
}

interface ConnectionCaller {
  known: object;
  headers: KeyHeaders;
  principal: Principal;
  /** Null: its requests come from many addresses. */
  count: PlaceCount | null;
}

/** The last caller of each connection, as its headers named it. A secret is kept for as long as its connection. */
class ConnectionCallers {
  private readonly last = new WeakMap<object, ConnectionCaller>();

  /** `known`: everybody who is known now. Null: the headers are others, or someone else may be known. */
  find(connection: object, known: object, headers: KeyHeaders): Principal | null {
    const last = this.last.get(connection);
    if (last === undefined || last.known !== known) return null;
    const before = last.headers;
    // The same key, in the same header and no other.
    const isSame =
      isSameSecret(before.authorization, headers.authorization) &&
      (headers['x-culvert-key'] ?? headers['x-portkey-api-key']) === undefined &&
      isSameSecret(before['x-api-key'], headers['x-api-key']) &&
      isSameSecret(before['api-key'], headers['api-key']) &&
      isSameSecret(before['x-goog-api-key'], headers['x-goog-api-key']);
    if (!isSame) return null;
    if (last.count !== null) last.count.requests += 1;
    return last.principal;
  }

  /** But for a key that ends at some time or is bound to addresses: that one is looked at each time. */
  keep(
    connection: object,
    known: object,
    headers: KeyHeaders,
    entry: KeyEntry,
    count: ConnectionCaller['count'],
  ): void {
    if (entry.untilMs !== never || entry.expiresMs !== never || entry.addresses !== null) return;
    // A credential next to these is no affair of this server, and may be another one each time.
    if ((headers['x-culvert-key'] ?? headers['x-portkey-api-key']) !== undefined) return;
    const { authorization, 'x-api-key': x, 'api-key': api, 'x-goog-api-key': google } = headers;
    const secretHeaders = { authorization, 'x-api-key': x, 'api-key': api, 'x-goog-api-key': google };
    this.last.set(connection, { known, headers: secretHeaders, principal: entry.principal, count });
  }
}

/** In constant time: a proxy sends many callers' keys over one connection. */
function isSameSecret(known: KeyHeaders[string], sent: KeyHeaders[string]): boolean {
  if (typeof known !== 'string' || typeof sent !== 'string') return known === undefined && sent === undefined;
  if (known.length !== sent.length) return false;
  let difference = 0;
  for (let at = 0; at < known.length; at += 1) difference |= known.charCodeAt(at) ^ sent.charCodeAt(at);
  return difference === 0;
}

/** Longer values are not keys of ours; not hashing them bounds the work before authentication. */
const keyLengthMax = 256;

/** Headers that hold nothing but a key. */
export const keyHeaders = ['x-culvert-key', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-portkey-api-key'] as const;

/** Represents credentials of another scheme: never a candidate, and not nothing either. */
const notBearer = ' ';

/**
 * The candidate among `authorization: Bearer` and `keyHeaders`. A value that neither begins with `sk-cv-` nor has a hash
 * in `entries` is not a candidate, because clients send other vendors' keys along. Two different candidates count as no
 * key.
 */
function presentedSecret(headers: KeyHeaders, entries: ReadonlyMap<string, KeyEntry>): string | Failure {
  let found: string | null = null;
  let sawForeign = false;
  for (let at = 0; at <= keyHeaders.length; at += 1) {
    const value =
      at === 0 ? bearer(headers.authorization) : at === 1 ? gatewayKeyOf(headers) : headers[keyHeaders[at - 1]!];
    const text = typeof value === 'string' ? value : value?.[0];
    if (text === undefined || text === '' || text === found) continue;
    const ours =
      text.length <= keyLengthMax
        ? text.startsWith(keyPrefix) || entries.has(hashKey(text))
        : text.length <= runLengthMax && isRunSecret(text);
    if (!ours) sawForeign = true;
    else if (found !== null) return twoKeys;
    else found = text;
  }
  return found ?? (sawForeign ? invalidKey : noKeySent);
}

/** The key in the header of this server's; undefined for the session of a browser, which names a key by its id there. */
function gatewayKeyOf(headers: KeyHeaders): KeyHeaders[string] {
  return headers['x-culvert-csrf'] === undefined ? headers['x-culvert-key'] : undefined;
}

/** The first value in the place of a key, also of another system; null: none. */
function firstPresented(headers: KeyHeaders): string | null {
  const { authorization } = headers;
  const gatewayKey = gatewayKeyOf(headers);
  // Next to it, the others are for a provider.
  if (typeof gatewayKey === 'string' && gatewayKey !== '') return gatewayKey;
  const token = typeof authorization === 'string' ? bearer(authorization) : undefined;
  const values = [token, ...keyHeaders.slice(1).map((name) => headers[name])];
  return values.find((value): value is string => typeof value === 'string' && !['', notBearer].includes(value)) ?? null;
}

function bearer(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  // RFC 9110 §11.1: the scheme is case-insensitive.
  const isBearer = value.length > 7 && value.charCodeAt(6) === 0x20 && value.slice(0, 6).toLowerCase() === 'bearer';
  return isBearer ? value.slice(7).trim() : notBearer;
}
