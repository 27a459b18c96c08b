import type { RequestReply } from '../../../../src/admin/request-schema.ts';
import { newId } from '../../parts/new-id.ts';
import { keep } from '../../parts/stored/use-stored.ts';
import { type Json, newAnswer, noSettings, type Picture, type Turn, type UserTurn } from './conversation.ts';

/** Formats whose bodies have `messages`, by the endpoint of the record. */
const formats: Readonly<Record<string, string>> = { chat: '', messages: 'messages' };

/** Whether the playground can be set up as for this request. */
export function canRunAgain({ endpoint }: Pick<RequestReply, 'endpoint'>): boolean {
  return endpoint in formats;
}

/**
 * Sets the playground up as the request was: its model, and where its body is kept the conversation before, with the last
 * question as the draft. Gives what the page's URL holds then.
 */
export function setUpAgain({ endpoint, model, bodies }: RequestReply): Record<string, string> {
  const body = bodies == null ? {} : bodyOf(bodies.request);
  const messages = (Array.isArray(body.messages) ? body.messages : []).filter(isObject);
  const turns = messages.flatMap((message): Turn[] => turnOf(message) ?? []);
  const last = turns.at(-1);
  const question: UserTurn | null = last?.role === 'user' ? last : null;
  const before = question === null ? turns : turns.slice(0, -1);
  const system = [body.system, ...messages.filter(isSystem).map(({ content }) => content)].map(textOf).filter(Boolean);
  keep('playground.lanes', [{ id: newId(), model, turns: before }], 'session');
  keep('playground.draft', question?.text ?? '', 'session');
  const settings = {
    ...noSettings,
    system: system.join('\n\n'),
    temperature: typed(body.temperature),
    topP: typed(body.top_p),
    maxTokens: typed(body.max_completion_tokens ?? body.max_tokens),
  };
  keep('playground.settings', settings, 'browser');
  return { format: formats[endpoint] ?? '' };
}

function turnOf({ role, content }: Json): Turn[] | null {
  if (role === 'user') return [{ role, id: newId(), text: textOf(content), pictures: picturesOf(content) }];
  if (role !== 'assistant') return null;
  return [{ ...newAnswer(Date.now()), text: textOf(content), ending: { kind: 'complete', finish: null } }];
}

function isSystem({ role }: Json): boolean {
  return role === 'system' || role === 'developer';
}

/** A text, or the texts of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .filter(isObject)
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n');
}

function picturesOf(content: unknown): Picture[] {
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap(({ image_url }) => {
    const address = isObject(image_url) ? image_url.url : null;
    return typeof address === 'string' && address.startsWith('data:image/')
      ? [{ name: 'picture', dataUrl: address }]
      : [];
  });
}

function typed(value: unknown): string {
  return typeof value === 'number' ? String(value) : '';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

/** Long bodies are kept in part, which is not JSON. */
function bodyOf(text: string): Json {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}
