import {
  isObject,
  type JsonObject,
  type JsonValue,
  jsonText,
  listIn,
  objectIn,
  stringOr,
} from '../../../kernel/json.ts';
import type { Complaint } from '../../neutral/described-check.ts';
import type { MediaSource, NeutralMessage, NeutralPart } from '../../neutral/request.ts';
import * as v from '../../neutral/value-checks.ts';
import { createRepeats } from './tool-turns.ts';
import { noSignature, vendor } from './wire.ts';

const anyLength = Number.POSITIVE_INFINITY;

const blob: v.Check = (value) =>
  isObject(value)
    ? (v.required(value, 'mimeType', v.string, 'the media type') ?? v.required(value, 'data', v.base64, 'base64'))
    : v.complain('', value, "an object with 'mimeType' and 'data'");

const fileData: v.Check = (value) =>
  isObject(value)
    ? (v.required(value, 'fileUri', v.string, 'where the file is') ?? v.optional(value, 'mimeType', v.string))
    : v.complain('', value, "an object with 'fileUri'");

const functionCall: v.Check = (value) =>
  isObject(value)
    ? (v.required(value, 'name', v.string, 'the name of the function') ??
      v.optional(value, 'args', v.object) ??
      v.optional(value, 'id', v.string))
    : v.complain('', value, "an object with 'name' and 'args'");

const nestedPart: v.Check = (value) =>
  isObject(value) ? v.optional(value, 'inlineData', blob) : v.complain('', value, "an object with 'inlineData'");

const functionResponse: v.Check = (value) =>
  isObject(value)
    ? (v.required(value, 'name', v.string, 'the name of the function') ??
      v.required(value, 'response', v.object, 'an object') ??
      v.optional(value, 'id', v.string) ??
      v.optional(value, 'parts', v.arrayOf(nestedPart, 0, anyLength, 'parts')))
    : v.complain('', value, "an object with 'name' and 'response'");

/** A part of an unknown kind goes to Google unchanged. */
const part: v.Check = (value) =>
  isObject(value)
    ? (v.optional(value, 'text', v.string) ??
      v.optional(value, 'thought', v.boolean) ??
      v.optional(value, 'thoughtSignature', v.string) ??
      v.optional(value, 'inlineData', blob) ??
      v.optional(value, 'fileData', fileData) ??
      v.optional(value, 'functionCall', functionCall) ??
      v.optional(value, 'functionResponse', functionResponse))
    : v.complain('', value, 'an object such as {"text":"…"}');

const content: v.Check = (value) =>
  isObject(value)
    ? (v.optional(value, 'role', v.oneOf('user', 'model', 'function', 'tool')) ??
      v.required(value, 'parts', v.arrayOf(part, 1, anyLength, 'parts'), 'an array of at least one part'))
    : v.complain('', value, "an object with 'role' and 'parts'");

export const contents = v.arrayOf(content, 1, anyLength, 'contents');

/** The system instruction. */
export const system = v.members("an object with 'parts'", {
  parts: v.needed(v.arrayOf(part, 0, anyLength, 'parts'), 'an array of parts'),
});

/** The known kind of a part. */
export const partMembers: ReadonlySet<string> = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
]);

/** Text of a part; null: it has other data. Google's SDK for Go leaves out the member where the text is empty. */
export function textIn(part: JsonObject): string | null {
  if (typeof part.text === 'string') return part.text;
  for (const name in part) if (name !== 'thought' && name !== 'thoughtSignature') return null;
  return '';
}

/** Google refuses a response that answers nothing, and no other dialect can say one. */
export function responsesFollowCalls(contents: readonly JsonObject[]): Complaint | null {
  const open = new Map<string, number>();
  const repeats = createRepeats();
  for (const [c, { parts }] of contents.entries()) {
    for (const [p, part] of (parts as JsonObject[]).entries()) {
      const { functionCall: call, functionResponse: response } = part;
      if (repeats(part)) continue;
      if (isObject(call)) open.set(jsonText(call.name), (open.get(jsonText(call.name)) ?? 0) + 1);
      if (!isObject(response)) continue;
      const left = (open.get(jsonText(response.name)) ?? 0) - 1;
      const send = 'a response after the functionCall of that name that it answers';
      if (left < 0) return v.complain(`contents[${c}].parts[${p}].functionResponse`, response, send);
      open.set(jsonText(response.name), left);
    }
  }
  return null;
}

