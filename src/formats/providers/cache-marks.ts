import { isObject, type JsonObject, listIn } from '../../kernel/json.ts';
import type { FitMembers } from '../dialects/forward-target.ts';
import { mended } from './histories.ts';

/*
 * Marks for the prompt caches of Anthropic's models (`cache_control`) and OpenAI's (`prompt_cache_breakpoint`), which clients
 * send to any model: in messages, parts of their content, and tools. Groq ("property 'cache_control' is unsupported") and Mistral ("Extra inputs are not permitted")
 * answer 400. All of them keep prompts without a mark.
 */

/** Messages and tools without marks. Some clients put them next to the function of a tool, and some into it. */
export const withoutMarks: FitMembers = Object.assign(
  ({ messages, tools }: JsonObject) => {
    const found = new Set<string>();
    const unmarked = (holder: JsonObject): JsonObject => {
      const { cache_control: ofAnthropic, prompt_cache_breakpoint: ofOpenAi, ...rest } = holder;
      if (ofAnthropic === undefined && ofOpenAi === undefined) return holder;
      if (ofAnthropic !== undefined) found.add('cache_control');
      if (ofOpenAi !== undefined) found.add('prompt_cache_breakpoint');
      return rest;
    };
    const bareMessages = mended(listIn(messages), (message) => {
      const content = Array.isArray(message.content) ? mended(message.content, unmarked) : null;
      return content === null ? unmarked(message) : { ...unmarked(message), content };
    });
    const bareTools = mended(listIn(tools), (tool) => {
      const called = isObject(tool.function) ? unmarked(tool.function) : tool.function;
      return called === tool.function ? unmarked(tool) : { ...unmarked(tool), function: called as JsonObject };
    });
    if (bareMessages === null && bareTools === null) return null;
    const members = { ...(bareMessages && { messages: bareMessages }), ...(bareTools && { tools: bareTools }) };
    return { members, losses: [...found].map((field) => ({ field, why: 'unsupported' }) as const) };
  },
  { of: 'messages' } as const,
);
