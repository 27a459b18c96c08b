import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../kernel/json.ts';
import { modelFacts } from './model-facts.ts';
import { applyQuirks, quirksOf } from './quirks.ts';
import { anthropic } from './services/anthropic.ts';
import { cerebras } from './services/cerebras.ts';
import { cohere } from './services/cohere.ts';
import { dashscope } from './services/dashscope.ts';
import { deepseek } from './services/deepseek.ts';
import { groq } from './services/groq.ts';
import { litellm } from './services/litellm.ts';
import { llamacpp } from './services/llamacpp.ts';
import { lmstudio } from './services/lmstudio.ts';
import { minimax } from './services/minimax.ts';
import { mistral } from './services/mistral.ts';
import { moonshot } from './services/moonshot.ts';
import { nvidia } from './services/nvidia.ts';
import { ollama } from './services/ollama.ts';
import { openai } from './services/openai.ts';
import { openrouter } from './services/openrouter.ts';
import { perplexity } from './services/perplexity.ts';
import { sglang } from './services/sglang.ts';
import { together } from './services/together.ts';
import { vllm } from './services/vllm.ts';
import { xai } from './services/xai.ts';

const messages = [{ role: 'user', content: 'hi' }];

test('a body that fits comes back as the same object, so that its bytes can be forwarded', () => {
  const body: JsonObject = {
    model: 'm',
    messages,
    temperature: 0.2,
    stream: true,
    stream_options: { include_usage: true },
    n: 2,
    seed: 1,
    response_format: { type: 'json_object' },
  };
  assert.equal(applyQuirks(body, openai.quirks).body, body);
  const plain: JsonObject = { model: 'm', messages, max_tokens: 5, temperature: 1, response_format: { type: 'text' } };
  for (const { quirks } of [groq, mistral, deepseek, lmstudio]) assert.equal(applyQuirks(plain, quirks).body, plain);
});

test('Groq: what it answers 400 to is left out and listed, a default is left out unlisted', () => {
  const body: JsonObject = { model: 'm', messages, logit_bias: { 5: 1 }, logprobs: false, top_logprobs: null };
  const before = structuredClone(body);
  const fitted = applyQuirks(body, groq.quirks);
  assert.deepEqual(fitted.body, { model: 'm', messages });
  assert.deepEqual(fitted.losses, [{ field: 'logit_bias', why: 'unsupported' }]);
  assert.deepEqual(body, before, 'the caller’s body is untouched: the next target needs it');
});

test('Mistral: other spellings are translated, stream_options goes without a loss', () => {
  const fitted = applyQuirks(
    { messages, seed: 7, max_completion_tokens: 9, user: 'u', stream_options: { include_usage: true } },
    mistral.quirks,
  );
  assert.deepEqual(fitted.body, { messages, random_seed: 7, max_tokens: 9 });
  assert.deepEqual(fitted.losses, [{ field: 'user', why: 'unsupported' }]);
});

test('Mistral: its two words for a service tier arrive, and others are left out and listed', () => {
  const fitted = (service_tier: string) => {
    const { body, losses } = applyQuirks({ messages, service_tier }, mistral.quirks);
    return [body.service_tier, losses.map(({ field }) => field)];
  };
  for (const word of ['auto', 'standard_only']) assert.deepEqual(fitted(word), [word, []]);
  assert.deepEqual(fitted('default'), ['standard_only', []]);
  assert.deepEqual(fitted('flex'), [undefined, ['service_tier']]);
});

test('what a provider does not have goes, wherever its file says so', () => {
  const fitted = applyQuirks({ messages, seed: 3, logprobs: true }, quirksOf(deepseek, 'deepseek-chat'));
  assert.deepEqual(fitted.body, { messages, logprobs: true });
  assert.deepEqual(fitted.losses, [{ field: 'seed', why: 'unsupported' }]);
  assert.equal(quirksOf(deepseek, 'deepseek-chat'), quirksOf(deepseek, 'deepseek-chat'), 'asked for every request');
});

