import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { FaultClass } from '../../neutral/outcome.ts';
import { classOfError, errorBody, errorFrame, readError } from './errors.ts';

const nowMs = Date.parse('2026-01-02T03:00:00Z');
const limit = (window: '5h' | null, used: number, allowed: number): Failure => ({
  kind: 'quota-exceeded',
  limit: window ?? 'minute',
  window,
  used,
  allowed,
  freeAtMs: nowMs + 312_000,
  message: 'Rate limit exceeded: 5-hour window, 50 of 50 requests used.',
});

test('an error body has message, type, the status as integer code, param, the request id and a link', () => {
  assert.deepEqual(errorBody(invalid('temperature', 'Too hot.'), { requestId: 'req_1', nowMs }), {
    error: {
      message: 'Too hot.',
      type: 'invalid_request_error',
      code: 400,
      param: 'temperature',
      request_id: 'req_1',
      doc_url: '/docs/errors#invalid-request',
    },
  });
});

test('a reached window says used and allowed as callers read them, and when the next one passes', () => {
  assert.deepEqual(errorBody(limit('5h', 49.95, 50), { requestId: 'req_1', nowMs }), {
    error: {
      message: 'Rate limit exceeded: 5-hour window, 50 of 50 requests used.',
      type: 'rate_limit_error',
      code: 429,
      param: null,
      request_id: 'req_1',
      doc_url: '/docs/errors#limit-window',
      limit: '5h',
      window: '5h',
      used: 49.95,
      allowed: 50,
      resets_at: '2026-01-02T03:05:12.000Z',
      retry_after_ms: 312_000,
    },
  });
});

test('other limits count in plain numbers and have no window', () => {
  const { error } = errorBody(limit(null, 20, 20), { requestId: 'req_1', nowMs }) as { error: Record<string, unknown> };
  assert.deepEqual([error.limit, error.used, error.allowed, 'window' in error], ['minute', 20, 20, false]);
});

test('a limit that no instant frees says so with nulls', () => {
  const failure = { ...limit(null, 4, 4), limit: 'concurrency', freeAtMs: null } as Failure;
  const { error } = errorBody(failure, { requestId: 'req_1', nowMs }) as { error: Record<string, unknown> };
  assert.deepEqual([error.limit, error.resets_at, error.retry_after_ms], ['concurrency', null, null]);
});

test('an error frame is one data line and never a [DONE]', () => {
  const frame = errorFrame({ kind: 'internal' }, { requestId: 'req_1', nowMs });
  assert.match(frame, /^data: \{"error":\{.*\}\}\n\n$/);
  assert.equal(frame.includes('[DONE]'), false);
});

