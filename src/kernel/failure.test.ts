import assert from 'node:assert/strict';
import { STATUS_CODES } from 'node:http';
import { test } from 'node:test';
import { type Failure, FailureError, failureStatus, invalid, isFailure } from './failure.ts';
import { factsOf } from './failure-facts.ts';

test('a failure is known by its kind, and so is a copy from another thread', () => {
  const failures: readonly Failure[] = [invalid('model', 'model: expected a text'), { kind: 'internal' }];
  for (const failure of failures) {
    assert.ok(isFailure(failure));
    assert.ok(isFailure(structuredClone(failure)));
  }
});

test('attempts of a provider that ended alike are told once', () => {
  const attempts = ['answered 404', 'answered 404', 'timed out'].map((reason) => ({ provider: 'up', reason }));
  const { message } = factsOf({ kind: 'upstreams-failed', model: 'film', attempts }, 0);
  assert.match(message, /\(up: answered 404; up: timed out\)/);
});

test('nothing else is a failure', () => {
  const others: readonly unknown[] = [null, undefined, 'internal', 1, true, [], {}, () => {}, { kind: 'counted' }];
  const odd: readonly unknown[] = [{ kind: 500 }, { kind: ['internal', 1] }, { kind: 'constructor' }, { kind: null }];
  for (const value of [...others, ...odd]) assert.ok(!isFailure(value), String(value));
});

test('an error that carries a failure is its sentence in a line of the log', () => {
  const failure: Failure = { kind: 'quota-unavailable', message: 'PostgreSQL cannot be reached.' };
  assert.equal(String(new FailureError(failure)), 'PostgreSQL cannot be reached.');
  assert.equal(String(new FailureError({ kind: 'internal' })), 'internal');
});

test('a status is one of HTTP for errors', () => {
  for (const [kind, status] of Object.entries(failureStatus)) assert.ok(STATUS_CODES[status] && status >= 400, kind);
});