test('a renamed field does not overwrite what stands there already', () => {
  assert.deepEqual(applyQuirks({ max_completion_tokens: 9, max_tokens: 4 }, mistral.quirks).body, { max_tokens: 4 });
});

test('a JSON schema over JSON mode alone is told in words and listed as narrowed', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const fitted = applyQuirks(
    { messages, response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
    quirksOf(deepseek, 'deepseek-chat'),
  );
  assert.deepEqual(fitted.body.response_format, { type: 'json_object' });
  assert.deepEqual(fitted.losses, [{ field: 'response_format', why: 'narrowed' }]);
  const [first, ...rest] = fitted.body.messages as JsonObject[];
  assert.match(String(first?.content), /JSON Schema.*"properties"/);
  assert.deepEqual(rest, messages);
  const inMessages = quirksOf(deepseek, 'deepseek-chat', 'anthropic-messages');
  assert.equal(inMessages, quirksOf(anthropic, 'deepseek-chat'), 'Messages have no such member: they pass unread');
});

test('LM Studio: JSON mode becomes a schema of any object', () => {
  const fitted = applyQuirks({ messages, response_format: { type: 'json_object' } }, quirksOf(lmstudio, 'm'));
  assert.equal((fitted.body.response_format as JsonObject).type, 'json_schema');
});

test('a choice of tools that a server refuses is a word, and these tools alone', () => {
  const tool = (name: string): JsonObject => ({ type: 'function', function: { name } });
  const choiceOf = (provider: typeof vllm, tool_choice: JsonObject | string) => {
    const { body, losses } = applyQuirks(
      { model: 'm', messages, tools: [tool('a'), tool('b')], tool_choice },
      provider.quirks,
    );
    assert.deepEqual(losses, []);
    return [body.tool_choice, body.tools];
  };
  const all = [tool('a'), tool('b')];
  const some = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [tool('b')] } };
  for (const provider of [lmstudio, llamacpp]) {
    // "Invalid tool_choice type: 'object'. Supported string values: none, auto, required" (lmstudio-bug-tracker#670)
    assert.deepEqual(choiceOf(provider, tool('b')), ['required', [tool('b')]]);
  }
  for (const provider of [vllm, sglang, groq]) assert.deepEqual(choiceOf(provider, tool('b')), [tool('b'), all]);
  // Mistral: 422. Others do not know the type, or ignore it.
  for (const provider of [lmstudio, llamacpp, vllm, sglang, groq, cerebras, mistral, deepseek, xai, together]) {
    assert.deepEqual(choiceOf(provider, some), ['auto', [tool('b')]]);
    assert.deepEqual(choiceOf(provider, 'any'), ['required', all]);
    assert.deepEqual(choiceOf(provider, 'none'), ['none', all]);
  }
  for (const provider of [openai, openrouter, litellm]) assert.deepEqual(choiceOf(provider, some), [some, all]);
});

test('Ollama ignores a choice of tools, so it gets those that may be called, and what is lost is named', () => {
  const tool = (name: string): JsonObject => ({ type: 'function', function: { name } });
  const all = [tool('a'), tool('b')];
  const fitted = (tool_choice: JsonObject | string) => {
    const { body, losses } = applyQuirks({ messages, tools: all, tool_choice }, quirksOf(ollama, 'qwen3'));
    assert.notEqual(body.tool_choice, 'none');
    return [body.tools, ...losses.map(({ field, why }) => `${field} ${why}`)];
  };
  const some = (mode: string) => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [tool('b')] } });
  assert.deepEqual(fitted('auto'), [all]);
  assert.deepEqual(fitted('none'), [undefined]);
  assert.deepEqual(fitted('required'), [all, 'tool_choice unsupported']);
  assert.deepEqual(fitted('any'), [all, 'tool_choice unsupported']);
  assert.deepEqual(fitted(tool('b')), [[tool('b')], 'tool_choice narrowed']);
  assert.deepEqual(fitted(some('auto')), [[tool('b')]]);
  assert.deepEqual(fitted(some('required')), [[tool('b')], 'tool_choice unsupported']);
});

