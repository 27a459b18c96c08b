import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { faultHelp, mockHelp } from '../help.ts';
import type { FaultSpec } from './fault-spec.ts';
import { parseFaultSpec, withoutFailures } from './fault-spec.ts';
import { faultTable } from './fault-table.ts';

function specOf(source: string): FaultSpec {
  const parsed = parseFaultSpec(source);
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.message);
  return parsed.spec;
}

test('units, bare words and escapes are read', () => {
  assert.deepEqual(
    specOf(
      ' Status=503 ; retry-after=2;delay=1.5s;size=2kb;drip=3/10ms;cut=120;eof=2events;stall;omit=done,usage;message=a%3Bb=c;header.X-A=b=c;',
    ),
    {
      status: 503,
      'retry-after': '2',
      delay: 1_500,
      size: 2_048,
      drip: { bytes: 3, everyMs: 10 },
      cut: { unit: 'bytes', count: 120 },
      eof: { unit: 'events', count: 2 },
      stall: { unit: 'default' },
      omit: ['done', 'usage'],
      message: 'a;b=c',
      headers: { 'x-a': 'b=c' },
    },
  );
  assert.deepEqual(specOf(''), {});
  assert.deepEqual(specOf('ok'), { ok: true });
});

for (const [source, why] of [
  ['statsu=503', "'statsu' is unknown"],
  ['status=99', "'status' must be an integer from 200 to 599"],
  ['status', "'status' must be an integer"],
  ['delay=soon', "'delay' must be a duration"],
  ['delay=61m', 'at most 60m'],
  ['size=1tb', "'size' must be a size"],
  ['size=17mb', 'at most 16777216 bytes'],
  ['drip=0/10ms', "'drip' must be bytes per interval"],
  ['flap=1.5', "'flap' must be a share"],
  ['every=0', "'every' must be an integer from 1"],
  ['alternate=0s', "'alternate' must be a duration of at least 1ms"],
  ['alternate=3s/up', "'alternate' must be a duration"],
  ['hang=yes', "'hang' must be a bare word"],
  ['omit=done,nothing', "'omit' must be one or more of"],
  ['status=500;status=501', "'status' is given twice"],
  ['message=100%', "'message' has a broken percent escape"],
  ['header.bad name=1', "'bad name' is no header name"],
  ['header.x=%0d%0ay: 1', "'header.x' needs =value"],
  ['retry-after=%0d%0a', "'retry-after' must be ASCII"],
  ['redirect=%0d%0aset-cookie: a', "'redirect' must be ASCII"],
  ['__proto__=1', "'__proto__' is unknown"],
  [`message=${'x'.repeat(9_000)}`, 'longer than'],
] as const) {
  test(`refused with the reason: ${source.slice(0, 40)}`, () => {
    const parsed = parseFaultSpec(source);
    assert.ok(!parsed.ok);
    assert.match(parsed.message, /^Cannot read the fault spec: /);
    assert.ok(parsed.message.includes(why), parsed.message);
  });
}

test('any text is read or refused, never thrown at', () => {
  const piece = fc.oneof(fc.constantFrom(...Object.keys(faultTable), 'header.x'), fc.string());
  const source = fc
    .array(fc.tuple(piece, fc.constantFrom('', '=', '=1', '=%'), fc.string()))
    .map((parts) => parts.flat().join(';'));
  fc.assert(fc.property(source, (text) => typeof parseFaultSpec(text).ok === 'boolean'));
});

test('every example of the help can be sent as it stands, and every fault has its line', () => {
  for (const { name, example, help } of faultHelp) {
    specOf(example);
    assert.ok(help.endsWith('.'), name);
    assert.ok(mockHelp().includes(`  ${example}`), name);
  }
});

test('without its failures, a spec keeps what shapes an answer', () => {
  assert.deepEqual(withoutFailures(specOf('status=503;retry-after=1;text=hi;cut=3;header.x=1')), {
    text: 'hi',
    headers: { x: '1' },
  });
});
