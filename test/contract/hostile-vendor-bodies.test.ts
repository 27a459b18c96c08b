import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from './served.ts';

/* Bodies that are no calls, at the paths of AWS's SDKs and of the AI SDK: each is a 400 of that format, and costs nothing. */

const { gateway } = await serve({ models: { chat: { targets: ['up1/mock/ok'] } } });

const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
const user = (content: string) => `{"role":"user","content":${content}}`;
const ofConverse = [
  '',
  'no JSON',
  '[]',
  'null',
  '{}',
  '{"messages":5}',
  '{"messages":[]}',
  '{"messages":[null]}',
  '{"messages":[{"role":"nobody","content":[]}]}',
  `{"messages":[${user('"a text"')}]}`,
  `{"messages":[${user('[{"text":5}]')}]}`,
  `{"messages":[${user('[{"toolResult":{"toolUseId":"a","content":[{"toolResult":{}}]}}]')}]}`,
  `{"messages":[${user('[{"image":{"format":"png","source":{"bytes":[1]}}}]')}]}`,
  `{"messages":[${user(deep)}]}`,
  `{"messages":[${user('[{"text":"a"}]')}],"messages":[]}`,
  `{"messages":[${user('[{"text":"a"}]')}],"toolConfig":{"tools":[{"toolSpec":{"name":""}}]}}`,
  `{"messages":[${user('[{"text":"a"}]')}],"inferenceConfig":{"maxTokens":1e999}}`,
];
const ofAiSdk = [
  '{}',
  '{"prompt":"a text"}',
  '{"prompt":[{"role":"user","content":[{"type":"file","mediaType":"image/png","data":5}]}]}',
  '{"prompt":[{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","output":{"type":"magic"}}]}]}',
  `{"prompt":[${user(deep)}]}`,
  `{"prompt":[${user('"a"')}],"tools":[5]}`,
];

async function refused(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await gateway.fetch(path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
  assert.equal(answer.status, 400, `${path} ${body.slice(0, 80)}`);
  assert.equal(answer.headers.get('x-culvert-attempts'), null);
  return answer;
}

for (const operation of ['converse', 'converse-stream', 'invoke', 'invoke-with-response-stream']) {
  test(`${operation} refuses what is no call, as AWS does`, async () => {
    const bodies = operation.startsWith('converse')
      ? ofConverse
      : ['', '[]', '{}', '{"messages":5}', '{"inputText":5}'];
    for (const body of bodies) {
      const answer = await refused(`/model/chat/${operation}`, body);
      assert.equal(answer.headers.get('x-amzn-errortype'), 'ValidationException', body.slice(0, 80));
      const { message } = (await answer.json()) as { message: string };
      assert.ok(message.length > 0 && !message.includes('    at '));
    }
  });
}

test("calls that are none are refused as Vercel's gateway refuses them", async () => {
  for (const body of ofAiSdk) {
    const answer = await refused('/v4/ai/language-model', body, { 'ai-language-model-id': 'chat' });
    const { error } = (await answer.json()) as { error: { type: string; message: string } };
    assert.equal(error.type, 'invalid_request_error', body.slice(0, 80));
  }
});
