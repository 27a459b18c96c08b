import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayPass, whyUnusable } from './open.ts';

const place = 'db.internal:5432/culvert';

for (const { what, error, words } of [
  {
    what: 'a certificate that nobody vouches for',
    error: Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
    words: /cannot be used: its certificate is refused \(self-signed certificate\)\. .*sslrootcert=/,
  },
  {
    what: 'a certificate of another host',
    error: Object.assign(new Error("Hostname/IP does not match certificate's altnames"), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    }),
    words: /and the host as the certificate does/,
  },
  {
    what: 'a server without TLS',
    error: new Error('The server does not support SSL connections'),
    words: /does not support TLS\. Leave sslmode out/,
  },
  {
    what: 'an sslrootcert that is not there',
    error: Object.assign(new Error("ENOENT: no such file or directory, open '/nope.pem'"), {
      code: 'ENOENT',
      syscall: 'open',
    }),
    words: /a file that storage\.database names cannot be read \(ENOENT.*\/nope\.pem/,
  },
])
  test(`${what} is a sentence with its fix, and refuses a start at once`, () => {
    const why = whyUnusable(error, place);
    assert.match(why ?? '', words);
    assert.match(why ?? '', /^The database db\.internal:5432\/culvert /);
    assert.equal(mayPass(error), false);
  });

test('a server that is not there yet is waited for', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
  assert.match(whyUnusable(refused, place) ?? '', /nothing listens there/);
  assert.equal(mayPass(refused), true);
  assert.equal(mayPass(new Error('Connection terminated due to connection timeout')), true);
});

test('an error of ours is none of the database', () => {
  assert.equal(whyUnusable(new TypeError('x is undefined'), place), null);
});
