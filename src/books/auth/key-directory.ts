import { hash } from 'node:crypto';
import { accountsInForce, type DeclaredAccount } from '../../config/declared.ts';
import type { CallersConfig } from '../../config/schema/schema-callers.ts';
import type { KeyLimitsConfig } from '../../config/schema.ts';
import { unauthenticated } from '../../kernel/failure.ts';
import { createNetworkSet } from '../../kernel/network.ts';
import type { AccountRow, KeyRow, OperatorRow, Stored } from './account-store.ts';
import type { ChangedRows } from './changed-rows.ts';
import { adminOperator, type Operator } from './operator.ts';
import type { Principal } from './principal.ts';

/** Values with this prefix are always taken for ours; clients send keys of other vendors too. */
export const keyPrefix = 'sk-cv-';

/** One body for unknown, revoked and malformed keys: an answer must not tell which it was. */
export const invalidKey = unauthenticated(
  "The API key is not valid. Send a key of this server, as 'Authorization: Bearer KEY'.",
);

/** SHA-256, hex. The secrets are 256 random bits: a slow hash would only slow the hot path. */
export function hashKey(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Instant that never comes. */
export const never = Number.POSITIVE_INFINITY;

/** A key written in the configuration file, or in the environment. */
export interface DeclaredKey
  extends Pick<KeyRow, 'account' | 'name' | 'expiresMs' | 'models' | 'ips' | 'guards' | 'tags'> {
  /** The store's word on a secret counts before that of a variable, which clients have for themselves too. Default: file. */
  from?: 'file' | 'environment';
  /** Hash of its secret; see `hashKey`. */
  hash: string;
  limits: KeyLimitsConfig | null;
}

/** Contents of the configuration file. They take precedence over stored entries of the same name. */
export interface Declared {
  accounts: readonly DeclaredAccount[];
  keys: readonly DeclaredKey[];
  /** Configured or generated; null = the admin API is closed. */
  adminKey: string | null;
  defaultPlan: string;
  /** Names of the plans of the configuration. */
  plans: readonly string[];
  /** Callers that may call /v1 without a key of this server. Absent: nobody. */
  guests?: CallersConfig;
}

/** Entry of a presented secret, found by its hash. */
export interface KeyEntry {
  kind: 'user' | 'admin';
  /** Name of an `admin`. */
  operator: Operator;
  suspended: boolean;
  expiresMs: number;
  /** Expiry of this secret: the end of a rotation's overlap. */
  untilMs: number;
  /** Null: from anywhere. */
  addresses: AddressGate | null;
  principal: Principal;
}

/**
 * The declared keys that count in addition to the stored ones. A revoked key, or one that belongs to another name, stays so.
 */
export function keysInForce(declared: Declared, stored: Stored): readonly DeclaredKey[] {
  const isKnown = (hash: string) =>
    stored.keys.some((key) => !isBlock(key) && key.secrets.some((secret) => secret.hash === hash));
  return declared.keys.filter(({ hash, from }) => from !== 'environment' || !isKnown(hash));
}

/** Beginning of the ids of rows that block a secret of the configuration. */
const blockPrefix = `${keyPrefix}blocked:`;

/** A row that keeps a secret of the configuration blocked. It is no key of its account. */
export function isBlock({ id }: Pick<KeyRow, 'id'>): boolean {
  return id.startsWith(blockPrefix);
}

/** The row that blocks the secret of this key from now on, whichever key has it. */
export function blockOf({ hash, account, name }: DeclaredKey, nowMs: number): KeyRow {
  const id = `${blockPrefix}${hash.slice(0, 32)}`;
  return {
    ...adminIdentity,
    id,
    account,
    name,
    tenant: `${account}/${name}`,
    prefix: id,
    kind: 'user',
    limits: null,
    secrets: [{ hash, untilMs: null }],
    createdMs: nowMs,
    revokedMs: nowMs,
  };
}

/** The blocks of these, by the hash of the secret. */
export function blocksIn({ keys }: Stored): ReadonlyMap<string, KeyRow> {
  const known = blocksOf.get(keys);
  if (known !== undefined) return known;
  const blocks = new Map(keys.filter(isBlock).flatMap((key) => key.secrets.map(({ hash }) => [hash, key] as const)));
  blocksOf.set(keys, blocks);
  return blocks;
}

const blocksOf = new WeakMap<Stored['keys'], ReadonlyMap<string, KeyRow>>();

/** Settings that the principals of an account have from it. */
export type AccountFacts = Pick<DeclaredAccount, 'plan' | 'status' | 'guards' | 'extraBudget' | 'budgets' | 'data'> &
  Pick<AccountRow, 'creditNano'>;

/** The accounts that count, by id. */
export function accountFacts(declared: Declared, stored: Stored): Map<string, AccountFacts> {
  const accounts = new Map<string, AccountFacts>();
  for (const account of stored.accounts) accounts.set(account.id, account);
  for (const account of accountsInForce(declared.accounts, stored.accounts)) accounts.set(account.id, account);
  return accounts;
}

/** Settings that a principal has from its account; undefined: the account is unknown. */
export function principalFacts(account: AccountFacts | undefined, defaultPlan: string) {
  return {
    plan: account?.plan ?? defaultPlan,
    ...(account?.extraBudget != null && { extraBudget: account.extraBudget }),
    ...(account?.budgets != null && { budgets: account.budgets }),
    ...(account?.data != null && { data: account.data }),
    ...(account?.creditNano != null && { creditNano: account.creditNano }),
  };
}

/** All secrets that open anything, by their hex SHA-256. Those of revoked keys are not in it. */
export function buildDirectory(
  declared: Declared,
  stored: Stored,
  accounts = accountFacts(declared, stored),
): Map<string, KeyEntry> {
  const entries = new Map<string, KeyEntry>();
  for (const key of stored.keys) putStored(entries, key, declared, accounts);
  putOthers(entries, declared, stored, accounts);
  return entries;
}

/** Brings the entries of these stored keys up to date: those that are removed, and those that are present. */
export function patchDirectory(
  entries: Map<string, KeyEntry>,
  { removed, present }: ChangedRows<KeyRow>,
  declared: Declared,
  stored: Stored,
  accounts: ReadonlyMap<string, AccountFacts>,
): void {
  for (const { id, secrets } of removed) {
    for (const { hash } of secrets) if (entries.get(hash)?.principal.keyId === id) entries.delete(hash);
  }
  for (const key of present) putStored(entries, key, declared, accounts);
  putOthers(entries, declared, stored, accounts);
}

function entryOf(
  kind: KeyEntry['kind'],
  key: Identity,
  { defaultPlan }: Declared,
  accounts: ReadonlyMap<string, AccountFacts>,
  operator = adminOperator,
): KeyEntry {
  const account = accounts.get(key.account);
  return {
    kind,
    operator,
    suspended: account?.status === 'suspended',
    expiresMs: key.expiresMs ?? never,
    untilMs: never,
    addresses: key.ips === null ? null : createAddressGate(key.ips),
    principal: {
      keyId: key.id,
      keyName: key.name,
      tenant: key.tenant,
      account: key.account,
      ...principalFacts(account, defaultPlan),
      allowedModels: key.models,
      limits: key.limits,
      guards: guardsOf(account?.guards ?? [], key.guards),
    },
  };
}

/** Keys without guards, which most are, share the list of their account. */
function guardsOf(ofAccount: readonly string[], ofKey: readonly string[]): readonly string[] {
  return ofKey.length === 0 ? ofAccount : [...ofAccount, ...ofKey];
}

function putStored(
  entries: Map<string, KeyEntry>,
  key: KeyRow,
  declared: Declared,
  accounts: ReadonlyMap<string, AccountFacts>,
): void {
  if (key.revokedMs !== null) return;
  // One principal for all secrets of a key, so that state kept for a caller survives a rotation.
  const entry = entryOf(key.kind, storedIdentity(key), declared, accounts);
  for (const { hash, untilMs } of key.secrets) entries.set(hash, untilMs === null ? entry : { ...entry, untilMs });
}

/** Puts operators and the file in: they decide where one of them has the secret of a stored key. */
function putOthers(
  entries: Map<string, KeyEntry>,
  declared: Declared,
  stored: Stored,
  accounts: ReadonlyMap<string, AccountFacts>,
): void {
  for (const operator of stored.operators) {
    if (operator.hash === null) continue;
    entries.set(operator.hash, entryOf('admin', adminIdentity, declared, accounts, operatorOf(operator)));
  }
  // After the stored ones: the file is what the operator sees, so it decides.
  const blocks = blocksIn(stored);
  for (const key of keysInForce(declared, stored)) {
    if (blocks.has(key.hash)) entries.delete(key.hash);
    else entries.set(key.hash, entryOf('user', declaredIdentity(key), declared, accounts));
  }
  // Last: a secret that is both must not open /v1.
  if (declared.adminKey === null) return;
  entries.set(hashKey(declared.adminKey), entryOf('admin', adminIdentity, declared, accounts));
}

export function operatorOf({ name, role, accounts }: OperatorRow): Operator {
  return { name, role, accounts };
}

/** Facts of a key, wherever it was written. */
type Identity = Pick<KeyRow, 'id' | 'account' | 'name' | 'tenant' | 'models' | 'ips' | 'expiresMs' | 'guards'> & {
  limits: KeyLimitsConfig | null;
};

function storedIdentity(key: KeyRow): Identity {
  // Checked by keyLimitsSchema before it was stored.
  return key as KeyRow & { limits: KeyLimitsConfig | null };
}

function declaredIdentity(key: DeclaredKey): Identity {
  return { ...key, id: declaredKeyId(key), tenant: `${key.account}/${key.name}` };
}

const adminIdentity: Identity = {
  id: 'admin',
  account: 'admin',
  name: 'admin',
  tenant: 'admin/admin',
  models: [],
  ips: null,
  limits: null,
  guards: [],
  expiresMs: null,
};

/** A declared secret has no separate public part: its identity is what the ledger names. */
export function declaredKeyId(key: Pick<DeclaredKey, 'account' | 'name'>): string {
  return `${keyPrefix}declared:${key.account}/${key.name}`;
}

/** Whether a key may be used from an address. Unknown addresses may not use a bound key. */
type AddressGate = ReturnType<typeof createAddressGate>;

/** Built at the first question: most keys of a directory are not used before it is built anew. */
function createAddressGate(networks: readonly string[]) {
  let set: ReturnType<typeof createNetworkSet> | null = null;
  return {
    lets(address: string | null): boolean {
      set ??= createNetworkSet(networks);
      return set.has(address);
    },
  };
}
