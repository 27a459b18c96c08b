import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classOfAnthropicError, promptTooLong, readError } from './errors.ts';

const body = (type: string, message: string) => ({ type: 'error', error: { type, message }, request_id: 'req_1' });

const cases: [status: number, type: string, message: string, expected: string][] = [
  [529, 'overloaded_error', 'Overloaded', 'transient'],
  [500, 'api_error', 'Internal server error', 'transient'],
  [504, 'timeout_error', 'Timed out', 'transient'],
  [429, 'rate_limit_error', 'This request would exceed your rate limit', 'rate_limited'],
  [401, 'authentication_error', 'invalid x-api-key', 'bad_credential'],
  [403, 'permission_error', 'Your API key does not have permission', 'bad_credential'],
  [403, 'permission_error', 'Your organization has no access to model claude-opus-5', 'model_unavailable'],
  [403, 'permission_error', 'Not available in your country', 'region_blocked'],
  [404, 'not_found_error', 'model: claude-nothing', 'model_unavailable'],
  [404, 'not_found_error', 'Not Found', 'model_unavailable'],
  [404, 'not_found_error', 'File not found: file_1', 'caller_fault'],
  [400, 'invalid_request_error', 'messages.0.content: Field required', 'caller_fault'],
  [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum', 'caller_fault'],
  [400, 'invalid_request_error', 'Your credit balance is too low to access the API', 'quota_exhausted'],
  [400, 'invalid_request_error', 'You have reached your specified API usage limits.', 'quota_exhausted'],
  [400, 'invalid_request_error', 'This organization has been disabled.', 'bad_credential'],
  [402, 'billing_error', 'Check your payment details', 'quota_exhausted'],
  [410, 'invalid_request_error', 'gone', 'model_unavailable'],
  [413, 'request_too_large', 'Request exceeds the maximum size', 'too_long'],
  [409, 'conflict_error', 'modified concurrently', 'caller_fault'],
  [451, '', '', 'region_blocked'],
  [302, '', '', 'transient'],
  [408, '', '', 'transient'],
  [200, 'overloaded_error', 'Overloaded', 'transient'],
  [200, 'something_new', 'What?', 'malformed'],
  [500, 'constructor', 'a name that every object has', 'transient'],
];

for (const [status, type, message, expected] of cases) {
  test(`${status} ${type || 'without a type'} "${message}" is ${expected}`, () => {
    assert.equal(classOfAnthropicError(status, readError(body(type, message))), expected);
  });
}

test('a status alone decides when the body could not be read', () => {
  assert.equal(classOfAnthropicError(503, null), 'transient');
  assert.equal(classOfAnthropicError(429, null), 'rate_limited');
});

test('an enforced spend limit, which is a 429 by status, is spent quota', () => {
  const error = { type: 'rate_limit_error', message: 'x', details: { error_code: 'enforced_spend_limit_reached' } };
  assert.equal(classOfAnthropicError(429, readError({ type: 'error', error })), 'quota_exhausted');
});

test('the blamed field is told in brackets', () => {
  const error = readError(body('invalid_request_error', 'tools.0.custom.input_schema.type: Field required'));
  assert.equal(error?.param, 'tools[0].custom.input_schema.type');
  assert.equal(readError(body('invalid_request_error', 'Something: else'))?.param, null);
});

test('what is no error is none; a bare string is', () => {
  for (const value of [null, 'x', 1, [], {}, { type: 'message', content: [] }]) assert.equal(readError(value), null);
  assert.equal(readError({ error: 'no such route' })?.message, 'no such route');
  assert.notEqual(readError({ type: 'error' }), null);
});

const failure = { kind: 'upstream-refused', status: 400, message: 'too big', provider: 'up', param: null } as const;

test('too long is worded as Claude Code reads it, with the numbers where the provider told them', () => {
  const worded = (tooLong: { sent: number | null; most: number | null }) =>
    promptTooLong({ ...failure, tooLong }, 'words');
  assert.equal(worded({ sent: 130_001, most: 128_000 }), 'prompt is too long: 130001 tokens > 128000 maximum');
  assert.equal(worded({ sent: null, most: null }), 'prompt is too long: words');
  assert.equal(promptTooLong(failure, 'words'), null, 'other refusals keep their words');
  assert.equal(promptTooLong({ kind: 'overloaded', message: 'prompt is too long' }, 'prompt is too long'), null);
});
