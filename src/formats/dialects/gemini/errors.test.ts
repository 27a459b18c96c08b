import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readError } from './errors.ts';

const of = (type: string, more: object) => ({ '@type': `type.googleapis.com/google.rpc.${type}`, ...more });

test("a refused key is told by ErrorInfo's reason", () => {
  const body = {
    error: {
      code: 400,
      message: 'API key not valid. Please pass a valid API key.',
      status: 'INVALID_ARGUMENT',
      details: [of('ErrorInfo', { reason: 'API_KEY_INVALID', domain: 'googleapis.com' })],
    },
  };
  const expected = { message: 'API key not valid. Please pass a valid API key.', code: 'API_KEY_INVALID', param: null };
  assert.deepEqual(readError(body), expected);
  assert.deepEqual(readError([body]), expected, 'as streams that are no SSE send it');
});

test('a quota of a day is no limit of a minute, and the wait stands in the body', () => {
  const exhausted = (quotaId: string) =>
    readError({
      error: {
        code: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        status: 'RESOURCE_EXHAUSTED',
        details: [
          of('QuotaFailure', { violations: [{ quotaMetric: 'm', quotaId }] }),
          of('RetryInfo', { retryDelay: '34.074824224s' }),
        ],
      },
    });
  const minute = exhausted('GenerateRequestsPerMinutePerProjectPerModel-FreeTier');
  assert.equal(minute?.code, 'RESOURCE_EXHAUSTED');
  assert.equal(minute?.retryAfterMs, 34_075);
  assert.equal(exhausted('GenerateRequestsPerDayPerProjectPerModel-FreeTier')?.code, 'RESOURCE_EXHAUSTED_PER_DAY');
});

test('the blamed field is told', () => {
  const details = [of('BadRequest', { fieldViolations: [{ field: 'contents[0].parts', description: 'empty' }] })];
  const error = { code: 400, message: 'm', status: 'INVALID_ARGUMENT', details };
  assert.deepEqual(readError({ error }), { message: 'm', code: 'INVALID_ARGUMENT', param: 'contents[0].parts' });
});

test('an answer is no error, and nothing makes reading throw', () => {
  assert.equal(readError({ candidates: [] }), null);
  assert.equal(readError('x'), null);
  assert.deepEqual(readError({ error: 'down' }), { message: 'down', code: '', param: null });
  const detail = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(of('RetryInfo', { retryDelay: '99999999999s' }), of('QuotaFailure', { violations: 1 })),
  );
  const error = fc.record({
    code: fc.jsonValue(),
    message: fc.jsonValue(),
    status: fc.jsonValue(),
    details: fc.array(detail),
  });
  fc.assert(fc.property(error, (wire) => assert.ok(readError({ error: wire }) !== null)));
});