test('marks for Anthropic’s and OpenAI’s caches go where a service refuses them, and stay where it may read them', () => {
  const cache_control = { type: 'ephemeral' };
  const bodyWith = (mark: JsonObject): JsonObject => ({
    model: 'm',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...mark }] },
      { role: 'user', content: 'hi', ...mark },
    ],
    tools: [
      { type: 'function', function: { name: 'a', ...mark } },
      { type: 'function', function: { name: 'b' }, ...mark },
    ],
  });
  const marked = bodyWith({ cache_control });
  for (const mark of [{ cache_control }, { prompt_cache_breakpoint: { mode: 'explicit' } }])
    for (const provider of [groq, mistral, cerebras, nvidia])
      assert.deepEqual(applyQuirks(bodyWith(mark), quirksOf(provider, 'mistral-large')), {
        body: bodyWith({}),
        losses: [{ field: Object.keys(mark)[0], why: 'unsupported' }],
      });
  for (const provider of [openrouter, dashscope, litellm])
    assert.equal(applyQuirks(marked, provider.quirks).body, marked);
});

test('OpenAI’s reasoning models: max_tokens is renamed, sampling goes; GPT-5.1 keeps its temperature', () => {
  const body: JsonObject = { messages, max_tokens: 10, temperature: 0.3, top_p: 1 };
  for (const model of ['o3', 'o4-mini-2025-04-16', 'gpt-5', 'gpt-5-mini', 'gpt-5-2025-08-07']) {
    const fitted = applyQuirks(body, quirksOf(openai, model));
    assert.deepEqual(fitted.body, { messages, max_completion_tokens: 10 }, model);
    assert.deepEqual(fitted.losses, [{ field: 'temperature', why: 'unsupported' }]);
  }
  assert.deepEqual(applyQuirks(body, quirksOf(openai, 'gpt-5.1')).body, {
    messages,
    temperature: 0.3,
    top_p: 1,
    max_completion_tokens: 10,
  });
  assert.equal(applyQuirks(body, quirksOf(openai, 'gpt-4o')).body, body);
  assert.equal(quirksOf(openai, 'o3').logprobs, false, 'routing must know');
  assert.deepEqual(quirksOf(xai, 'grok-4.3').omit, ['presence_penalty', 'frequency_penalty']);
  assert.equal(quirksOf(xai, 'grok-4.5-non-reasoning'), xai.quirks);
  assert.equal(quirksOf(groq, 'openai/o3').rename.max_tokens, undefined, 'other services translate on their own');
  assert.equal(quirksOf(groq, 'openai/o3', 'openai-responses'), groq.quirks, 'the word is a member of Responses');
});

test('xAI: an effort goes where a model refuses the word, and stays where it takes it', () => {
  const body: JsonObject = { messages, reasoning_effort: 'high' };
  const refusing =
    'grok-3 grok-4-0709 grok-4-fast-reasoning grok-4-1-fast-reasoning grok-4.20-0309-reasoning grok-code-fast-1';
  for (const model of refusing.split(' ')) {
    const lost = [{ field: 'reasoning_effort', why: 'unsupported' }];
    assert.deepEqual(applyQuirks(body, quirksOf(xai, model)), { body: { messages }, losses: lost }, model);
  }
  for (const model of ['grok-3-mini', 'grok-4', 'grok-4.3', 'grok-4.20-multi-agent-0309', 'grok-4.6'])
    assert.equal(applyQuirks(body, quirksOf(xai, model)).body, body, model);
});

