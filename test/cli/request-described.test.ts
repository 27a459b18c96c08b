import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describedRequest } from '../../src/cli/commands/request-described.ts';

const attempt = { provider: 'p', bytes: 0, usage: null, usageSource: 'none', costUsd: null };
const request = {
  id: 'req_1',
  client_request_id: 'mine-7',
  account: 'dev',
  key: 'abcdefabcdef',
  created_at: '2026-11-20T10:00:00.123Z',
  endpoint: 'chat',
  model: 'smart',
  target: 'oai/gpt-x',
  status: 200,
  class: 'ok',
  stream: true,
  aborted: false,
  ms: 1_200,
  first_token_ms: 300,
  usage: { input_tokens: 10, output_tokens: 20, cached_input_tokens: 4, reasoning_tokens: 0, source: 'upstream' },
  units: 2,
  cost_usd: 0.0125,
  route: {
    verdicts: [
      { target: 'claude/x', verdict: 'cooling until 10:05' },
      { target: 'oai/gpt-x', verdict: 'picked' },
    ],
    attempts: [
      {
        ...attempt,
        target: 'claude/x',
        credential: 'claude#0',
        class: 'transient',
        status: 503,
        startMs: 2,
        ms: 200,
        firstTokenMs: null,
        message: 'busy\u001b[31m',
      },
      {
        ...attempt,
        target: 'oai/gpt-x',
        credential: 'oai#1',
        class: 'ok',
        status: 200,
        startMs: 210,
        ms: 1_000,
        firstTokenMs: 90,
        message: null,
      },
    ],
    losses: [{ field: 'seed', why: 'unsupported' }],
    passThrough: false,
  },
};

test('a request is told with its candidates, attempts, losses and cost, and nothing of it steers the terminal', () => {
  assert.deepEqual(describedRequest(request).split('\n'), [
    'request   req_1 (id of the caller: mine-7)',
    'time      2026-11-20 10:00:00',
    'caller    dev, key abcdefabcdef',
    'asked     chat, model smart, as a stream',
    'answered  200 ok by oai/gpt-x',
    'took      1200 ms, first token after 300 ms',
    'tokens    10 in (4 cached), 20 out; source: upstream',
    'cost      2 units, $0.0125',
    'sent      converted',
    '',
    'candidate  verdict',
    'claude/x   cooling until 10:05',
    'oai/gpt-x  picked',
    '',
    'attempt  target     credential  class      status  start  ms    first token  bytes  USD  message',
    '1        claude/x   claude#0    transient  503     2      200                0           busy [31m',
    '2        oai/gpt-x  oai#1       ok         200     210    1000  90           0',
    '',
    'left out  because',
    'seed      unsupported',
  ]);
});

test('a request that reached no upstream says so, and that its caller left', () => {
  const route = { ...request.route, attempts: [], losses: [] };
  const told = describedRequest({ ...request, target: null, status: 499, class: 'cancelled', aborted: true, route });
  assert.match(told, /^answered {2}499 cancelled; the caller left$/m);
  assert.match(told, /Nothing was sent to an upstream\.$/);
});
