import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import type { SharedDialectId } from '../../src/formats/dialects/dialect.ts';
import type { JsonObject, JsonValue } from '../../src/kernel/json.ts';
import type { Said } from './said.ts';
import { saidByChat } from './said-chat.ts';
import { foldGemini, saidByGemini } from './said-gemini.ts';
import { saidByMessage } from './said-messages.ts';
import { saidByResponse } from './said-responses.ts';

export const forms = ['whole', 'streamed'] as const;
export type Form = (typeof forms)[number];

/** A caller's request in no format: for the contents of the answer. */
export interface Question {
  model: string;
  tools: readonly { name: string; kind: 'function' | 'custom' }[];
  /** Whether the model shall think aloud. */
  thoughts: boolean;
}

/** What a caller got: what its SDK made of the answer, and what the gateway says it left out. */
export interface Heard {
  said: Said;
  /** `x-culvert-dropped`; '' when there is none. */
  dropped: string;
  requestId: string;
}

/** Asks as users of a format do, and reads with their SDK; rejects with the SDK's own error. */
export type Ask = (question: Question) => Promise<Heard>;

const text = 'Go on.';
const parameters = { type: 'object', properties: {}, additionalProperties: true };

/** A caller of each format, whole and streamed, of the server at `url`. */
export function createCallers(url: string, key: string): Record<SharedDialectId, Record<Form, Ask>> {
  let headers = new Headers();
  const noted: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    headers = response.headers;
    return response;
  };
  const openai = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, fetch: noted });
  const anthropic = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0, fetch: noted });
  const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
  const heard = (said: Said, from: { get(name: string): string | null } = headers): Heard => ({
    said,
    dropped: from.get('x-culvert-dropped') ?? '',
    requestId: from.get('x-culvert-request-id') ?? '',
  });

  const chatOf = ({ model, tools }: Question) => ({
    model,
    messages: [{ role: 'user' as const, content: text }],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, kind }) =>
        kind === 'custom'
          ? { type: 'custom' as const, custom: { name } }
          : { type: 'function' as const, function: { name, parameters } },
      ),
    }),
  });
  const responseOf = ({ model, tools }: Question) => ({
    model,
    input: text,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, kind }) =>
        kind === 'custom'
          ? { type: 'custom' as const, name }
          : { type: 'function' as const, name, parameters, strict: false },
      ),
    }),
  });
  const messageOf = ({ model, tools, thoughts }: Question) => ({
    model,
    max_tokens: 4_096,
    messages: [{ role: 'user' as const, content: text }],
    ...(tools.length > 0 && { tools: tools.map(({ name }) => ({ name, input_schema: { type: 'object' as const } })) }),
    ...(thoughts && { thinking: { type: 'enabled' as const, budget_tokens: 1_024 } }),
  });
  const contentOf = ({ model, tools, thoughts }: Question) => ({
    model,
    contents: text,
    config: {
      ...(tools.length > 0 && { tools: [{ functionDeclarations: tools.map(({ name }) => ({ name })) }] }),
      ...(thoughts && { thinkingConfig: { includeThoughts: true } }),
    },
  });

  return {
    'openai-chat': {
      whole: async (question) => {
        const answer = await openai.chat.completions.create(chatOf(question));
        return heard(saidByChat(answer as unknown as JsonObject));
      },
      streamed: async (question) => {
        const stream = openai.chat.completions.stream({ ...chatOf(question), stream_options: { include_usage: true } });
        // Its accumulator keeps the last piece of a field that it does not know.
        let thoughts = '';
        stream.on('chunk', ({ choices }) => {
          const delta = choices.find(({ index }) => index === 0)?.delta as JsonObject | undefined;
          thoughts += asText(delta?.reasoning_content) || asText(delta?.reasoning);
        });
        const answer = (await stream.finalChatCompletion()) as unknown as JsonObject;
        return heard({ ...saidByChat(answer), thoughts });
      },
    },
    'openai-responses': {
      whole: async (question) => {
        const answer = await openai.responses.create(responseOf(question));
        return heard(saidByResponse(answer as unknown as JsonObject));
      },
      streamed: async (question) => {
        const answer = await openai.responses.stream(responseOf(question)).finalResponse();
        if (answer.status === 'failed') throw new Error(answer.error?.message ?? 'The response failed.');
        return heard(saidByResponse(answer as unknown as JsonObject));
      },
    },
    'anthropic-messages': {
      whole: async (question) => {
        const answer = await anthropic.messages.create(messageOf(question));
        return heard(saidByMessage(answer as unknown as JsonObject));
      },
      streamed: async (question) => {
        const answer = await anthropic.messages.stream(messageOf(question)).finalMessage();
        return heard(saidByMessage(answer as unknown as JsonObject));
      },
    },
    gemini: {
      whole: async (question) => {
        const answer = await google.models.generateContent(contentOf(question));
        return heard(saidByGemini(plain(answer)), fromGoogle(answer.sdkHttpResponse?.headers));
      },
      streamed: async (question) => {
        const chunks: JsonObject[] = [];
        let from = fromGoogle(undefined);
        for await (const chunk of await google.models.generateContentStream(contentOf(question))) {
          from = fromGoogle(chunk.sdkHttpResponse?.headers);
          chunks.push(plain(chunk));
        }
        return heard(saidByGemini(foldGemini(chunks)), from);
      },
    },
  };
}

const asText = (value: JsonValue | undefined) => (typeof value === 'string' ? value : '');

/** Google's SDK gives objects of classes: as the JSON that they came from. */
function plain(answer: object): JsonObject {
  const { candidates, usageMetadata, promptFeedback } = answer as JsonObject;
  return JSON.parse(JSON.stringify({ candidates, usageMetadata, promptFeedback })) as JsonObject;
}

function fromGoogle(headers: Record<string, string> | undefined): { get(name: string): string | null } {
  return { get: (name) => headers?.[name] ?? null };
}