test('an effort in a word that a model refuses is the nearest that it takes', () => {
  const effortAt = (provider: typeof groq, model: string, reasoning_effort: string) => {
    const { body, losses } = applyQuirks({ messages, reasoning_effort }, quirksOf(provider, model));
    return [body.reasoning_effort, losses.map(({ why }) => why)];
  };
  // "`reasoning_effort` must be one of `none` or `default`"
  assert.deepEqual(effortAt(groq, 'qwen/qwen3-32b', 'medium'), ['default', []]);
  assert.deepEqual(effortAt(groq, 'qwen/qwen3-32b', 'high'), ['default', ['narrowed']]);
  assert.deepEqual(effortAt(groq, 'qwen/qwen3-32b', 'none'), ['none', []]);
  assert.deepEqual(effortAt(groq, 'openai/gpt-oss-120b', 'xhigh'), ['high', ['narrowed']]);
  assert.deepEqual(effortAt(groq, 'openai/gpt-oss-120b', 'default'), ['medium', []]);
  assert.deepEqual(effortAt(mistral, 'mistral-small-latest', 'medium'), ['high', ['narrowed']]);
  assert.deepEqual(effortAt(moonshot, 'kimi-k3', 'medium'), ['high', ['narrowed']]);
  assert.deepEqual(effortAt(moonshot, 'kimi-k3', 'max'), ['max', []]);
  assert.deepEqual(effortAt(openai, 'o3', 'none'), ['low', ['narrowed']]);
  assert.deepEqual(effortAt(openai, 'gpt-5.1', 'minimal'), ['low', ['narrowed']]);
  assert.deepEqual(effortAt(openai, 'gpt-5.2-chat-latest', 'high'), ['medium', ['narrowed']]);
  assert.deepEqual(effortAt(openai, 'gpt-5-chat-latest', 'high'), [undefined, ['unsupported']]);
  const ofResponses = quirksOf(openai, 'gpt-5.1', 'openai-responses');
  assert.deepEqual(applyQuirks({ reasoning: { effort: 'xhigh', summary: 'auto' } }, ofResponses), {
    body: { reasoning: { effort: 'high', summary: 'auto' } },
    losses: [{ field: 'reasoning.effort', why: 'narrowed' }],
  });
  assert.deepEqual(effortAt(groq, 'llama-3.3-70b', 'high'), ['high', []], 'nobody knows its words');
});

test('Kimi from K2.5 on: sampling is fixed, so it goes', () => {
  const body: JsonObject = { messages, temperature: 0.2, top_p: 1 };
  for (const model of ['kimi-k2.5', 'kimi-k2.6', 'kimi-k2.7-code', 'kimi-k3']) {
    const lost = [{ field: 'temperature', why: 'unsupported' }];
    assert.deepEqual(applyQuirks(body, quirksOf(moonshot, model)), { body: { messages }, losses: lost }, model);
  }
  for (const model of ['kimi-k2-turbo-preview', 'moonshot-v1-8k'])
    assert.equal(applyQuirks(body, quirksOf(moonshot, model)).body, body, model);
});

test('Qwen3 by DashScope: open models do not think in answers that are not streamed', () => {
  const fittedFor = (model: string, more: JsonObject) => applyQuirks({ messages, ...more }, quirksOf(dashscope, model));
  for (const model of ['qwen3-32b', 'qwen3-235b-a22b', 'qwen3-1.7b', 'qwen3-0.6b']) {
    assert.deepEqual(fittedFor(model, {}), { body: { messages, enable_thinking: false }, losses: [] }, model);
    assert.deepEqual(fittedFor(model, { stream: true }).body, { messages, stream: true });
    assert.deepEqual(fittedFor(model, { enable_thinking: true }).body, { messages, enable_thinking: true });
    const lost = [{ field: 'reasoning_effort', why: 'unsupported' }];
    assert.deepEqual(fittedFor(model, { reasoning_effort: 'high' }).losses, lost);
  }
  for (const model of ['qwen-plus', 'qwen3-max', 'qwen3-235b-a22b-instruct-2507', 'qwen3-30b-a3b-thinking-2507'])
    assert.deepEqual(fittedFor(model, {}).body, { messages }, model);
});

