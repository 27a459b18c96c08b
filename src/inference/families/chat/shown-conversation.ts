import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import { pathForm } from '../../../formats/dialects/ollama/path-form.ts';
import type { Citation } from '../../../formats/neutral/citation.ts';
import type { NeutralEvent } from '../../../formats/neutral/event.ts';
import type { MediaSource, NeutralPart, NeutralRequest } from '../../../formats/neutral/request.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { eventsOf, requestOf } from './content-of.ts';

/** A conversation as people read it. */
export interface ShownConversation {
  turns: ShownTurn[];
  /** Tools that the caller offers, as it describes them. */
  tools: { name: string; description: string | null }[];
  /** Other fields of the request as the caller spells them, such as `temperature`, as JSON. */
  settings: { name: string; value: string }[];
}

export interface ShownTurn {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** `request`: the caller sent it, at `index` among its turns. `answer`: it came back, as choice `index`. */
  from: 'request' | 'answer';
  index: number;
  parts: ShownPart[];
  /** Why the answer ended; null: it did not, or this is no answer. */
  finish: string | null;
}

/** A piece of a turn; absent members: it has none. */
export interface ShownPart {
  type:
    | 'text'
    | 'thought'
    | 'refusal'
    | 'tool-call'
    | 'tool-result'
    | 'image'
    | 'audio'
    | 'file'
    | 'citation'
    | 'other';
  /** Its words, or a call's arguments as JSON. */
  text?: string;
  /** Name of a tool, a file or a block of one vendor. */
  name?: string;
  /** Joins a tool's call and its result. */
  call?: string;
  /** A tool said that it failed. */
  failed?: boolean;
  media?: ShownMedia;
  /** Parts of a tool's result. */
  parts?: ShownPart[];
}

/** Bytes in base64, or where they are. */
export interface ShownMedia {
  type: string | null;
  base64: string | null;
  url: string | null;
}

/** Turns of a request and its answer, both in the caller's format. What cannot be read, such as a cut body, is left out. */
export function shownConversation(dialectId: CallerDialectId, request: Buffer, answer: Buffer): ShownConversation {
  const read = requestOf(dialectId, request);
  return {
    turns: [...(read?.neutral.messages.map(shownTurn) ?? []), ...answeredTurns(eventsOf(dialectId, answer))],
    tools: read?.neutral.tools?.map(({ name, description = null }) => ({ name, description })) ?? [],
    settings: read === null ? [] : settingsOf(dialectId, read.body),
  };
}

function shownTurn({ role, parts }: NeutralRequest['messages'][number], index: number): ShownTurn {
  return { role, from: 'request', index, parts: parts.map(partOf), finish: null };
}

/** Fields that the turns and tools show. */
const shownElsewhere = new Set([
  ...'messages input instructions system contents systemInstruction system_instruction tools model'.split(' '),
  pathForm,
]);
/** The same of formats that spell them otherwise. */
const shownElsewhereIn: Partial<Record<CallerDialectId, readonly string[]>> = {
  'ai-sdk': ['prompt'],
  'bedrock-converse': ['toolConfig'],
  ollama: ['prompt', 'images'],
};

function settingsOf(dialectId: CallerDialectId, body: JsonObject): ShownConversation['settings'] {
  const { toolConfig } = body;
  const choice = isObject(toolConfig) ? toolConfig.toolChoice : undefined;
  return Object.entries({ ...body, ...(choice !== undefined && { 'toolConfig.toolChoice': choice }) })
    .filter(([name]) => !shownElsewhere.has(name) && !shownElsewhereIn[dialectId]?.includes(name))
    .map(([name, value]) => ({ name, value: JSON.stringify(value) }));
}

function partOf(part: NeutralPart): ShownPart {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: part.type, text: part.text };
    case 'reasoning':
      return { type: 'thought', text: part.text };
    case 'redacted-reasoning':
      return { type: 'thought', name: 'encrypted' };
    case 'tool-call':
      return { type: 'tool-call', call: part.id, name: part.name, text: part.argumentsJson };
    case 'tool-result':
      return { type: 'tool-result', call: part.callId, failed: part.isError, parts: part.parts.map(partOf) };
    case 'image':
      return { type: 'image', media: mediaOf(part.source) };
    case 'audio':
      return { type: 'audio', media: { type: soundType(part.format), base64: part.base64, url: null } };
    case 'document':
      return {
        type: 'file',
        media: mediaOf(part.source),
        ...(part.name === undefined ? fileIdOf(part.source) : { name: part.name }),
      };
    case 'vendor':
      return { type: 'other', name: String(part.block.type ?? part.vendor), text: JSON.stringify(part.block) };
  }
}

