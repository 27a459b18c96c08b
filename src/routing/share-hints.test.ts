import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setUp } from '../../test/fixtures/provider-health.ts';
import { shareHints } from './share-hints.ts';

function heardFrom(text: string): string[] {
  const { clock, health } = setUp();
  let take = (_: string) => {};
  const channel = {
    send() {},
    listen(to: (text: string) => void) {
      take = to;
    },
  };
  shareHints(health, clock, { server: 'here', send: null, channel });
  take(text);
  return health.snapshot(clock.monotonicMs()).map(({ standing }) => standing);
}

const open = { target: 't', credential: 'c', kind: 'open', why: 'failing', forMs: 5_000 };

test('what another replica has learnt counts; own words, and what is none of ours, do not', () => {
  assert.deepEqual(heardFrom(JSON.stringify({ server: 'there', hints: [open] })), ['open']);
  const usual = { target: 't', credential: 'c', kind: 'usual', of: 'whole', counts: [0, 1] };
  assert.deepEqual(heardFrom(JSON.stringify({ server: 'there', hints: [usual] })), ['ready']);
  const others = [
    { ...usual, of: 'half' },
    { ...usual, counts: [-1] },
    { ...usual, counts: 1 },
    { ...open, forMs: -1 },
    { ...open, forMs: 24 * 3_600_000 + 1 },
    { ...open, why: null },
    { ...open, credential: 1 },
    { ...open, kind: 'new' },
    null,
    'x',
  ];
  for (const text of [
    '',
    '{',
    '[]',
    '{}',
    '{"server":"there","hints":1}',
    JSON.stringify({ server: 'here', hints: [open] }),
    JSON.stringify({ server: 1, hints: [open] }),
  ])
    assert.deepEqual(heardFrom(text), [], text);
  const elsewhere = { ...open, target: 'u', forMs: 24 * 3_600_000 };
  for (const other of others)
    assert.deepEqual(heardFrom(JSON.stringify({ server: 'there', hints: [other, elsewhere] })), ['open'], `${other}`);
});
