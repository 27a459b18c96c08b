import { randomBase62 } from '../../kernel/ids.ts';
import { hashKey, keyPrefix } from './key-directory.ts';

const adminKeyPrefix = 'sk-cv-admin-';
const operatorKeyPrefix = 'sk-cv-op-';

const publicIdLength = 12;
/** 43 characters of base62 hold 256 bits. */
const secretLength = 43;

/** A fresh key. `secret` is shown once and stored nowhere; `hash` is stored. */
export interface MintedKey {
  /** Public: appears in logs, lists and the ledger. */
  id: string;
  /** `sk-cv-` and the public id. */
  prefix: string;
  secret: string;
  hash: string;
}

export function mintKey(): MintedKey {
  return mintSecret(randomBase62(publicIdLength));
}

/** Another secret of the key that has this id. */
export function mintSecret(id: string, ofPrefix = keyPrefix): MintedKey {
  const prefix = `${ofPrefix}${id}`;
  const secret = `${prefix}-${randomBase62(secretLength)}`;
  return { id, prefix, secret, hash: hashKey(secret) };
}

/** A fresh key of an operator, which opens /admin/v1 as far as its role goes. */
export function mintOperatorKey(): MintedKey {
  return mintSecret(randomBase62(publicIdLength), operatorKeyPrefix);
}

/** The key of /admin/v1; it opens nothing on /v1. */
export function mintAdminKey(): string {
  return `${adminKeyPrefix}${randomBase62(secretLength)}`;
}