function mediaOf(source: MediaSource): ShownMedia {
  switch (source.kind) {
    case 'base64':
      return { type: source.mediaType, base64: source.base64, url: null };
    case 'url':
      return { type: null, base64: null, url: source.url };
    case 'file-id':
      return { type: null, base64: null, url: null };
  }
}

function fileIdOf(source: MediaSource): { name?: string } {
  return source.kind === 'file-id' ? { name: source.fileId } : {};
}

function soundType(format: string): string {
  return format === 'mp3' ? 'audio/mpeg' : `audio/${format}`;
}

/** One turn for each choice. */
function answeredTurns(events: readonly NeutralEvent[]): ShownTurn[] {
  const turns: ShownTurn[] = [];
  const calls = new Map<string, ShownPart>();
  const sounds = new Map<number, ShownPart>();
  for (const event of events) {
    if (!('choice' in event)) continue;
    const { choice } = event;
    turns[choice] ??= { role: 'assistant', from: 'answer', index: choice, parts: [], finish: null };
    const turn = turns[choice];
    if (event.type === 'finish') turn.finish = event.reason;
    else if (event.type === 'tool-call-start') {
      const call: ShownPart = { type: 'tool-call', call: event.id, name: event.name, text: '' };
      calls.set(`${choice} ${event.call}`, call);
      turn.parts.push(call);
    } else if (event.type === 'tool-call-delta') {
      const call = calls.get(`${choice} ${event.call}`);
      if (call !== undefined) call.text = `${call.text ?? ''}${event.argumentsJson}`;
    } else if (event.type === 'audio-delta') addSound(turn, sounds, event.audio);
    else addContent(turn, event);
  }
  return turns.filter((turn) => turn !== undefined);
}

function addContent(turn: ShownTurn, event: NeutralEvent): void {
  switch (event.type) {
    case 'text-delta':
      return addText(turn, 'text', event.text);
    case 'refusal-delta':
      return addText(turn, 'refusal', event.text);
    case 'reasoning-delta':
      return addText(turn, 'thought', event.text);
    case 'redacted-reasoning':
      turn.parts.push({ type: 'thought', name: 'encrypted' });
      return;
    case 'media': {
      turn.parts.push({ type: event.media.kind, media: mediaOf(event.media.source) });
      return;
    }
    case 'citation':
      turn.parts.push({ type: 'citation', ...citedOf(event.citation) });
      return;
    case 'vendor-part':
      // A member that is lost has nothing to show.
      if (event.vendor === '') return;
      turn.parts.push({
        type: 'other',
        name: String(event.block.type ?? event.vendor),
        text: JSON.stringify(event.block),
      });
      return;
    default:
  }
}

function citedOf({ title, url, quote }: Citation): Pick<ShownPart, 'name' | 'text' | 'media'> {
  return { name: title, text: quote, ...(url !== null && { media: { type: null, base64: null, url } }) };
}

/** Longer by a piece, where the last part is of this type. */
function addText({ parts }: ShownTurn, type: 'text' | 'refusal' | 'thought', text: string): void {
  const last = parts.at(-1);
  if (last?.type === type && last.name === undefined) last.text = `${last.text ?? ''}${text}`;
  else if (text !== '') parts.push({ type, text });
}

/** Spoken answers come in pieces of base64, with what was said. */
function addSound(turn: ShownTurn, sounds: Map<number, ShownPart>, { data, transcript }: JsonObject): void {
  let sound = sounds.get(turn.index);
  if (sound === undefined) {
    sound = { type: 'audio', text: '', media: { type: null, base64: '', url: null } };
    sounds.set(turn.index, sound);
    turn.parts.push(sound);
  }
  if (typeof data === 'string' && sound.media) sound.media.base64 = `${sound.media.base64 ?? ''}${data}`;
  if (typeof transcript === 'string') sound.text = `${sound.text ?? ''}${transcript}`;
}
