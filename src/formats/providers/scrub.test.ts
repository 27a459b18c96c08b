import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scrub, scrubbedCharsMax, scrubbedWord, withoutKnown } from './scrub.ts';
import { scrubMembers } from './scrub-members.ts';

const nothing = { secrets: [], hosts: [] };

/** Each a message and the part of it that must not come through. */
const canaries: readonly (readonly [message: string, secret: string])[] = [
  ['Incorrect API key provided: sk-proj-Ab12Cd34Ef56Gh78Ij90.', 'Ab12Cd34'],
  ['Incorrect API key provided: sk-abc***********************wxyz.', 'wxyz'],
  ['invalid x-api-key sk-ant-api03-canary_canary-canary', 'canary'],
  ['API key not valid: AIzaSyA-canary0123456789abcdefghijk', 'canary'],
  ['key gsk_canaryCANARY0123456789 is revoked', 'canary'],
  ['bad key xai-canary0123456789', 'canary'],
  ['nvapi-canary_0123456789-x was not found', 'canary'],
  ['token hf_canaryCanaryCanary expired', 'canary'],
  ['headers: {"authorization":"Bearer canary.token-value"}', 'canary'],
  ['Authorization: Basic Y2FuYXJ5OmNhbmFyeQ==', 'Y2FuYXJ5'],
  ['request was {"api_key": "canary-secret"}', 'canary'],
  ['GET /?api-key=canarysecret&x=1', 'canary'],
  ['x-api-key: 0f8fad5bd9cb469fa165', '0f8fad5b'],
  ['AWS said AKIACANARY1234567890 is wrong', 'CANARY'],
  ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl', 'eyJ'],
  ['-----BEGIN PRIVATE KEY-----\nMIIcanary\n-----END PRIVATE KEY-----', 'canary'],
  ['unknown key 9fQ2xZ71LmB4sT0vKc83RdYw', '9fQ2xZ71'],
  ['unknown key d41d8cd98f00b204e9800998ecf8427e', 'd41d8cd9'],
  ['cookie: session=canarycanary', 'canary'],
  ['ghp_canaryCANARY0123456789canary is not allowed', 'canary'],
];

for (const [message, secret] of canaries) {
  test(`S19 a credential does not come through: ${message.slice(0, 40).replaceAll('\n', ' ')}`, () => {
    const scrubbed = scrub(message, nothing);
    assert.equal(scrubbed.includes(secret), false, scrubbed);
    assert.match(scrubbed, /\[redacted\]/);
  });
}

test('S19 what is configured never comes through, whatever it looks like and whatever stands beside it', () => {
  const known = { secrets: ['plain-words-as-secret'], hosts: ['gpu-box:8000', 'gpu-box'] };
  const scrubbed = scrub('call to gpu-box failed: xplain-words-as-secretx (gpu-box:8000)', known);
  assert.equal(scrubbed, 'call to [address] failed: x[redacted]x ([address])');
});

test('a host that is named by a plain word goes where it is an address, and the word stays elsewhere', () => {
  for (const host of ['model', 'vllm']) {
    const known = { secrets: [], hosts: [`${host}:8000`, host] };
    for (const message of [
      'The model `llama` does not exist, see vllm serve --help',
      "Invalid value for parameter 'model'",
      '/model/x is no path of vllm',
    ]) {
      assert.equal(scrub(message, known), message);
      assert.equal(withoutKnown(message, known), message);
    }
    assert.equal(scrubbedWord(host, known), host);
    for (const address of [`http://${host}/v1`, `${host}:8000`, `${host}:80`, `ENOTFOUND ${host}`, `host "${host}"`]) {
      assert.doesNotMatch(scrub(`cannot reach ${address} now`, known), new RegExp(host));
      assert.doesNotMatch(withoutKnown(`cannot reach ${address} now`, known), new RegExp(host));
    }
  }
});

const addresses = [
  ['connect ECONNREFUSED 10.0.3.7:8080', '10.0'],
  ['dial tcp [fd00::12]:443: i/o timeout', 'fd00'],
  ['see https://user:pw@internal.example/v1?key=1 for more', 'internal'],
  ['upstream vllm-7.ml.svc.cluster.local:8000 reset', 'vllm-7'],
  ['upstream inference.corp.internal gave up', 'corp'],
  ['localhost:11434 refused', '11434'],
  ['open /home/ops/models/secret.gguf: no such file', 'ops'],
  ['open C:\\Users\\ops\\secret.txt failed', 'ops'],
] as const;

