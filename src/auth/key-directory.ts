import type { DeclaredAccount } from '../config/declared.ts';
import { hashKey, keyPrefix } from './api-key.ts';
import type { AccountRow, KeyRow } from './key-store.ts';
import type { Principal } from './principal.ts';

/** A key written in the configuration file. */
export interface DeclaredKey {
  key: string;
  account: string;
  name: string;
  /** Wall-clock ms; null = never. */
  expiresMs: number | null;
  models: readonly string[] | null;
}

/** What the configuration file states; it wins over what is stored under the same name. */
export interface Declared {
  accounts: readonly DeclaredAccount[];
  keys: readonly DeclaredKey[];
  /** Configured or generated; null = the admin API is closed. */
  adminKey: string | null;
  defaultPlan: string;
}

/** What a key store holds. */
export interface Stored {
  accounts: readonly AccountRow[];
  keys: readonly KeyRow[];
}

/** What a presented secret stands for, found by its hash. */
export interface KeyEntry {
  /** The stored digest, for the constant-time comparison. */
  digest: Buffer;
  kind: 'user' | 'admin';
  suspended: boolean;
  expiresMs: number;
  principal: Principal;
}

/** All keys that open anything, by the hex SHA-256 of the secret. Revoked ones are not in it. */
export function buildDirectory(declared: Declared, stored: Stored): Map<string, KeyEntry> {
  const accounts = new Map<string, { plan: string; status: 'active' | 'suspended' }>();
  for (const account of stored.accounts) accounts.set(account.id, account);
  for (const account of declared.accounts) accounts.set(account.id, account);
  const entries = new Map<string, KeyEntry>();

  const put = (hash: string, kind: KeyEntry['kind'], expiresMs: number | null, key: Identity) => {
    const account = accounts.get(key.account);
    entries.set(hash, {
      digest: Buffer.from(hash, 'hex'),
      kind,
      suspended: account?.status === 'suspended',
      expiresMs: expiresMs ?? Number.POSITIVE_INFINITY,
      principal: {
        keyId: key.id,
        keyName: key.name,
        tenant: `${key.account}/${key.name}`,
        account: key.account,
        plan: account?.plan ?? declared.defaultPlan,
        allowedModels: key.models,
      },
    });
  };

  for (const key of stored.keys) {
    if (key.revokedMs === null) put(key.hash, key.kind, key.expiresMs, key);
  }
  // After the stored ones: the file is what the operator sees, so it decides.
  for (const key of declared.keys) {
    put(hashKey(key.key), 'user', key.expiresMs, { ...key, id: declaredKeyId(key) });
  }
  // Last: a secret that is both must not open /v1.
  if (declared.adminKey !== null) {
    put(hashKey(declared.adminKey), 'admin', null, { id: 'admin', account: 'admin', name: 'admin', models: [] });
  }
  return entries;
}

interface Identity {
  id: string;
  account: string;
  name: string;
  models: readonly string[] | null;
}

/** A declared secret has no public part of its own: its identity is what the ledger names. */
function declaredKeyId(key: DeclaredKey): string {
  return `${keyPrefix}declared:${key.account}/${key.name}`;
}
