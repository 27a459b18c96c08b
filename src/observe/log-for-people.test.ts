import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otherLine, requestLine } from './log-for-people.ts';

const request = {
  level: 'info',
  time: '2026-01-02T03:04:05.678Z',
  requestId: 'req_1',
  account: 'dev',
  keyId: 'k',
  endpoint: 'chat',
  model: 'smart',
  target: 'openai/gpt-5.1',
  status: 200,
  class: 'ok',
  ms: 43,
  inputTokens: 8,
  outputTokens: 46,
  msg: 'request',
};

test('on a terminal a request is one line of what somebody there wants to know', () => {
  assert.equal(requestLine(request), '200 chat smart by openai/gpt-5.1, 43 ms, 8 + 46 tokens, req_1');
  const failed = { ...request, status: 502, class: 'upstreams-failed', target: null, outputTokens: 0 };
  assert.equal(requestLine(failed), '502 upstreams-failed chat smart, 43 ms, 8 + 0 tokens, req_1');
});

test('any other line is its message and its facts, on one line too', () => {
  assert.equal(otherLine({ level: 'info', time: 't', msg: 'SIGINT: finishing' }), 'SIGINT: finishing');
  const refused = { level: 'info', time: 't', status: 404, message: 'There is\nno', msg: 'refused' };
  assert.equal(otherLine(refused), 'refused {"status":404,"message":"There is\\nno"}');
});
