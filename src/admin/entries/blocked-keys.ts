import type { Change } from '../../books/auth/account-store.ts';
import { ownerOf } from '../../books/auth/issue-key.ts';
import { blockOf, blocksIn, type DeclaredKey, declaredKeyId, isBlock } from '../../books/auth/key-directory.ts';
import type { Operator } from '../../books/auth/operator.ts';
import type { Directory, KnownKey, Records } from '../directory.ts';
import { refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';

/** Blocks of keys of the configuration: a row of the store says that a secret opens nothing, whatever the file says. */
export function keyBlocks<Shown extends { status: string }>(
  { clock, cache, onStoreError }: AdminParts,
  records: Records,
  shown: (directory: Directory, key: KnownKey) => Shown,
) {
  type By = Pick<Operator, 'accounts' | 'name'>;

  async function shownNow(id: string, { accounts }: By) {
    const directory = await records.current(accounts);
    return shown(directory, directory.key(id) ?? refuse(unknown(id)));
  }

  async function block(directory: Directory, id: string, by: By): Promise<Shown> {
    const nowMs = clock.wallMs();
    const declared = declaredOf(directory, id);
    const key = blockOf(declared, nowMs);
    // A secret has one row: a key of this API with the same one makes room, and is over with it.
    const twin = directory.stored.keys.find(
      (row) => !isBlock(row) && row.secrets.some(({ hash }) => hash === declared.hash),
    );
    const revocation = { kind: 'revoke-key', id: twin?.id ?? '', atMs: nowMs } as const;
    const room: Change[] =
      twin === undefined ? [] : [...(twin.revokedMs === null ? [revocation] : []), { kind: 'delete-key', id: twin.id }];
    const owner = ownerOf({ account: key.account, nowMs: key.createdMs }, directory);
    const account = typeof owner === 'string' ? [] : [owner];
    const after = { ...revoked, ...(twin !== undefined && { removed_key: twin.id }) };
    const audit = { actor: by.name, action: 'key.revoke', subject: id, before: active, after };
    const done = await records.apply([...account, ...room, { kind: 'create-key', key }], audit);
    // Another request made the row of the account.
    if (done !== 'done' && account.length > 0) return block(await records.current(by.accounts), id, by);
    await cache.clear({ keyId: id }).catch(onStoreError);
    const now = await shownNow(id, by);
    return now.status === 'active' ? refuse(sharedSecret) : now;
  }

  return {
    block,
    async restore(id: string, by: By) {
      const directory = await records.current(by.accounts);
      const { row, revokedMs, name } = directory.key(id) ?? refuse(unknown(id));
      if (row === null && revokedMs !== null) {
        const found = blocksIn(directory.stored).get(declaredOf(directory, id).hash);
        const audit = { actor: by.name, action: 'key.restore', subject: id, before: revoked, after: active };
        if (found !== undefined) await records.apply([{ kind: 'delete-key', id: found.id }], audit);
      } else if (revokedMs !== null) {
        refuse({ kind: 'conflict', message: `The key '${name}' was revoked for good. Create another one.` });
      }
      return shownNow(id, by);
    },
  };
}

const active = { status: 'active' };
const revoked = { status: 'revoked' };
const sharedSecret = {
  kind: 'conflict',
  message:
    'A key of an account that you do not administer has the same secret. Ask an owner, or take it out of the configuration.',
} as const;

function declaredOf({ declared }: Directory, id: string): DeclaredKey {
  const found = declared.keys.find((key) => declaredKeyId(key) === id);
  return found ?? refuse(unknown(id));
}

const unknown = (id: string) => ({ kind: 'not-found', message: `There is no key '${id.slice(0, 64)}'.` }) as const;