const classes: [class_: FaultClass, status: number | null, body: unknown][] = [
  ['rate_limited', 429, { error: { message: 'Rate limit reached', type: 'tokens', code: 'rate_limit_exceeded' } }],
  [
    'quota_exhausted',
    429,
    { error: { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' } },
  ],
  ['quota_exhausted', 429, { error: { message: 'You exceeded your current quota, check your billing details' } }],
  ['rate_limited', 429, { error: { message: 'Quota exceeded: 60 requests per minute' } }],
  ['rate_limited', 429, 'slow down'],
  ['quota_exhausted', 402, { error: { message: 'Insufficient Balance', type: 'unknown_error' } }],
  ['too_long', 400, { error: { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded' } }],
  ['caller_fault', 400, { error: { message: 'x', type: 'invalid_request_error', param: 'messages', code: null } }],
  ['caller_fault', 422, { detail: [{ loc: ['body'], msg: 'field required' }] }],
  ['caller_fault', 413, null],
  [
    'model_unavailable',
    404,
    { error: { message: 'The model `x` does not exist', type: 'invalid_request_error', code: 'model_not_found' } },
  ],
  ['model_unavailable', 404, { error: { code: 'DeploymentNotFound', message: 'The API deployment does not exist.' } }],
  ['model_unavailable', 404, '<html>not found</html>'],
  ['model_unavailable', 400, { error: { message: 'gone', code: 'model_decommissioned' } }],
  ['caller_fault', 404, { error: { message: 'No such file', param: 'messages[0].content[1].file.file_id' } }],
  ['model_unavailable', 410, null],
  ['model_unavailable', 403, { error: { message: 'Project does not have access to model `x`' } }],
  [
    'bad_credential',
    401,
    { error: { message: 'Incorrect API key', type: 'invalid_request_error', code: 'invalid_api_key' } },
  ],
  ['bad_credential', 403, { error: { message: 'Forbidden' } }],
  ['region_blocked', 403, { error: { message: 'no', code: 'unsupported_country_region_territory' } }],
  ['region_blocked', 451, null],
  ['transient', 500, { error: { message: 'x', type: 'server_error' } }],
  ['transient', 529, null],
  ['transient', 408, null],
  ['transient', 425, null],
  ['transient', 302, null],
  ['caller_fault', 409, null],
  ['transient', null, { error: { message: 'Provider disconnected', code: 502 } }],
  ['rate_limited', 200, { error: { message: 'slow', code: 429 } }],
  ['transient', 200, { error: { message: 'Overloaded', type: 'overloaded_error' } }],
  ['caller_fault', null, { error: { message: 'bad', type: 'invalid_request_error' } }],
  ['malformed', 200, { error: 'something broke' }],
  ['transient', 503, [{ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }]],
];

for (const [class_, status, body] of classes) {
  test(`${status ?? 'inside the answer'} ${JSON.stringify(body)?.slice(0, 80)} is ${class_}`, () => {
    assert.equal(classOfError(status, readError(body)), class_);
  });
}

test('an error is read out of every shape that servers of the format use', () => {
  const shapes: [unknown, string, string][] = [
    [{ error: { message: 'm', type: 't', code: 'c', param: null } }, 'm', 'c'],
    [{ error: { message: 'm', type: 't', code: null } }, 'm', 't'],
    [{ error: { message: 'm', code: 404 } }, 'm', '404'],
    [{ error: 'm' }, 'm', ''],
    [{ object: 'error', message: 'm', type: 't', code: 400 }, 'm', 't'],
    [{ object: 'error', message: { detail: [{ msg: 'm' }] } }, 'm', ''],
    [{ message: 'm' }, 'm', ''],
    [{ detail: 'm' }, 'm', ''],
    [{ detail: [{ loc: ['body', 'messages', 0, 'x'], msg: 'm', type: 'missing' }] }, 'm (body.messages.0.x)', ''],
    [{ errors: ['m'] }, 'm', ''],
    [[{ error: { message: 'm', status: 'UNAVAILABLE', code: 503 } }], 'm', 'UNAVAILABLE'],
  ];
  for (const [body, message, code] of shapes) {
    assert.deepEqual({ ...readError(body), param: null }, { message, code, param: null }, JSON.stringify(body));
  }
});

test('an answer is no error, nor is an empty one', () => {
  for (const body of [{ choices: [] }, { choices: [], error: null }, {}, null, 'text', 5, [], { error: null }]) {
    assert.equal(readError(body), null, JSON.stringify(body));
  }
});

test('a status without a word decides: the target, its credential or its limits, the caller, or nobody for now', () => {
  const classes: Partial<Record<FaultClass, number[]>> = {
    bad_credential: [401, 403],
    quota_exhausted: [402],
    model_unavailable: [404, 405, 410],
    rate_limited: [429],
    region_blocked: [451],
    transient: [407, 408, 425, 499, ...Array.from({ length: 100 }, (_, at) => 500 + at)],
  };
  const found = Object.groupBy(
    Array.from({ length: 200 }, (_, at) => 400 + at),
    (status) => classOfError(status, null),
  );
  const { caller_fault: callers = [], ...others } = found;
  assert.deepEqual({ ...others }, classes);
  assert.equal(callers.length, 88);
  const saying = (message: string, param: string | null = null) => ({ message, code: '', type: '', param }) as never;
  for (const [status, error, expected] of [
    [404, saying('No such file', 'file_id'), 'caller_fault'],
    [404, saying('No such model', 'model'), 'model_unavailable'],
    [429, saying('You exceeded your current quota'), 'quota_exhausted'],
    [429, saying('Quota exceeded: 10 requests per minute'), 'rate_limited'],
    [429, saying('Insufficient credits'), 'quota_exhausted'],
    [429, saying('Too fast'), 'rate_limited'],
    [403, saying('You have no access to this model'), 'model_unavailable'],
    [403, saying('You have no access'), 'bad_credential'],
  ] as const)
    assert.equal(classOfError(status, error), expected, JSON.stringify([status, error]));
});
