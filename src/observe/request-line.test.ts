import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { timestamp } from './log.ts';
import { type LoggedRequest, requestLog } from './request-line.ts';

const request: LoggedRequest = {
  requestId: 'req_1',
  account: 'dev',
  keyId: 'sk-cv-declared:dev/laptop',
  endpoint: 'chat',
  alias: 'a "b"\n',
  target: 'openai/gpt-x',
  status: 200,
  class: 'ok',
  stream: false,
  ms: 12,
  firstTokenMs: 1.5,
  inputTokens: 40,
  outputTokens: 400,
  usageSource: 'upstream',
  user: null,
};

test('the line of a request is the one that pino would write, and none below its level', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-02T03:04:05.678Z') });
  const lines: string[] = [];
  const log = pino({ base: null, timestamp }, { write: (line) => void lines.push(line) });
  const write = requestLog(log);
  const changes: Partial<LoggedRequest>[] = [
    {},
    { requestId: 'req_2', ms: 13, stream: true },
    { user: 'x"\u2028 ü' },
    // Who asks differs in one thing at a time.
    { account: 'other' },
    { keyId: 'k' },
    { endpoint: 'responses' },
    { alias: 'smart' },
    { target: null, status: 502, class: 'upstreams-failed', firstTokenMs: null },
  ];
  for (const change of changes) {
    const one = { ...request, ...change };
    const { requestId, account, keyId, endpoint, alias, target, status, stream, ms, firstTokenMs } = one;
    const { inputTokens, outputTokens, usageSource, user } = one;
    const who = { requestId, account, keyId, endpoint, model: alias, target };
    const how = {
      status,
      class: one.class,
      attempts: 2,
      stream,
      ms,
      firstTokenMs,
      inputTokens,
      outputTokens,
      usageSource,
    };
    write(one, 2);
    log.info({ ...who, ...how, user: user ?? undefined }, 'request');
    assert.equal(lines[0], lines[1]);
    lines.length = 0;
  }
  log.level = 'warn';
  write(request, 1);
  assert.equal(lines.length, 0);
});
