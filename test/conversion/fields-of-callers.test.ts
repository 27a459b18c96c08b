import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestFields as messagesFields } from '../../src/formats/dialects/anthropic-messages/request-fields.ts';
import type { CallerDialectId } from '../../src/formats/dialects/dialect.ts';
import type { FieldTable } from '../../src/formats/dialects/field-table.ts';
import { requestFields as geminiFields, generationFields } from '../../src/formats/dialects/gemini/request-fields.ts';
import { requestFields as chatFields } from '../../src/formats/dialects/openai-chat/request-fields.ts';
import { requestFields as responsesFields } from '../../src/formats/dialects/openai-responses/request-fields.ts';
import type { JsonObject, JsonValue } from '../../src/kernel/json.ts';
import { sent, targets } from './sent.ts';

/*
 * Each field of each caller's format, over each format of a provider: it is in what is sent, or `x-culvert-dropped` names
 * it, or the request is refused.
 */

type Table = FieldTable<never, never, never>;

const schema = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const chatTool = { type: 'function', function: { name: 'weather', parameters: schema } };
const tool = { type: 'function', name: 'weather', parameters: schema };
const openAi = {
  temperature: 0.25,
  top_p: 0.25,
  parallel_tool_calls: false,
  user: 'someone',
  metadata: { team: 'blue' },
  service_tier: 'flex',
  prompt_cache_key: 'a-key',
  prompt_cache_retention: '24h',
  prompt_cache_options: { ttl: '30m' },
  safety_identifier: 'someone',
} as const;

interface Caller {
  id: CallerDialectId;
  table: Table;
  body: JsonObject;
  /** Puts a field where it stands in a body. */
  put(body: JsonObject, name: string, value: JsonValue): JsonObject;
  samples: Readonly<Record<string, JsonValue>>;
  /** Fields beside a sample without which it says nothing. */
  beside?: Readonly<Record<string, JsonObject>>;
}

const top = (body: JsonObject, name: string, value: JsonValue): JsonObject => ({ ...body, [name]: value });

const callers: readonly Caller[] = [
  {
    id: 'openai-chat',
    table: chatFields,
    body: { model: 'alias', messages: [{ role: 'user', content: 'Hi' }] },
    put: top,
    samples: {
      ...openAi,
      store: true,
      max_tokens: 500,
      max_completion_tokens: 500,
      top_k: 7,
      frequency_penalty: 0.25,
      presence_penalty: 0.25,
      stop: 'one',
      n: 2,
      seed: 7,
      logprobs: true,
      top_logprobs: 3,
      logit_bias: { 1: 1 },
      tools: [chatTool],
      tool_choice: 'required',
      functions: [chatTool.function],
      function_call: { name: 'weather' },
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
      reasoning_effort: 'high',
      prediction: { type: 'content', content: 'Hello' },
      verbosity: 'low',
      modalities: ['text'],
      audio: { voice: 'alloy', format: 'wav' },
      web_search_options: {},
    },
    beside: {
      tool_choice: { tools: [chatTool] },
      function_call: { functions: [chatTool.function] },
      parallel_tool_calls: { tools: [chatTool] },
      top_logprobs: { logprobs: true },
    },
  },
  {
    id: 'openai-responses',
    table: responsesFields,
    body: { model: 'alias', input: 'Hi', store: false },
    put: top,
    samples: {
      ...openAi,
      max_output_tokens: 500,
      top_logprobs: 3,
      include: ['message.output_text.logprobs'],
      truncation: 'auto',
      text: { format: { type: 'json_schema', name: 'answer', schema } },
      reasoning: { effort: 'high' },
    },
    beside: { parallel_tool_calls: { tools: [tool] } },
  },
  {
    id: 'anthropic-messages',
    table: messagesFields,
    body: { model: 'alias', max_tokens: 1_000, messages: [{ role: 'user', content: 'Hi' }] },
    put: top,
    samples: {
      max_tokens: 500,
      temperature: 0.25,
      top_p: 0.25,
      top_k: 7,
      stop_sequences: ['one'],
      tools: [{ name: 'weather', input_schema: schema }],
      tool_choice: { type: 'any' },
      output_config: { format: { type: 'json_schema', schema } },
      output_format: { type: 'json_schema', schema },
      metadata: { user_id: 'someone' },
      fallbacks: [{ model: 'another' }],
      thread: { type: 'create' },
    },
    beside: { tool_choice: { tools: [{ name: 'weather', input_schema: schema }] } },
  },
  {
    id: 'gemini',
    table: generationFields,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    put: (body, name, value) => ({
      ...body,
      generationConfig: { ...(body.generationConfig as JsonObject), [name]: value },
    }),
    samples: {
      temperature: 0.25,
      topP: 0.25,
      topK: 7,
      maxOutputTokens: 500,
      candidateCount: 2,
      stopSequences: ['one'],
      seed: 7,
      presencePenalty: 0.25,
      frequencyPenalty: 0.25,
      responseMimeType: 'application/json',
      responseLogprobs: true,
      logprobs: 3,
      thinkingConfig: { thinkingBudget: 5_000 },
    },
  },
  {
    id: 'gemini',
    table: geminiFields,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    put: top,
    samples: { labels: { team: 'blue' }, cachedContent: 'cachedContents/1', safetySettings: [{}] },
  },
];

for (const caller of callers) {
  const { id, table, body, samples } = caller;
  const known = [...table].filter(([, [, place]]) => place !== 'read').map(([name]) => name);
  const what = table === generationFields ? `${id}, generationConfig` : id;

  test(`each field of a table has a sample: ${what}`, () => {
    const lacking = known.filter((name) => !(name in samples));
    assert.ok(lacking.length === 0, `Give ${lacking.join(', ')} a value in the samples of ${id} in this file.`);
    const gone = Object.keys(samples).filter((name) => !known.includes(name));
    assert.ok(gone.length === 0, `The samples of ${id} in this file have ${gone.join(', ')}, and its table does not.`);
  });

  for (const target of targets) {
    test(`each field of ${what} over ${target.dialect} is sent, listed or refused`, async () => {
      const forgotten: string[] = [];
      for (const name of known.filter((each) => each in samples)) {
        const plain = Object.entries(caller.beside?.[name] ?? {}).reduce(
          (made, [beside, value]) => caller.put(made, beside, value!),
          body,
        );
        const [without, having] = [
          await sent(id, plain, target),
          await sent(id, caller.put(plain, name, samples[name]!), target),
        ];
        if (without === null || having === null || having.bytes !== without.bytes) continue;
        if (!having.lost.some((field) => !without.lost.includes(field))) forgotten.push(name);
      }
      assert.deepEqual(forgotten, []);
    });
  }
}
