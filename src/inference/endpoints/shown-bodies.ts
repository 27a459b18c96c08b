import type { CallerDialectId } from '../../formats/dialects/dialect.ts';
import { asGenerate } from '../../formats/dialects/ollama/path-form.ts';
import { type JsonObject, type JsonValue, objectsIn, parsedData } from '../../kernel/json.ts';
import {
  type ShownConversation,
  type ShownPart,
  type ShownTurn,
  shownConversation,
} from '../families/chat/shown-conversation.ts';

/** The texts that a caller sent and got, without credentials. */
export interface BodyTexts {
  request: string;
  answer: string;
  /** Why there is no answer, or none to its end. */
  error: string | null;
  /** An answer that is no text, such as sound; null: it is one, or it is too long. */
  media: { type: string; base64: string } | null;
}

const conversations: readonly [RegExp, CallerDialectId][] = [
  [/\/chat\/completions$/, 'openai-chat'],
  [/\/messages$/, 'anthropic-messages'],
  [/\/responses$/, 'openai-responses'],
  [/:(stream)?generateContent$/i, 'gemini'],
  [/^\/api\/(chat|generate)$/, 'ollama'],
  [/^\/v(1|2)\/(chat|generate)$/, 'cohere-chat'],
  [/\/ai\/language-model$/, 'ai-sdk'],
  [/^\/model\/.+\/converse(-stream)?$/, 'bedrock-converse'],
];

/** Bodies as people read them; null: those of this path have no such form, or cannot be read. */
export function conversationOf(path: string, bodies: BodyTexts): ShownConversation | null {
  const [, dialect] = conversations.find(([ending]) => ending.test(path)) ?? [];
  const shown = dialect === undefined ? otherOf(path, bodies) : chatOf(dialect, path, bodies);
  return shown === null || shown.turns.length === 0 ? null : shown;
}

function chatOf(dialect: CallerDialectId, path: string, { request, answer }: BodyTexts): ShownConversation | null {
  const raw = Buffer.from(request);
  try {
    return shownConversation(dialect, path === '/api/generate' ? asGenerate(raw) : raw, Buffer.from(answer));
  } catch {
    // A cut answer may end anywhere.
    return null;
  }
}

/** Pictures, speech, texts that are completed or embedded: what was asked, and what came. */
function otherOf(path: string, bodies: BodyTexts): ShownConversation | null {
  const request = parsedData(bodies.request);
  if (request === null) return null;
  const answer = parsedData(bodies.answer);
  const input = textsOf(request.prompt ?? request.input ?? null);
  const produced: ShownPart[] = /\/images\//.test(path)
    ? objectsIn(answer?.data).map(pictureOf)
    : /\/completions$/.test(path)
      ? objectsIn(answer?.choices).map(({ text }) => ({ type: 'text', text: String(text ?? '') }))
      : mediaOf(bodies);
  const { prompt: _, input: __, model: ___, ...settings } = request;
  return {
    turns: [
      ...turn(
        'user',
        'request',
        input.map((text) => ({ type: 'text', text })),
      ),
      ...turn('assistant', 'answer', produced),
    ],
    tools: [],
    settings: Object.entries(settings).map(([name, value]) => ({ name, value: JSON.stringify(value) })),
  };
}

function turn(role: ShownTurn['role'], from: ShownTurn['from'], parts: ShownPart[]): ShownTurn[] {
  return parts.length === 0 ? [] : [{ role, from, index: 0, parts, finish: null }];
}

function pictureOf({ b64_json, url, revised_prompt }: JsonObject): ShownPart {
  const base64 = typeof b64_json === 'string' ? b64_json : null;
  return {
    type: 'image',
    media: { type: 'image/png', base64, url: typeof url === 'string' ? url : null },
    ...(typeof revised_prompt === 'string' && { text: revised_prompt }),
  };
}

function mediaOf({ media }: BodyTexts): ShownPart[] {
  if (media === null) return [];
  const type = media.type.startsWith('audio/') ? 'audio' : media.type.startsWith('image/') ? 'image' : 'file';
  return [{ type, media: { ...media, url: null } }];
}

function textsOf(value: JsonValue): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** All words of bodies, each text on its own. */
export function searchableTexts(path: string, bodies: BodyTexts): string[] {
  const shown = conversationOf(path, bodies);
  const textsOf = (parts: readonly ShownPart[]): string[] =>
    parts.flatMap(({ text, name, parts: inner = [] }) => [
      ...(name === undefined ? [] : [name]),
      ...(text === undefined ? [] : [text]),
      ...textsOf(inner),
    ]);
  if (shown === null) return [bodies.request, bodies.answer, ...(bodies.error === null ? [] : [bodies.error])];
  return [...shown.turns.flatMap(({ parts }) => textsOf(parts)), ...(bodies.error === null ? [] : [bodies.error])];
}