for (const [message, part] of addresses) {
  test(`S19 an address does not come through: ${message}`, () => {
    assert.equal(scrub(message, nothing).includes(part), false, scrub(message, nothing));
  });
}

test('S19 stack traces go, the message stays', () => {
  const node =
    'TypeError: no shards left\n    at Pool.pick (/srv/app/pool.js:12:7)\n    at async run (node:internal/x:1:2)';
  assert.equal(scrub(node, nothing), 'TypeError: no shards left');
  const python =
    'Traceback (most recent call last):\n  File "/opt/x.py", line 3, in go\n    raise Out("canary")\nOutOfMemory: no room';
  assert.equal(scrub(python, nothing), 'OutOfMemory: no room');
  assert.equal(scrub('boom at Pool.pick (/srv/app/pool.js:12:7)', nothing), 'boom');
});

test('words that a caller needs stay as they are', () => {
  for (const message of [
    'The model `deepseek-ai/DeepSeek-R1-Distill-Llama-70B-free` does not exist',
    'accounts/fireworks/models/llama-v3p1-405b-instruct not found',
    'claude-3-5-sonnet-20241022: max_tokens: 9000 > 8192',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    'prompt is too long: 205000 tokens > 200000 maximum',
    "messages.0.content: Field required; unexpected token: '}'",
    "Invalid value at 'tools[0].function_declarations[12].parameters' (messages[10], logits[0:10])",
    'Rate limit reached for gpt-4o in organization on tokens per min (TPM): Limit 30000, Used 29000.',
  ]) {
    assert.equal(scrub(message, nothing), message);
  }
});

test('one line, without control characters, at most 500 characters', () => {
  assert.equal(scrub('a\r\nb\u001b[31mc\u0000d\u2028e', nothing), 'a b [31mc d e');
  const long = scrub('word '.repeat(10_000), nothing);
  assert.equal(long.length <= scrubbedCharsMax, true);
  assert.match(long, /…$/);
});

test('a secret across the bound of what is looked at does not survive in half', () => {
  for (let pad = 3_960; pad < 4_001; pad++) {
    const text = `${'https://h.example/x'.padEnd(pad - 1, 'y')} sk-canaryCANARY0123456789canary`;
    assert.equal(scrub(text, nothing).includes('canary'), false);
  }
});

/** Microseconds of CPU, however busy the machine is. */
const slowMicroseconds = 200_000;

test('any text: bounded in length and time, and scrubbing twice changes nothing dangerous', () => {
  const piece = fc.constantFrom(
    'a',
    '-',
    '.',
    ':',
    '/',
    '1',
    ' ',
    '\n',
    'sk-',
    'at ',
    '(',
    'Bearer ',
    '-----BEGIN A-----',
    '[',
    'http://',
    '"',
    '=',
    'key',
    'x.',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 3_000 }), (pieces) => {
      const before = process.threadCpuUsage();
      const text = scrub(pieces.join(''), nothing);
      assert.equal(text.length <= scrubbedCharsMax, true);
      assert.ok(process.threadCpuUsage(before).user < slowMicroseconds, 'too slow');
    }),
    { numRuns: 150 },
  );
  for (const bad of [
    'a-'.repeat(4_000),
    '1.'.repeat(4_000),
    ' at '.repeat(2_000),
    'a.'.repeat(4_000),
    'key:'.repeat(2_000),
    '-----BEGIN A-----'.repeat(300),
    `\n${' '.repeat(3_900)}x`,
  ]) {
    const before = process.threadCpuUsage();
    scrub(bad, nothing);
    assert.ok(process.threadCpuUsage(before).user < slowMicroseconds, bad.slice(0, 20));
  }
});

test('what a model said is cut between characters', () => {
  const { failed_generation: text } = scrubMembers(
    { failed_generation: `x${'😀'.repeat(20_000)}` },
    { secrets: [], hosts: [] },
  );
  assert.equal(String(text).length, 32_768);
  assert.ok(String(text).isWellFormed());
});
