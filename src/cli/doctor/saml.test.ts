import assert from 'node:assert/strict';
import { test } from 'node:test';
import { samlFindings } from './saml.ts';

const dayMs = 86_400_000;
const nowMs = Date.parse('2026-11-25T12:00:00Z');
const found = (days: number) =>
  samlFindings({ provider: nowMs + days * dayMs, signing: null, trouble: null }, nowMs).map(
    ({ state, message }) => `${state}: ${message}`,
  );

test('a certificate is a warning from 30 days before its end, and a problem on its last day', () => {
  assert.deepEqual(found(31), ['ok: ends on 2026-12-26']);
  assert.deepEqual(found(30), ['warning: The certificate of the identity provider ends in 30 days, on 2026-12-25.']);
  assert.deepEqual(found(1.5), ['warning: The certificate of the identity provider ends in 1 day, on 2026-11-27.']);
  assert.deepEqual(found(0.5), ['problem: The certificate of the identity provider ends within a day, on 2026-11-26.']);
  assert.deepEqual(found(-1), ['problem: The certificate of the identity provider ended on 2026-11-24.']);
});
