import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure, QuotaExceeded } from '../../../kernel/failure.ts';
import { openAiResponses } from './index.ts';

const nowMs = 1_750_000_000_000;

function codeOf(failure: Failure): unknown {
  const { error } = openAiResponses.errorBody(failure, { requestId: 'req_1', nowMs }) as { error: { code: unknown } };
  return error.code;
}

const quota = (limit: string, waitMs: number | null): QuotaExceeded => ({
  kind: 'quota-exceeded',
  limit,
  window: null,
  used: 1,
  allowed: 1,
  freeAtMs: waitMs === null ? null : nowMs + waitMs,
  message: 'm',
});

test('a spent quota stops clients at once, a short wait does not', () => {
  for (const limit of ['5h', 'week', 'tokens:month', 'budget:month', 'tier:premium:5h']) {
    assert.equal(codeOf(quota(limit, 3_600_000)), 'insufficient_quota');
    assert.equal(codeOf(quota(limit, null)), 'insufficient_quota');
  }
  // They come with Retry-After, which a client would ignore if it learned that the quota is spent.
  for (const [limit, waitMs] of [
    ['minute', 30_000],
    ['concurrency', null],
    ['5h', 60_000],
  ] as const) {
    assert.equal(codeOf(quota(limit, waitMs)), 'rate_limit_exceeded');
  }
});

test('a prompt that is too long is told so by the word that Codex reads', () => {
  const refused: Failure = {
    kind: 'upstream-refused',
    status: 400,
    message: 'x',
    code: 'y',
    provider: 'p',
    param: null,
  };
  assert.equal(codeOf({ ...refused, tooLong: { sent: null, most: null } }), 'context_length_exceeded');
});

test('a provider’s own word passes, every code is a string', () => {
  const refused: Failure = { kind: 'upstream-refused', status: 400, message: 'x', provider: 'p', param: null };
  assert.equal(codeOf({ ...refused, code: 'invalid_image' }), 'invalid_image');
  assert.equal(codeOf(refused), 'invalid_request_error');
  assert.equal(codeOf({ kind: 'internal' }), 'server_error');
  assert.equal(codeOf({ kind: 'body-too-large', limitBytes: 1 }), 'request_too_large');
  assert.equal(codeOf({ kind: 'unsupported', message: 'x' }), 'unsupported_error');
});

test('a stream that never began fails with a beginning before, as the SDK demands', () => {
  const response = assertFailed(openAiResponses.errorFrame({ kind: 'internal' }, { requestId: 'req_1', nowMs }));
  assert.equal(response.id, 'resp_1');
});

function assertFailed(frames: string): Record<string, unknown> {
  const [first, second] = frames.split('\n\n').map((frame) => JSON.parse(frame.split('data: ')[1] ?? 'null'));
  assert.equal(first.type, 'response.created');
  assert.equal(second.type, 'response.failed');
  assert.deepEqual([first.sequence_number, second.sequence_number], [0, 1]);
  assert.equal(first.response.id, second.response.id);
  return second.response as Record<string, unknown>;
}

test('the field is told by its word here, whoever found the fault', () => {
  const paramOf = (param: string) => {
    const refused: Failure = { kind: 'upstream-refused', status: 400, message: 'x', provider: 'p', param };
    return (openAiResponses.errorBody(refused, { requestId: 'req_1', nowMs }) as { error: { param: unknown } }).error
      .param;
  };
  assert.equal(paramOf('messages[2].content'), 'input');
  assert.equal(paramOf('max_completion_tokens'), 'max_output_tokens');
  assert.equal(paramOf('response_format'), 'text.format');
  assert.equal(paramOf('tools[0].function.parameters'), 'tools[0].parameters');
  assert.equal(paramOf('input[3].call_id'), 'input[3].call_id');
});
