import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway, testKey } from '../start-gateway.ts';

/*
 * Proofs of thoughts that another account, region or model made, as a fallback or a balanced pool sends them: the vendor refuses
 * the request, and would refuse each turn after it (litellm#18094, higress#3197, claude-code-hub#518).
 */

const hi = { role: 'user', content: 'x' };
const usage = { input_tokens: 3, output_tokens: 4 };
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'EqoBother==' };
const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] };
const input = [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }] },
  { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAother' },
  { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: 'ok' },
];
const thinking = { type: 'enabled', budget_tokens: 2_000 };
const edits = [{ type: 'clear_thinking_20251015', keep: 'all' }];
const turn = { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2lnb3RoZXI=' }] };
const answered = { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'ok' } } }] };

const cases = {
  Anthropic: {
    path: '/v1/messages',
    body: {
      ...{ model: 'claude', max_tokens: 9_000, thinking, context_management: { edits } },
      messages: [hi, { role: 'assistant', content: [thought, call] }, result],
    },
    refusal: {
      error: {
        type: 'invalid_request_error',
        message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
      },
    },
    second: {
      thinking: { type: 'disabled' },
      context_management: { edits: [] },
      messages: [hi, { role: 'assistant', content: [call] }, result],
    },
    lost: 'messages.thinking',
    answer: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'Yes.' }],
      stop_reason: 'end_turn',
      usage,
    },
  },
  OpenAI: {
    path: '/v1/responses',
    body: { model: 'gpt', store: false, input },
    refusal: {
      error: { message: 'The encrypted content gAAA...= could not be verified.', code: 'invalid_encrypted_content' },
    },
    second: { input: [input[0], { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }, input[3]] },
    lost: 'input.reasoning',
    answer: {
      ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm' },
      output: [
        {
          type: 'message',
          id: 'm1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Yes.', annotations: [] }],
        },
      ],
      usage: { ...usage, total_tokens: 7 },
    },
  },
  Google: {
    path: '/v1beta/models/gemini:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'x' }] }, turn, answered] },
    refusal: { error: { code: 400, message: 'Corrupted thought signature.', status: 'INVALID_ARGUMENT' } },
    second: {
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        { role: 'model', parts: [{ ...turn.parts[0], thoughtSignature: 'skip_thought_signature_validator' }] },
        answered,
      ],
    },
    lost: 'contents.thought',
    answer: { candidates: [{ content: { role: 'model', parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }] },
  },
};

/** A gateway whose vendor refuses what `refuses` says, and the bodies that it was sent. */
async function open(t: TestContext, refusal: object, answer: object, refuses: (text: string) => boolean) {
  const sent: JsonObject[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    request.on('end', () => {
      if (request.method === 'POST') sent.push(JSON.parse(text) as JsonObject);
      response.statusCode = refuses(text) ? 400 : 200;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(refuses(text) ? refusal : answer));
    });
  });
  const url = await listening(t, server);
  const at = { base_url: `${url}/v1`, api_key: 'a' };
  const gateway = await startGateway(t, {
    providers: {
      claude: { type: 'anthropic', ...at },
      openai: { type: 'openai', ...at, dialects: ['openai-responses'] },
      google: { type: 'gemini', ...at, base_url: url },
    },
    models: {
      claude: { targets: ['claude/claude-sonnet-4-5'] },
      gpt: { targets: ['openai/gpt-5.5'] },
      gemini: { targets: ['google/gemini-3-pro'] },
    },
  });
  return { gateway, sent };
}

for (const [vendor, { path, body, refusal, second, lost, answer }] of Object.entries(cases)) {
  test(`thoughts that ${vendor} refuses are left out, and the conversation goes on`, async (t) => {
    const { gateway, sent } = await open(t, refusal, answer, (text) => /other|c2lnb3RoZXI=/.test(text));
    const response = await gateway.fetch(path, { json: body });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.match(text, /Yes\./);
    assert.equal(response.headers.get('x-culvert-dropped'), lost);
    assert.equal(sent.length, 2);
    for (const [name, value] of Object.entries(second)) assert.deepEqual(sent[1]![name], value, name);
  });

  test(`what ${vendor} refuses without the thoughts, or for another reason, is refused once`, async (t) => {
    const { gateway, sent } = await open(t, refusal, answer, (text) => text !== '');
    assert.equal((await gateway.fetch(path, { json: body })).status, 400);
    assert.equal(sent.length, 2);
    const others = await open(
      t,
      { error: { message: 'That is odd.', type: 'x', code: 400 } },
      answer,
      (text) => text !== '',
    );
    const response = await others.gateway.fetch(path, { json: body, headers: { authorization: `Bearer ${testKey}` } });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /That is odd\./);
    assert.equal(others.sent.length, 1);
  });
}
