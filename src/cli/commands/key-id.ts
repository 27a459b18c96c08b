import { keyPrefix } from '../../auth/api-key.ts';
import type { AdminClient } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { listRows } from '../rows.ts';

const keysMax = 100_000;
const publicIdForm = /^[A-Za-z0-9]{12}$/;

/** The id of a key that is named by its id, its prefix, its secret or `account/name`. */
export async function keyIdOf(admin: AdminClient, named: string): Promise<string> {
  // A declared key's id, as lists show it: sk-cv-declared:dev/laptop.
  if (named.includes(':')) return named;
  if (named.startsWith(keyPrefix)) {
    // A secret holds its id, and must not come into a URL.
    const id = named.slice(keyPrefix.length).split('-')[0]!;
    if (publicIdForm.test(id)) return id;
    throw new CommandFailed('That secret is not one of a stored key. Name the key by account/name; culvert keys list.');
  }
  const slash = named.indexOf('/');
  if (slash === -1) return named;
  const [account, name] = [named.slice(0, slash), named.slice(slash + 1)];
  const { rows } = await listRows(admin, '/keys', { account }, keysMax);
  const found = rows.filter((row) => row.name === name);
  // A revoked key may have had the name before.
  const id = (found.find(({ status }) => status !== 'revoked') ?? found[0])?.id;
  if (typeof id !== 'string') throw new CommandFailed(`There is no key '${named}'. culvert keys list shows them.`);
  return id;
}