/** Checked contents in the neutral form. Calls without an id get one, and their responses find them by name and order. */
export function decodeContents(contents: readonly JsonObject[]): NeutralMessage[] {
  /** Ids of calls by name, in order; `next` is the first that may still wait for its response. */
  const made = new Map<string, { ids: string[]; next: number }>();
  const answered = new Set<string>();
  const repeats = createRepeats();
  let count = 0;

  function callId(call: JsonObject, name: string): string {
    const id = stringOr(call.id, '') || `call_${count}`;
    count += 1;
    const known = made.get(name);
    if (known === undefined) made.set(name, { ids: [id], next: 0 });
    else known.ids.push(id);
    return id;
  }

  function answeredId(response: JsonObject, name: string): string {
    const given = stringOr(response.id, '');
    const known = made.get(name);
    if (given === '' && known !== undefined) while (answered.has(known.ids[known.next] ?? '')) known.next += 1;
    const id = given || (known?.ids[known.next] ?? '');
    answered.add(id);
    return id;
  }

  function decodePart(part: JsonObject): NeutralPart[] {
    const proof = proofOf(stringOr(part.thoughtSignature, ''));
    if (isObject(part.functionCall)) {
      const name = stringOr(part.functionCall.name, '');
      const args = isObject(part.functionCall.args) ? JSON.stringify(part.functionCall.args) : '{}';
      return [{ type: 'tool-call', id: callId(part.functionCall, name), name, argumentsJson: args, ...proof }];
    }
    if (isObject(part.functionResponse)) {
      const name = stringOr(part.functionResponse.name, '');
      return [toolResult(part.functionResponse, answeredId(part.functionResponse, name))];
    }
    const text = textIn(part);
    if (text !== null) {
      // Without a proof it is bound to no vendor: every dialect may write it in its form.
      if (part.thought === true) return [redactedIn(proof) ?? { type: 'reasoning', text, ...proof }];
      const texts: NeutralPart[] = text === '' ? [] : [{ type: 'text', text }];
      // On a part that is no thought, a proof belongs to a thought that was not shown.
      return proof.signature === undefined ? texts : [{ type: 'reasoning', text: '', vendor, ...proof }, ...texts];
    }
    if (isObject(part.inlineData)) return [media(part.inlineData)];
    if (isObject(part.fileData)) return [file(part.fileData)];
    return [{ type: 'vendor', vendor, block: part }];
  }

  return contents.map((content): NeutralMessage => {
    const parts = (content.parts as JsonObject[]).flatMap((part) => (repeats(part) ? [] : decodePart(part)));
    return content.role === 'model' ? { role: 'assistant', parts: joined(parts) } : { role: 'user', parts };
  });
}

/**
 * A model's turn comes back in the pieces in which it was streamed: texts are one again, and a thought is one up to its
 * proof, which is over all of it.
 */
function joined(parts: readonly NeutralPart[]): NeutralPart[] {
  const whole: NeutralPart[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    if (part.type === 'text' && last?.type === 'text') {
      whole[whole.length - 1] = { ...last, text: last.text + part.text };
    } else if (part.type === 'reasoning' && last?.type === 'reasoning' && last.signature === undefined) {
      whole[whole.length - 1] = { ...part, text: last.text + part.text };
    } else whole.push(part);
  }
  return whole;
}

