import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/** Where `npm run setup:test-tools` puts it; one that the machine has by itself will do as well. */
const env = { ...process.env, PYTHONPATH: fileURLToPath(new URL('../../.test-tools/python', import.meta.url)) };
const hasSdk = spawnSync('python3', ['-c', 'import openai'], { env }).status === 0;

const script = `
import json, sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
messages = [{"role": "user", "content": "Hello there"}]
whole = client.chat.completions.create(model="chat", messages=messages).choices[0].message.content
parts = [c.choices[0].delta.content or "" for c in client.chat.completions.create(model="chat", messages=messages, stream=True)]
try:
    client.chat.completions.create(model="none", messages=messages)
    refused = None
except openai.NotFoundError as error:
    refused = error.status_code
print(json.dumps({"whole": whole, "stream": "".join(parts), "refused": refused, "models": [m.id for m in client.models.list()]}))
`;

test('openai for Python: whole, stream, models, refusal', {
  skip: hasSdk ? false : 'openai for Python is not installed (npm run setup:test-tools)',
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, overUpstreams(upstream.url));
  const { stdout } = await promisify(execFile)('python3', ['-c', script, `${gateway.url}/v1`, gateway.key], { env });
  const answer = 'Mock answer to: Hello there';
  const seen = JSON.parse(stdout) as { whole: string; stream: string; refused: number; models: string[] };
  assert.deepEqual(
    { ...seen, models: seen.models.includes('chat') },
    { whole: answer, stream: answer, refused: 404, models: true },
  );
});
