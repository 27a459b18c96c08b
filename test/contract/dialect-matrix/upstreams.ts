import type { JsonObject } from '../../../src/kernel/json.ts';
import type { Delivery, UpstreamId } from './formats.ts';

/** Which of a format's providers is called: failures of one close no way to the others. */
export type Twin = number | 'well';

export function aliasOf(upstream: UpstreamId, twin: Twin, delivery?: Delivery): string {
  return `${upstream}-${twin}${delivery === 'asked-whole' ? '-whole' : ''}`;
}

/** A provider format as the mock upstream speaks it: where its requests hold things, how its providers fail. */
export interface UpstreamFormat {
  id: UpstreamId;
  /** Type of provider, base URL and dialect in the configuration. */
  provider(url: string): Record<string, unknown>;
  model: string;
  /** A picture in the format's own place: a URL or base64. */
  pictureIn(body: JsonObject): unknown;
  /** The same for a PDF. */
  documentIn(body: JsonObject): unknown;
  /** Place of its instructions. */
  systemIn(body: JsonObject): unknown;
  /** What the next turn must give back of the thoughts of the mock; null: any. */
  proof: string | null;
  /** The mock's answer for a withheld one. */
  filtered: string;
  /** Its answer when it is overloaded. */
  overloaded: string;
  /** Its words for a conversation that is too long. */
  tooLong: string;
  usageIn(answer: JsonObject): { input: number; cached: number; output: number };
}

export const upstreamFormats: Readonly<Record<UpstreamId, UpstreamFormat>> = {
  'openai-chat': {
    id: 'openai-chat',
    provider: (url) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' }),
    model: 'gpt-5.2',
    pictureIn: (body) => at(partOf(at(body, 'messages', 0, 'content'), 'image_url'), 'image_url', 'url'),
    documentIn: (body) => at(partOf(at(body, 'messages', 0, 'content'), 'file'), 'file', 'file_data'),
    systemIn: (body) => (body.messages as JsonObject[]).filter(instructs),
    proof: null,
    filtered: 'finish=content_filter',
    overloaded: 'status=503',
    tooLong: 'status=400;code=context_length_exceeded',
    usageIn: (answer) => ({
      input: number(answer, 'usage', 'prompt_tokens'),
      cached: number(answer, 'usage', 'prompt_tokens_details', 'cached_tokens'),
      output: number(answer, 'usage', 'completion_tokens'),
    }),
  },
  'anthropic-messages': {
    id: 'anthropic-messages',
    provider: (url) => ({ type: 'anthropic', base_url: `${url}/v1`, api_key: 'upstream-secret' }),
    model: 'claude-sonnet-4-5',
    pictureIn: (body) => {
      const { data, url } = at(partOf(at(body, 'messages', 0, 'content'), 'image'), 'source') as JsonObject;
      return data ?? url;
    },
    documentIn: (body) => at(partOf(at(body, 'messages', 0, 'content'), 'document'), 'source', 'data'),
    systemIn: (body) => body.system,
    proof: 'c2ltdWxhdGVk',
    filtered: 'finish=refusal',
    overloaded: 'status=529',
    tooLong: 'status=400;message=prompt is too long: 212000 tokens > 200000 maximum',
    usageIn: (answer) => {
      const cached = number(answer, 'usage', 'cache_read_input_tokens');
      return {
        input: number(answer, 'usage', 'input_tokens') + cached,
        cached,
        output: number(answer, 'usage', 'output_tokens'),
      };
    },
  },
  'openai-responses': {
    id: 'openai-responses',
    provider: (url) => ({
      type: 'openai',
      base_url: `${url}/v1`,
      api_key: 'upstream-secret',
      dialects: ['openai-responses'],
    }),
    model: 'gpt-5.2',
    pictureIn: (body) => at(partOf(at(body, 'input', 0, 'content'), 'input_image'), 'image_url'),
    documentIn: (body) => at(partOf(at(body, 'input', 0, 'content'), 'input_file'), 'file_data'),
    systemIn: (body) => [body.instructions, ...(body.input as JsonObject[]).filter(instructs)],
    proof: 'gAAAAABsimulated',
    filtered: 'finish=content_filter',
    overloaded: 'status=503',
    tooLong: 'status=400;code=context_length_exceeded',
    usageIn: (answer) => ({
      input: number(answer, 'usage', 'input_tokens'),
      cached: number(answer, 'usage', 'input_tokens_details', 'cached_tokens'),
      output: number(answer, 'usage', 'output_tokens'),
    }),
  },
  gemini: {
    id: 'gemini',
    provider: (url) => ({ type: 'gemini', base_url: `${url}/v1beta`, api_key: 'upstream-secret' }),
    model: 'gemini-3-flash',
    pictureIn: (body) => inlineData(body, 'image/png') ?? at(body, 'contents', 0, 'parts', 1, 'fileData', 'fileUri'),
    documentIn: (body) => inlineData(body, 'application/pdf'),
    systemIn: (body) => body.systemInstruction,
    proof: 'c2ltdWxhdGVk',
    filtered: 'finish=SAFETY',
    overloaded: 'status=503',
    tooLong:
      'status=400;message=The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    usageIn: (answer) => ({
      input: number(answer, 'usageMetadata', 'promptTokenCount'),
      cached: number(answer, 'usageMetadata', 'cachedContentTokenCount'),
      output:
        number(answer, 'usageMetadata', 'candidatesTokenCount') + number(answer, 'usageMetadata', 'thoughtsTokenCount'),
    }),
  },
};

function instructs({ role }: JsonObject): boolean {
  return role === 'system' || role === 'developer';
}

function inlineData(body: JsonObject, mimeType: string): unknown {
  const parts = at(body, 'contents', 0, 'parts') as { inlineData?: { mimeType: string; data: string } }[];
  return parts.find((part) => part.inlineData?.mimeType === mimeType)?.inlineData?.data;
}

function partOf(content: unknown, type: string): unknown {
  return (content as { type: string }[]).find((part) => part.type === type);
}

/** The value at a path of members and indexes; undefined when it ends. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inside, step) => (inside as Record<string | number, unknown> | undefined)?.[step],
    value,
  );
}

function number(value: JsonObject, ...path: readonly string[]): number {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : 0;
}
