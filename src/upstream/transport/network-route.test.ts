import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cert, key } from '../../../test/upstream-certificate.ts';
import { createRoute, type RouteFacts } from './network-route.ts';

const nothing: RouteFacts = { proxy: undefined, ca: undefined, cert: undefined, key: undefined };

test('where nothing is said the usual way is taken', () => {
  assert.deepEqual(createRoute(nothing), { ok: true, route: undefined });
});

test('certificates are PEM or a file that holds it, and the same ones are the same route', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = { ca: join(folder, 'ca'), cert: join(folder, 'cert'), key: join(folder, 'key') };
  for (const [name, text] of Object.entries({ ca: cert, cert, key })) writeFileSync(files[name as 'ca'], text);
  const made = [createRoute({ proxy: 'off', ca: cert, cert, key }), createRoute({ proxy: 'off', ...files })];
  assert.ok(made[0]?.ok && made[0].route?.key === key);
  assert.deepEqual(made[0], made[1]);
  const other = createRoute({ ...nothing, ...files });
  assert.ok(other.ok && other.route?.proxy === 'environment' && other.route.id !== made[0].route.id);
});

for (const [facts, message] of [
  [{ ca: '/no/such/file' }, 'tls.ca is neither PEM nor a file that can be read (ENOENT)'],
  [{ ca: key }, 'tls.ca holds no PEM certificate'],
  [{ cert, key: cert }, /^tls.ca, tls.cert and tls.key do not match/],
  [{ proxy: 'socks5://u:hidden@proxy.test' }, 'proxy is not a URL such as http://proxy.internal:3128'],
] as const) {
  test(`${Object.keys(facts).join(' and ')} that cannot be used: ${message}`, () => {
    const made = createRoute({ ...nothing, ...facts });
    assert.ok(!made.ok);
    if (typeof message === 'string') assert.equal(made.message, message);
    else assert.match(made.message, message);
  });
}
