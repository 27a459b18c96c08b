import { keyPrefix } from '../../../books/auth/key-directory.ts';
import { culvert } from '../../../kernel/command-form.ts';
import type { AdminClient, AdminQuery } from '../../admin-client.ts';
import { CommandFailed } from '../../command-failed.ts';
import { listRows } from '../../rows.ts';

/** Maximum number of keys that a command reads. */
export const keysMax = 100_000;

const publicIdForm = /^[A-Za-z0-9]{12}$/;

/** A query in which `key` is the id of the key that it names. */
export async function withKeyId<Query extends AdminQuery>(admin: AdminClient, query: Query): Promise<Query> {
  return typeof query.key === 'string' ? { ...query, key: await keyIdOf(admin, query.key) } : query;
}

/** The id of a key that is named by its id, its prefix, its secret or `account/name`. */
export async function keyIdOf(admin: AdminClient, named: string): Promise<string> {
  // A declared key's id, as lists show it: sk-cv-declared:dev/laptop.
  if (named.includes(':')) return named;
  if (named.startsWith(keyPrefix)) {
    // A secret holds its id, and must not come into a URL.
    const [id = ''] = named.slice(keyPrefix.length).split('-', 1);
    if (publicIdForm.test(id)) return id;
    throw new CommandFailed(
      `No stored key has that secret. Name the key by account/name; ${culvert} keys list shows them.`,
    );
  }
  const slash = named.indexOf('/');
  if (slash === -1) return named;
  const [account, name] = [named.slice(0, slash), named.slice(slash + 1)];
  const { rows } = await listRows(admin, '/keys', { account }, keysMax);
  const found = rows.filter((row) => row.name === name);
  // A revoked key may have had the name before.
  const id = (found.find(({ status }) => status !== 'revoked') ?? found[0])?.id;
  if (typeof id !== 'string') throw new CommandFailed(`There is no key '${named}'. ${culvert} keys list shows them.`);
  return id;
}
