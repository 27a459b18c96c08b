import type { Failure } from '../kernel/failure.ts';
import { invalid } from '../kernel/failure.ts';
import { type MintedKey, mintKey } from './api-key.ts';
import type { KeyStore } from './key-store.ts';

export interface KeyOrder {
  account: string;
  name: string;
  /** Plan of the account if it must be created; an existing account keeps its own. */
  plan: string;
  expiresMs: number | null;
  models: readonly string[] | null;
  nowMs: number;
}

export interface IssuedKey {
  kind: 'issued';
  key: MintedKey;
  /** `account/name` */
  tenant: string;
}

/** No `/`: `account/name` must split in one way only, since it owns vector data. */
const accountPattern = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
const namePattern = /^[\p{L}\p{N}][\p{L}\p{N} ._@/-]{0,63}$/u;

/** Makes a key, and its account when there is none of that id. The secret is in the answer and nowhere else. */
export async function issueKey(store: KeyStore, order: KeyOrder): Promise<IssuedKey | Failure> {
  if (!accountPattern.test(order.account)) {
    return invalid(
      'account',
      'account: expected 1 to 64 of letters, digits and ._@-, beginning with a letter or digit',
    );
  }
  if (!namePattern.test(order.name)) {
    return invalid('name', 'name: expected 1 to 64 letters, digits, spaces or ._@/-, beginning with a letter or digit');
  }
  const tenant = `${order.account}/${order.name}`;
  const { keys } = await store.load();
  if (keys.some((key) => key.account === order.account && key.name === order.name && key.revokedMs === null)) {
    return { kind: 'conflict', message: `A key named '${order.name}' exists in account '${order.account}'.` };
  }
  if ((await store.findAccount(order.account)) === null) {
    const { account, plan, nowMs } = order;
    await store.createAccount({ id: account, name: account, plan, status: 'active', createdMs: nowMs });
  }
  const key = mintKey();
  await store.createKey({
    id: key.id,
    account: order.account,
    name: order.name,
    prefix: key.prefix,
    hash: key.hash,
    kind: 'user',
    expiresMs: order.expiresMs,
    models: order.models,
    createdMs: order.nowMs,
    revokedMs: null,
  });
  return { kind: 'issued', key, tenant };
}

/** The key a newcomer gets at the first start; null when any user key is stored already. */
export async function issueFirstKey(store: KeyStore, plan: string, nowMs: number): Promise<IssuedKey | null> {
  const { keys } = await store.load();
  if (keys.some((key) => key.kind === 'user')) return null;
  const issued = await issueKey(store, {
    account: 'default',
    name: 'first',
    plan,
    expiresMs: null,
    models: null,
    nowMs,
  });
  return issued.kind === 'issued' ? issued : null;
}