/** One message, or none when it is empty. */
export function decodeSystem(system: JsonValue | undefined): NeutralMessage[] {
  const parts = isObject(system) ? ((system.parts as JsonObject[] | undefined) ?? []) : [];
  const texts = parts.flatMap((part): NeutralPart[] =>
    typeof part.text === 'string' && part.text !== '' ? [{ type: 'text', text: part.text }] : [],
  );
  return texts.length === 0 ? [] : [{ role: 'system', parts: texts }];
}

function proofOf(text: string): { signature?: string; vendor?: string } {
  if (text === '' || text === noSignature) return {};
  return unsealSignature(text) ?? { signature: text, vendor };
}

function toolResult(response: JsonObject, callId: string): NeutralPart {
  const { output, error, ...others } = objectIn(response.response);
  const alone = Object.keys(others).length === 0;
  const isError = alone && error !== undefined && output === undefined;
  const content = isError ? error : alone && output !== undefined ? output : response.response;
  const text = typeof content === 'string' ? content : JSON.stringify(content ?? {});
  const nested = listIn(response.parts);
  const pictures = nested.flatMap((part) =>
    isObject(part) && isObject(part.inlineData) ? [media(part.inlineData)] : [],
  );
  return { type: 'tool-result', callId, parts: [{ type: 'text', text }, ...pictures], isError };
}

function media(blob: JsonObject): NeutralPart {
  const mediaType = stringOr(blob.mimeType, '').toLowerCase();
  // Google's clients also write base64 with - and _.
  const base64 = stringOr(blob.data, '').replaceAll('-', '+').replaceAll('_', '/');
  if (mediaType.startsWith('audio/')) return { type: 'audio', format: audioFormat(mediaType), base64 };
  const source: MediaSource = { kind: 'base64', mediaType, base64 };
  return mediaType.startsWith('image/') ? { type: 'image', source } : { type: 'document', source };
}

function audioFormat(mediaType: string): string {
  const format = mediaType.slice('audio/'.length);
  return format === 'mpeg' ? 'mp3' : format === 'x-wav' ? 'wav' : format;
}

function file(data: JsonObject): NeutralPart {
  const uri = stringOr(data.fileUri, '');
  const source: MediaSource = uri.startsWith('https://generativelanguage.googleapis.com/')
    ? { kind: 'file-id', fileId: uri }
    : /^https?:/.test(uri)
      ? { kind: 'url', url: uri }
      : { kind: 'file-id', fileId: uri };
  return stringOr(data.mimeType, '').startsWith('image/') ? { type: 'image', source } : { type: 'document', source };
}

/*
 * Google's clients send `thoughtSignature` back where they found it, and take it for base64. Another vendor's proof goes
 * through them in its place, saying whose it is, and never reaches Google.
 */
const mark = 'culvert:';
/** Beginning of sealed text, whatever follows: eight characters are not a whole number of base64's groups of three. */
const markBase64 = Buffer.from(mark).toString('base64').slice(0, 10);

interface Proof {
  vendor: string;
  signature: string;
}

/** Ends the vendor of a thought that is encrypted, and no proof. */
export const redactedMark = '-redacted';

function redactedIn({ vendor, signature }: Partial<Proof>): NeutralPart | null {
  if (signature === undefined || vendor?.endsWith(redactedMark) !== true) return null;
  return { type: 'redacted-reasoning', data: signature, vendor: vendor.slice(0, -redactedMark.length) };
}

export function sealSignature({ vendor, signature }: Proof): string {
  return Buffer.from(`${mark}${vendor}:${signature}`, 'utf8').toString('base64');
}

/** Null for a text that this gateway did not seal, such as Google's. */
export function unsealSignature(text: string): Proof | null {
  if (!text.startsWith(markBase64)) return null;
  const match = /^culvert:([a-z-]{1,32}):(.*)$/s.exec(Buffer.from(text, 'base64').toString('utf8'));
  const [, vendor = '', signature = ''] = match ?? [];
  return match === null ? null : { vendor, signature };
}

/** True if a body may hold sealed signatures: cheap enough for every request. */
export function mayHoldSealed(raw: Buffer): boolean {
  return raw.includes(markBase64);
}
