import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Address, createFetchGuard, type FetchRules, isPublicAddress } from './fetch-guard.ts';

const usual: FetchRules = { ports: [80, 443, 8080, 8443], allow_private: [] };
const addressOf = (address: string): Address => ({ address, family: address.includes(':') ? 6 : 4 });

/** A name server that knows these names alone. */
function guard(names: Readonly<Record<string, readonly string[]>> = {}, rules: Partial<FetchRules> = {}) {
  return createFetchGuard({ ...usual, ...rules }, async (hostname) => {
    const addresses = names[hostname];
    if (addresses === undefined) throw new Error('ENOTFOUND');
    return addresses.map(addressOf);
  });
}

async function verdict(text: string, checked = guard()): Promise<string> {
  const answer = await checked.check(new URL(text));
  return answer.ok ? 'ok' : answer.reason;
}

const spellings = [
  'http://127.0.0.1/',
  'http://127.1/',
  'http://0x7f.1/',
  'http://0x7f000001/',
  'http://2130706433/',
  'http://017700000001/',
  'http://0177.0.0.1/',
  'http://１２７.0.0.1/',
  'http://127.0.0.1./',
  'http://0.0.0.0/',
  'http://0/',
  'http://[::]/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b:1::a00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:0:1::1]/',
  'http://169.254.169.254/latest/meta-data/',
  'http://[::ffff:169.254.169.254]/',
  'http://[fd00:ec2::254]/',
  'http://168.63.129.16/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://192.0.0.192/',
  'http://198.18.0.1/',
  'http://203.0.113.9/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://[fd00::8]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[4000::1]/',
  'http://localhost/',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://a.localhost/',
  'http://printer.local/',
  'http://metadata.google.internal/',
  'http://router.home.arpa./',
  'file:///etc/passwd',
  'gopher://8.8.8.8/',
  'ftp://8.8.8.8/',
  'data:text/plain,x',
  'http://user:pass@8.8.8.8/',
  'http://8.8.8.8@127.0.0.1/',
  'http://8.8.8.8:22/',
  'http://8.8.8.8:6379/',
];

for (const text of spellings) {
  test(`S17 ${text} is not fetched`, async () => assert.equal(await verdict(text), 'blocked'));
}

test('S17 public places are let through, by whatever spelling', async () => {
  const names = guard({ 'example.org': ['93.184.215.14', '2606:2800:21f::1'] });
  for (const text of [
    'http://8.8.8.8/',
    'https://[2606:4700:4700::1111]/',
    'http://134744072/',
    'http://[::ffff:8.8.8.8]/',
    'https://EXAMPLE.org/a?b#c',
    'http://example.org:8080/',
  ]) {
    assert.equal(await verdict(text, names), 'ok', text);
  }
});

test('S17 every address of a name counts: one private one is enough', async () => {
  const names = guard({ a: ['8.8.8.8', '10.0.0.1'], b: ['::ffff:127.0.0.1'], c: [], 'd.example': ['fd00::8'] });
  assert.equal(await verdict('http://a/', names), 'blocked');
  assert.equal(await verdict('http://b/', names), 'blocked');
  assert.equal(await verdict('http://c/', names), 'unresolved');
  assert.equal(await verdict('http://d.example/', names), 'blocked');
  assert.equal(await verdict('http://unknown.example/', names), 'unresolved');
});

test('S17 what the operator excepts is let through, and nothing beside it', async () => {
  const names = { 'files.internal': ['10.1.2.3'], 'other.example': ['10.1.2.3'], 'far.example': ['10.9.9.9'] };
  const excepting = guard(names, { allow_private: ['127.0.0.1:9000', 'files.internal:9001', '10.1.0.0/16'] });
  assert.equal(await verdict('http://127.0.0.1:9000/x', excepting), 'ok');
  assert.equal(await verdict('http://0x7f.1:9000/x', excepting), 'ok', 'the same place, spelled otherwise');
  assert.equal(await verdict('http://127.0.0.1:9001/', excepting), 'blocked');
  assert.equal(await verdict('http://127.0.0.2:9000/', excepting), 'blocked');
  assert.equal(await verdict('http://files.internal:9001/', excepting), 'ok');
  assert.equal(await verdict('http://files.internal/', excepting), 'blocked', 'the place was excepted, not the name');
  assert.equal(await verdict('http://other.example/', excepting), 'ok');
  assert.equal(await verdict('http://other.example:9000/', excepting), 'blocked', 'networks do not open ports');
  assert.equal(await verdict('http://far.example/', excepting), 'blocked');
});

test('S17 the special-purpose registries, whole: nothing in them is public', () => {
  const inside: readonly [string, fc.Arbitrary<string>][] = (
    [
      ['0', 8],
      ['10', 8],
      ['127', 8],
      ['224', 4],
      ['240', 4],
    ] as const
  ).map(([first, bits]) => [
    first,
    fc
      .tuple(fc.nat(2 ** (8 - bits) - 1), fc.nat(255), fc.nat(255), fc.nat(255))
      .map(([high, b, c, d]) => `${Number(first) + high}.${b}.${c}.${d}`),
  ]);
  for (const [range, address] of inside) {
    fc.assert(
      fc.property(address, (text) => {
        assert.equal(isPublicAddress(text), false, `${range}: ${text}`);
        assert.equal(isPublicAddress(`::ffff:${text}`), false, `${range}: ::ffff:${text}`);
      }),
    );
  }
  assert.equal(isPublicAddress('not an address'), false);
  assert.equal(isPublicAddress('fe80::1%eth0'), false);
});
