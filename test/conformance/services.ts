import type { SharedDialectId } from '../../src/formats/dialects/dialect.ts';
import { isObject, type JsonValue } from '../../src/kernel/json.ts';
import type { Exchange } from './exchange.ts';

/** Behind what provider of a configuration a recorded answer is played. */
export interface Service {
  /** What the table calls it: the host, or the service's name where it has many. */
  name: string;
  /** `type:` of the provider. */
  type: string;
  dialect: SharedDialectId;
}

/** Hosts by their end → `type:` of the provider and the service's name. Others that speak OpenAI's format are `openai`. */
const hosts: readonly (readonly [host: RegExp, type: string, name: string])[] = [
  [/^api\.openai\.com$/, 'openai', 'OpenAI'],
  [/^api\.anthropic\.com$/, 'anthropic', 'Anthropic'],
  [/(^|\.)generativelanguage\.googleapis\.com$/, 'gemini', 'Gemini'],
  [/aiplatform\.googleapis\.com$/, 'gemini', 'Vertex'],
  [/\.openai\.azure\.com$|\.services\.ai\.azure\.com$/, 'azure-openai', 'Azure'],
  [/^api\.mistral\.ai$/, 'mistral', 'Mistral'],
  [/^api\.groq\.com$/, 'groq', 'Groq'],
  [/^openrouter\.ai$/, 'openrouter', 'OpenRouter'],
  [/^api\.x\.ai$/, 'xai', 'xAI'],
  [/^api\.deepseek\.com$/, 'deepseek', 'DeepSeek'],
  [/^api\.cohere\.(com|ai)$/, 'cohere', 'Cohere'],
  [/^api\.together\.(xyz|ai)$/, 'together', 'Together'],
  [/\.fireworks\.ai$/, 'fireworks', 'Fireworks'],
  [/\.nvidia\.com$/, 'nvidia', 'NVIDIA'],
  [/^(www\.)?ollama\.com$|OLLAMA|:11434$/, 'ollama', 'Ollama'],
  [/bedrock.*(amazonaws\.com|api\.aws)$/, 'openai', 'Bedrock'],
];

/** The service of an exchange; null when it is not a conversation in a format that Culvert asks. */
export function serviceOf({ url }: Pick<Exchange, 'url'>): Service | null {
  // Numbers for names: only callers that ask by that parameter get them.
  if (url.includes('enum-encoding')) return null;
  // Recorders put `<PLACEHOLDERS>` where addresses were private.
  const parts = /^(?:https?:\/\/)?([^/]+)(\/[^?#]*)?/.exec(url);
  if (parts === null) return null;
  const host = parts[1]!.replace(/:(443|80)$/, '');
  const dialect = dialectOfPath(parts[2] ?? '');
  if (dialect === null) return null;
  const known = hosts.find(([pattern]) => pattern.test(host));
  const name = known?.[2] ?? host.replace(/[<>]/g, '');
  if (dialect === 'gemini') return { name, type: 'gemini', dialect };
  if (dialect === 'anthropic-messages') return { name, type: 'anthropic', dialect };
  const type = known?.[1] ?? 'openai';
  // Google and Anthropic have a layer in OpenAI's format, which a provider of type openai asks.
  return { name, type: type === 'gemini' || type === 'anthropic' ? 'openai' : type, dialect };
}

function dialectOfPath(path: string): SharedDialectId | null {
  if (path.endsWith('/chat/completions')) return 'openai-chat';
  if (/\/responses$/.test(path)) return 'openai-responses';
  if (/\/messages$/.test(path) && !/threads/.test(path)) return 'anthropic-messages';
  if (/:(stream)?[gG]enerateContent$/.test(path)) return 'gemini';
  if (/publishers\/anthropic\/models\/[^/]+:(streamR|r)awPredict$/.test(path)) return 'anthropic-messages';
  return null;
}

/** Words of a path → host: whose a fixture without an address is. */
const words: readonly (readonly [word: RegExp, host: string])[] = [
  [/azure/i, 'fixture.openai.azure.com'],
  [/vertex/i, 'aiplatform.googleapis.com'],
  [/mistral/i, 'api.mistral.ai'],
  [/groq/i, 'api.groq.com'],
  [/openrouter/i, 'openrouter.ai'],
  [/xai|grok/i, 'api.x.ai'],
  [/deepseek/i, 'api.deepseek.com'],
  [/cerebras/i, 'api.cerebras.ai'],
  [/perplexity/i, 'api.perplexity.ai'],
  [/alibaba|qwen/i, 'dashscope.aliyuncs.com'],
  [/moonshot|kimi/i, 'api.moonshot.ai'],
  [/snowflake/i, 'own.snowflakecomputing.com'],
  [/together/i, 'api.together.xyz'],
  [/fireworks/i, 'api.fireworks.ai'],
  [/open-responses/i, 'open-responses.example'],
];

/** An address for an answer, by its shape and by words of its path; null when the shape is not a conversation's. */
export function addressOfShape(path: string, answer: JsonValue | undefined): string | null {
  const end = endOfShape(answer);
  if (end === null) return null;
  const host = words.find(([word]) => word.test(path))?.[1];
  if (end.startsWith('/v1beta'))
    return `https://${host === 'aiplatform.googleapis.com' ? host : 'generativelanguage.googleapis.com'}${end}`;
  if (end === '/v1/messages') return `https://api.anthropic.com${end}`;
  return `https://${host ?? 'api.openai.com'}${end}`;
}

function endOfShape(answer: JsonValue | undefined): string | null {
  if (!isObject(answer)) return null;
  const { object, type, candidates, choices } = answer;
  if (object === 'response' || (typeof type === 'string' && type.startsWith('response.'))) return '/v1/responses';
  if ((type === 'message' && Array.isArray(answer.content)) || type === 'message_start') return '/v1/messages';
  if (Array.isArray(candidates)) return '/v1beta/models/gemini:generateContent';
  if (Array.isArray(choices) && object !== 'text_completion') return '/v1/chat/completions';
  return null;
}
