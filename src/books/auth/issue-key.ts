import { keyNameForm } from '../../config/key-tags.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { AccountStore, Change, KeyRow, KeySettings, Stored } from './account-store.ts';
import { type MintedKey, mintKey } from './api-key.ts';
import { type Declared, declaredKeyId } from './key-directory.ts';
import { keyFacts } from './key-facts.ts';

export interface KeyOrder extends Required<KeySettings> {
  account: string;
  /** Id, prefix or `account/name` of a key of the same account whose vector data this one owns too; null: its own. */
  shareVectorsWith: string | null;
  /** Author, for the audit log. */
  actor: string;
  nowMs: number;
}

/** `secret` is in `minted` and nowhere else. */
export interface IssuedKey {
  kind: 'issued';
  minted: MintedKey;
  row: KeyRow;
}

/** No `/`: `account/name` must split in one way only, since it owns vector data. */
const accountPattern = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

/** Null when it may be an account's id. */
export function accountIdProblem(id: string): Failure | null {
  if (accountPattern.test(id)) return null;
  return invalid('account', 'account: expected 1 to 64 of letters, digits and ._@-, beginning with a letter or digit');
}

/** Makes a key of an account. `stored` is the store's content of a moment ago; a change since then is a conflict. */
export async function issueKey(
  store: AccountStore,
  order: KeyOrder,
  known: { stored: Stored; declared: Declared },
): Promise<IssuedKey | Failure> {
  const fault = accountIdProblem(order.account) ?? nameProblem(order.name);
  if (fault !== null) return fault;
  const { account, name } = order;
  const taken = nameTaken(order, known);
  if (taken !== null) return taken;
  const tenant = tenantOf(order, livingKeys(account, known));
  if (typeof tenant !== 'string') return tenant;
  const minted = mintKey();
  const row: KeyRow = {
    id: minted.id,
    account,
    name,
    tenant,
    prefix: minted.prefix,
    secrets: [{ hash: minted.hash, untilMs: null }],
    kind: 'user',
    expiresMs: order.expiresMs,
    models: order.models,
    ips: order.ips,
    limits: order.limits,
    guards: order.guards,
    tags: order.tags,
    createdMs: order.nowMs,
    revokedMs: null,
  };
  const owner = ownerOf(order, known);
  if (owner === 'absent') return noAccount(account);
  const changes: Change[] = [...(owner === 'stored' ? [] : [owner]), { kind: 'create-key', key: row }];
  const done = await store.apply(changes, {
    atMs: order.nowMs,
    actor: order.actor,
    action: 'key.create',
    subject: row.id,
    before: null,
    after: keyFacts(row),
  });
  if (done === 'done') return { kind: 'issued', minted, row };
  // Another call made the account's row at the same time: that is not a conflict of names.
  if (owner !== 'stored') return issueKey(store, order, { ...known, stored: await store.load() });
  return takenName(order);
}

/** Why a key of this account cannot have this name; null when it can. `except`: a key that may have it already. */
export function nameTaken(
  { account, name }: { account: string; name: string },
  known: { stored: Stored; declared: Declared },
  except?: string,
): Failure | null {
  const keys = livingKeys(account, known).filter(({ id }) => id !== except);
  return keys.some((key) => key.name === name) ? takenName({ account, name }) : null;
}

function takenName({ account, name }: { account: string; name: string }): Failure {
  return { kind: 'conflict', message: `A key named '${name}' exists in account '${account}'.` };
}

/** The key a newcomer gets at the first start, with its account; null when any user key is stored already. */
export async function issueFirstKey(store: AccountStore, plan: string, nowMs: number): Promise<IssuedKey | null> {
  const stored = await store.load();
  if (stored.keys.some((key) => key.kind === 'user')) return null;
  const declared = {
    accounts: [{ id: 'default', plan, status: 'active' as const, guards: [] }],
    keys: [],
    adminKey: null,
    defaultPlan: plan,
    plans: [plan],
  };
  const issued = await issueKey(
    store,
    {
      account: 'default',
      name: 'first',
      expiresMs: null,
      models: null,
      ips: null,
      limits: null,
      guards: [],
      tags: [],
      shareVectorsWith: null,
      actor: 'start',
      nowMs,
    },
    { stored, declared },
  );
  return issued.kind === 'issued' ? issued : null;
}

/** Also for an account that the maker of the key may not see. */
export function noAccount(account: string): Failure {
  return invalid('account', `account: there is no account '${account}'; create it first`);
}

/** Null when it may be a key's name. */
export function nameProblem(name: string): Failure | null {
  if (keyNameForm.test(name)) return null;
  return invalid('name', 'name: expected 1 to 64 letters, digits, spaces or ._@/-, beginning with a letter or digit');
}

type Living = Pick<KeyRow, 'id' | 'name' | 'tenant' | 'prefix'>;

function livingKeys(account: string, { stored, declared }: { stored: Stored; declared: Declared }): Living[] {
  return [
    ...stored.keys.filter((key) => key.account === account && key.revokedMs === null),
    ...declared.keys
      .filter((key) => key.account === account)
      .map((key) => ({ id: declaredKeyId(key), name: key.name, tenant: `${account}/${key.name}`, prefix: '' })),
  ];
}

/** A key that was renamed keeps the vector data of its first name, which a new key of that name must not reach unasked. */
function keyTenant(account: string, name: string, keys: readonly Living[]): string | Failure {
  const tenant = `${account}/${name}`;
  const owner = keys.find((key) => key.tenant === tenant && key.name !== name);
  if (owner === undefined) return tenant;
  const message = `The vector data of '${tenant}' is in use by the key '${owner.name}'. Take another name, or share the data with share_vectors_with.`;
  return { kind: 'conflict', message };
}

/** Other accounts' keys are not looked at: data never crosses accounts, and nothing tells that they exist. */
function tenantOf(order: KeyOrder, keys: readonly Living[]): string | Failure {
  const { account, name, shareVectorsWith: other } = order;
  if (other === null) return keyTenant(account, name, keys);
  const found = keys.find((key) => key.id === other || key.prefix === other || `${account}/${key.name}` === other);
  if (found !== undefined) return found.tenant;
  return invalid('share_vectors_with', `share_vectors_with: account '${account}' has no such key`);
}

/** A declared account gets a row too, since keys refer to one; the file's word goes on being the one that counts. */
export function ownerOf(
  { account, nowMs }: Pick<KeyOrder, 'account' | 'nowMs'>,
  { stored, declared }: { stored: Stored; declared: Declared },
): 'stored' | 'absent' | Extract<Change, { kind: 'create-account' }> {
  if (stored.accounts.some(({ id }) => id === account)) return 'stored';
  const found = declared.accounts.find(({ id }) => id === account);
  if (found === undefined) return 'absent';
  const { id, plan } = found;
  return { kind: 'create-account', account: { id, name: id, plan, status: 'active', guards: [], createdMs: nowMs } };
}
