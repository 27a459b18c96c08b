import { marksOf } from '../../books/auth/entry-secrets.ts';
import type { DefinitionMarks } from '../../config/marked-members.ts';
import { secretMark } from '../../config/redact.ts';
import { invalid } from '../../kernel/failure.ts';
import { refuse } from '../operation.ts';
import type { Members } from './merge-patch.ts';

/** Members that decide where requests go and that a patch changes. */
export function movedAddresses({ addresses }: DefinitionMarks, before: Members, after: Members): string[] {
  const was = new Map(addresses(before).map(({ path, value }) => [path, JSON.stringify(value)]));
  const is = new Map(addresses(after).map(({ path, value }) => [path, JSON.stringify(value)]));
  return [...new Set([...was.keys(), ...is.keys()])].filter((path) => was.get(path) !== is.get(path));
}

/** For changes of stored entries: no address that a patch changes gets secrets that nobody may read. */
export function guardAddresses(kind: 'mcp' | 'agent' | 'guard') {
  return (patch: Members) => (before: Members, after: Members) => {
    const marks = marksOf(kind);
    for (const moved of movedAddresses(marks, before, after)) refuseUnreadSecrets(marks, moved, before, after, patch);
  };
}

/**
 * Secrets that nobody may read must not be sent to an address that the changer chooses: refuses a patch that changes
 * the address `member` and does not send each secret anew, or remove it. An address within an object, such as
 * `oauth.issuer`, gets the secrets of this object.
 */
export function refuseUnreadSecrets(
  { secrets }: DefinitionMarks,
  member: string,
  before: Members,
  after: Members,
  patch: Members,
): void {
  const earlierPaths = new Set(secrets(before).map(({ path }) => path));
  const given = new Map(secrets(patch).map(({ path, value }) => [path, value]));
  const getsAll = !member.includes('.') || member.startsWith('headers.');
  const group = member.slice(0, member.indexOf('.') + 1);
  const unread = secrets(after).find(
    ({ path }) =>
      (getsAll || path.startsWith(group)) && earlierPaths.has(path) && (given.get(path) ?? secretMark) === secretMark,
  );
  if (unread === undefined) return;
  const [outer, ...rest] = unread.path.split('.');
  if (outer === 'headers') {
    const message = `${member}: the header ${rest.join('.')} was given for another address. Send its value too, or null to remove it`;
    refuse(invalid(member, message));
  }
  const message = `${unread.path}: it was given for another address. Send its value too, or null for ${outer}`;
  refuse(invalid(unread.path, message));
}
