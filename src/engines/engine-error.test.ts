import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineBusy, engineCrowded, engineFailed, engineMissing, faultOfEngine } from './engine-error.ts';

test('an engine that fails, waits or is missing says what a caller is told, and when to retry', () => {
  const errors = [
    engineFailed('it hung', 2_000),
    engineCrowded('full'),
    engineBusy('loads', 9_000),
    engineMissing('gone'),
  ];
  const faults = errors.map((error) => {
    const { class: kind, message, status, retryAfterMs } = faultOfEngine(error);
    return { kind, message, status, retryAfterMs: retryAfterMs ?? null };
  });
  assert.deepEqual(faults, [
    { kind: 'transient', message: 'it hung', status: 503, retryAfterMs: 2_000 },
    { kind: 'gateway_fault', message: 'full', status: 503, retryAfterMs: 1_000 },
    { kind: 'rate_limited', message: 'loads', status: 503, retryAfterMs: 9_000 },
    { kind: 'model_unavailable', message: 'gone', status: 503, retryAfterMs: null },
  ]);
});

test('the fault of an engine is the same object that its error holds', () => {
  const error = engineFailed('it crashed');
  assert.equal(faultOfEngine(error), error.fault);
  assert.equal(error.message, 'it crashed');
});

test('an error that nobody foresaw counts as transient, with its message', () => {
  const { class: kind, message } = faultOfEngine(new RangeError('out of memory'));
  assert.deepEqual({ kind, message }, { kind: 'transient', message: 'out of memory' });
  assert.equal(faultOfEngine('a text').message, 'failed');
});
