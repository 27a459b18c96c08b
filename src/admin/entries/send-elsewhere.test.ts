import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DefinitionMarks } from '../../config/marked-members.ts';
import { refuseUnreadSecrets } from './send-elsewhere.ts';

const paths = ['api_key', 'oauth.client_secret', 'headers.x-team'];
const marks = {
  secrets: (members: Record<string, unknown>) =>
    paths.flatMap((path) => {
      const value = path
        .split('.')
        .reduce<unknown>((holder, name) => (holder as Record<string, unknown>)?.[name], members);
      return value === undefined ? [] : [{ path, value }];
    }),
} as unknown as DefinitionMarks;

const stored = { api_key: '***', oauth: { client_secret: '***' } };

function refused(member: string, patch: object, after: object = stored): string | null {
  try {
    refuseUnreadSecrets(marks, member, stored, after as never, patch as never);
    return null;
  } catch (error) {
    return (error as Error & { failure: { message: string } }).failure.message;
  }
}

test('a changed address wants each secret that it would get, and no other', () => {
  assert.match(refused('base_url', {}) ?? '', /^api_key: it was given for another address/);
  assert.match(refused('base_url', { api_key: 'new' }) ?? '', /^oauth\.client_secret: .* or null for oauth$/);
  assert.equal(refused('base_url', { api_key: 'new', oauth: { client_secret: 'new' } }), null);
  // The key of the provider does not go to the server of its logins.
  assert.equal(refused('oauth.issuer', { oauth: { client_secret: 'new' } }), null);
  assert.match(refused('oauth.issuer', {}) ?? '', /^oauth\.client_secret: /);
  // A secret that is new was given for this address.
  assert.equal(refused('oauth.issuer', {}, { api_key: '***' }), null);
});
