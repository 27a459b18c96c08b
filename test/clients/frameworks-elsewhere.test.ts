import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatAnthropic } from '@langchain/anthropic';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, type LanguageModel, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * The AI SDK's and LangChain's clients of each format over providers of every format: a tool called, answered, and the
 * answer after it. Providers want the thought behind the call back, with their proof over it.
 */

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const upstream = await startUpstream();
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const targets = {
  chat: 'chat/mock/ok',
  responses: 'responses/mock/ok',
  claude: 'claude/claude-sonnet-4-5',
  google: 'google/gemini-3-pro',
};
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      chat: { type: 'openai', ...at, dialects: ['openai-chat'] },
      responses: { type: 'openai', ...at, dialects: ['openai-responses'] },
      claude: { type: 'anthropic', ...at },
      google: { type: 'gemini', ...at, base_url: upstream.url },
    },
    models: Object.fromEntries(Object.entries(targets).map(([alias, target]) => [alias, { targets: [target] }])),
  },
);
const baseURL = `${gateway.url}/v1`;
const openai = createOpenAI({ baseURL, apiKey: testKey });
const compatible = createOpenAICompatible({ name: 'culvert', baseURL, apiKey: testKey, includeUsage: true });

const aiSdk: Record<string, (model: string) => LanguageModel> = {
  '@ai-sdk/openai': (model) => openai(model),
  '@ai-sdk/openai .chat()': (model) => openai.chat(model),
  '@ai-sdk/anthropic': createAnthropic({ baseURL, apiKey: testKey }),
  '@ai-sdk/openai-compatible': (model) => compatible(model),
};

// It sends its own `reasoning` only to models whose names it knows.
const inChat = { modelKwargs: { reasoning_effort: 'low' } };
const inResponses = {
  useResponsesApi: true,
  zdrEnabled: true,
  modelKwargs: { reasoning: { effort: 'low', summary: 'auto' } },
};
const own = { apiKey: testKey, maxRetries: 0 };
const thinking = { type: 'enabled', budget_tokens: 1_024 } as const;
const langchain: Record<string, (model: string) => BaseChatModel> = {
  '@langchain/openai': (model) => new ChatOpenAI({ ...own, ...inChat, model, configuration: { baseURL } }),
  '@langchain/openai with Responses': (model) =>
    new ChatOpenAI({ ...own, ...inResponses, model, configuration: { baseURL } }),
  '@langchain/anthropic': (model) =>
    new ChatAnthropic({ ...own, model, anthropicApiUrl: gateway.url, maxTokens: 4_000, thinking }),
};

const question = 'Please call get_weather and call get_time';
const answer = `Mock answer to: ${question}`;
const names = ['get_weather', 'get_time'];
/** How the last request shows the thought behind its calls. */
const thoughtIn: Record<string, string> = {
  chat: '"reasoning_content":"The user wants',
  responses: '"type":"reasoning"',
  claude: '"signature":"c2ltdWxhdGVk',
  google: '"thoughtSignature":"c2ltdWxhdGVk',
};
/** Clients that send no thoughts of these providers back, whatever they were told of them. */
const forgotten: Record<string, readonly string[]> = {
  '@ai-sdk/openai .chat()': Object.keys(targets),
  // Text, and Google's proof; chat completions have no place for others.
  '@ai-sdk/openai-compatible': ['responses', 'claude'],
  '@langchain/openai': Object.keys(targets),
};
function assertThoughtCameBack(client: string, model: string): void {
  const last = JSON.stringify(upstream.requests().at(-1)!.body);
  assert.equal(last.includes(thoughtIn[model]!), !forgotten[client]?.includes(model), last);
}

const inputSchema = z.object({ city: z.string() });

for (const model of Object.keys(targets)) {
  for (const [name, modelOf] of Object.entries(aiSdk)) {
    for (const form of ['generateText', 'streamText'] as const) {
      test(`${name}: ${form} runs two tools at once and goes on (${model} upstream)`, async () => {
        const execute = async ({ city }: z.infer<typeof inputSchema>) => `fine in ${city}`;
        const order = {
          model: modelOf(model),
          prompt: question,
          tools: Object.fromEntries(names.map((one) => [one, tool({ inputSchema, execute })])),
          stopWhen: stepCountIs(3),
          maxRetries: 0,
          maxOutputTokens: 4_000,
          providerOptions: {
            // Without `store: false` it only refers to earlier items, which only a provider of its format keeps.
            openai: { store: false, forceReasoning: true, reasoningEffort: 'low', reasoningSummary: 'auto' },
            culvert: { reasoningEffort: 'low' },
            anthropic: { thinking: { type: 'enabled' as const, budgetTokens: 1_024 } },
          },
        };
        const result = form === 'generateText' ? await generateText(order) : streamText(order);
        const steps = await result.steps;
        assert.deepEqual(
          steps.map(({ finishReason, toolResults }) => [finishReason, toolResults.map(({ toolName }) => toolName)]),
          [
            ['tool-calls', names],
            ['stop', []],
          ],
        );
        assert.ok(steps[0]!.toolResults.every(({ output }) => /^fine in /.test(String(output))));
        assert.equal(await result.text, answer);
        assertThoughtCameBack(name, model);
        const usage = await result.totalUsage;
        assert.ok(usage.inputTokens! > 0 && usage.outputTokens! > 0);
      });
    }
  }

  for (const [name, modelOf] of Object.entries(langchain)) {
    for (const form of ['invoke', 'stream'] as const) {
      test(`${name}: ${form} with two tools at once and their results (${model} upstream)`, async () => {
        const tools = names.map((one) => langchainTool(async () => 'fine', { name: one, schema: inputSchema }));
        const bound = modelOf(model).bindTools!(tools);
        const ask = async (messages: (HumanMessage | AIMessageChunk | ToolMessage)[]): Promise<AIMessageChunk> => {
          if (form === 'invoke') return bound.invoke(messages);
          let whole: AIMessageChunk | undefined;
          for await (const chunk of await bound.stream(messages)) whole = whole?.concat(chunk) ?? chunk;
          return whole!;
        };
        const asked = await ask([new HumanMessage(question)]);
        const calls = asked.tool_calls ?? [];
        assert.deepEqual(
          calls.map((call) => [call.name, typeof call.args.city]),
          names.map((one) => [one, 'string']),
        );
        const results = calls.map(({ id }) => new ToolMessage({ content: 'fine', tool_call_id: id! }));
        const last = await ask([new HumanMessage(question), asked, ...results]);
        assert.equal(last.text, answer);
        assertThoughtCameBack(name, model);
        assert.deepEqual(last.tool_calls, []);
      });
    }
  }
}
