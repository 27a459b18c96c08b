import type { DeclaredAccount } from '../config/declared.ts';
import type { KeyLimitsConfig } from '../config/schema.ts';
import { createNetworkSet } from '../kernel/network.ts';
import type { KeyRow, Stored } from './account-store.ts';
import { hashKey, keyPrefix } from './api-key.ts';
import type { Principal } from './principal.ts';

/** A key written in the configuration file. */
export interface DeclaredKey {
  key: string;
  account: string;
  name: string;
  /** Wall-clock ms; null = never. */
  expiresMs: number | null;
  models: readonly string[] | null;
  /** Addresses and networks; null = any. */
  ips: readonly string[] | null;
}

/** What the configuration file states; it wins over what is stored under the same name. */
export interface Declared {
  accounts: readonly DeclaredAccount[];
  keys: readonly DeclaredKey[];
  /** Configured or generated; null = the admin API is closed. */
  adminKey: string | null;
  defaultPlan: string;
}

/** What a presented secret stands for, found by its hash. */
export interface KeyEntry {
  /** The stored digest, for the constant-time comparison. */
  digest: Buffer;
  kind: 'user' | 'admin';
  suspended: boolean;
  /** Of the key. */
  expiresMs: number;
  /** Of this secret: the end of a rotation's overlap. */
  untilMs: number;
  /** Null: from anywhere. */
  addresses: AddressGate | null;
  principal: Principal;
}

/** All secrets that open anything, by their hex SHA-256. Those of revoked keys are not in it. */
export function buildDirectory(declared: Declared, stored: Stored): Map<string, KeyEntry> {
  const accounts = new Map<string, { plan: string; status: 'active' | 'suspended' }>();
  for (const account of stored.accounts) accounts.set(account.id, account);
  for (const account of declared.accounts) accounts.set(account.id, account);
  const entries = new Map<string, KeyEntry>();

  const entryOf = (kind: KeyEntry['kind'], key: Identity): Omit<KeyEntry, 'digest' | 'untilMs'> => {
    const account = accounts.get(key.account);
    return {
      kind,
      suspended: account?.status === 'suspended',
      expiresMs: key.expiresMs ?? Number.POSITIVE_INFINITY,
      addresses: key.ips === null ? null : createAddressGate(key.ips),
      principal: {
        keyId: key.id,
        keyName: key.name,
        tenant: key.tenant,
        account: key.account,
        plan: account?.plan ?? declared.defaultPlan,
        allowedModels: key.models,
        limits: key.limits,
      },
    };
  };
  const put = (hash: string, untilMs: number | null, entry: Omit<KeyEntry, 'digest' | 'untilMs'>) => {
    entries.set(hash, { ...entry, digest: Buffer.from(hash, 'hex'), untilMs: untilMs ?? Number.POSITIVE_INFINITY });
  };

  for (const key of stored.keys) {
    if (key.revokedMs !== null) continue;
    // One principal for all secrets of a key: what is kept for a caller is kept through its rotation.
    const entry = entryOf(key.kind, storedIdentity(key));
    for (const secret of key.secrets) put(secret.hash, secret.untilMs, entry);
  }
  // After the stored ones: the file is what the operator sees, so it decides.
  for (const key of declared.keys) put(hashKey(key.key), null, entryOf('user', declaredIdentity(key)));
  // Last: a secret that is both must not open /v1.
  if (declared.adminKey !== null) put(hashKey(declared.adminKey), null, entryOf('admin', adminIdentity));
  return entries;
}

/** What a key is, wherever it was written. */
type Identity = Pick<KeyRow, 'id' | 'account' | 'name' | 'tenant' | 'models' | 'ips' | 'expiresMs'> & {
  limits: KeyLimitsConfig | null;
};

function storedIdentity(key: KeyRow): Identity {
  // Checked by keyLimitsSchema before it was stored.
  return { ...key, limits: key.limits as KeyLimitsConfig | null };
}

function declaredIdentity(key: DeclaredKey): Identity {
  return { ...key, id: declaredKeyId(key), tenant: `${key.account}/${key.name}`, limits: null };
}

const adminIdentity: Identity = {
  id: 'admin',
  account: 'admin',
  name: 'admin',
  tenant: 'admin/admin',
  models: [],
  ips: null,
  limits: null,
  expiresMs: null,
};

/** A declared secret has no public part of its own: its identity is what the ledger names. */
export function declaredKeyId(key: Pick<DeclaredKey, 'account' | 'name'>): string {
  return `${keyPrefix}declared:${key.account}/${key.name}`;
}

/** Whether a key may be used from an address; unknown addresses may not. */
interface AddressGate {
  lets(address: string | null): boolean;
}

/** Built at the first question: most keys of a directory are not used before it is built anew. */
function createAddressGate(networks: readonly string[]): AddressGate {
  let set: ReturnType<typeof createNetworkSet> | null = null;
  return {
    lets(address) {
      set ??= createNetworkSet(networks);
      return set.has(address);
    },
  };
}