test('MiniMax: a temperature is above 0, and at most 1', () => {
  const fittedFor = (temperature: number) => applyQuirks({ messages, temperature }, quirksOf(minimax, 'MiniMax-M2.7'));
  assert.deepEqual(fittedFor(0), { body: { messages, temperature: 0.01 }, losses: [] });
  const lost = [{ field: 'temperature', why: 'clamped' }];
  assert.deepEqual(fittedFor(1.5), { body: { messages, temperature: 1 }, losses: lost });
  assert.deepEqual(fittedFor(0.7).body, { messages, temperature: 0.7 });
});

test('model facts: known families by their bare name, everything else unknown', () => {
  assert.equal(modelFacts('gpt-4o-mini-2024-07-18')?.maxOutputTokens, 16_384);
  assert.equal(modelFacts('openai/gpt-6.1-sol')?.contextWindow, 1_050_000);
  assert.equal(modelFacts('anthropic/claude-sonnet-4-5-20250929')?.maxOutputTokens, 64_000);
  assert.equal(modelFacts('claude-opus-4-1-20250805')?.maxOutputTokens, 32_000);
  assert.equal(modelFacts('claude-opus-4-6')?.contextWindow, 1_000_000);
  for (const model of [
    ...['claude-sonnet-5', 'claude-sonnet-5-5', 'anthropic/claude-fable-5-1', 'claude-opus-5-5'],
    ...['claude-haiku-5-5', 'us.anthropic.claude-mythos-5-v1:0'],
  ])
    assert.equal(modelFacts(model)?.maxOutputTokens, 128_000, model);
  // Bedrock's, with the version of its form and a profile's region.
  assert.equal(modelFacts('global.anthropic.claude-opus-4-6-v1')?.maxOutputTokens, 128_000);
  assert.equal(modelFacts('us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0')?.maxOutputTokens, 64_000);
  assert.equal(modelFacts('o3-mini')?.vision, false);
  for (const model of ['gpt-4', 'gpt-4o-audio-preview', 'llama-3.3-70b', 'claude-next', '', '/'])
    assert.equal(modelFacts(model), null, model);
});

test('Perplexity: user and assistant speak by turns behind the system, and JSON mode is a schema', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
  const other = { ...call, id: 'call_2' };
  const fitted = applyQuirks(
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Here is a file.' },
        { role: 'user', content: [{ type: 'text', text: 'What is it?' }] },
        { role: 'assistant', content: 'A' },
        { role: 'assistant', content: 'list', tool_calls: [call] },
        { role: 'assistant', content: 'of', tool_calls: [other] },
        { role: 'assistant', content: 'things.', tool_calls: null },
        { role: 'system', content: 'The user is in Rome.' },
        { role: 'user', content: 'Of what?' },
      ],
      response_format: { type: 'json_object' },
    },
    quirksOf(perplexity, 'sonar'),
  );
  const file = [
    { type: 'text', text: 'Here is a file.' },
    { type: 'text', text: 'What is it?' },
  ];
  assert.deepEqual(fitted.body.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: file },
    { role: 'assistant', content: 'A\n\nlist\n\nof\n\nthings.', tool_calls: [call, other] },
    { role: 'user', content: 'The user is in Rome.\n\nOf what?' },
  ]);
  assert.deepEqual(fitted.body.response_format, {
    type: 'json_schema',
    json_schema: { name: 'object', schema: { type: 'object', additionalProperties: true } },
  });
  const plain: JsonObject = { messages };
  assert.equal(applyQuirks(plain, quirksOf(perplexity, 'sonar')).body, plain);
});

test('callers of Cohere’s own format get its log probabilities, which others cannot', () => {
  const { omit, logprobs } = quirksOf(cohere, 'command-a');
  assert.deepEqual([omit.includes('logprobs'), logprobs], [false, false]);
  assert.equal(quirksOf(groq, 'llama').omit.includes('logprobs'), true);
});
