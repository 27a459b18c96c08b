import { isObject, type JsonObject, type JsonValue, jsonText, stringOr } from '../../../kernel/json.ts';
import type { MediaSource, NeutralMessage, NeutralPart, NeutralRole } from '../../neutral/request.ts';
import { unseal, withoutProof } from '../anthropic-messages/sealed-proof.ts';
import { ours, vendor } from './wire.ts';

/** Checked messages in the neutral form. */
export function decodePrompt(prompt: readonly JsonObject[]): NeutralMessage[] {
  return prompt.map((message): NeutralMessage => {
    const { role, content } = message;
    const parts =
      typeof content === 'string'
        ? textOf(content, cacheOf(message))
        : (content as JsonObject[]).flatMap((part) => partsOf(part));
    return { role: role as NeutralRole, parts: withCache(parts, cacheOf(message)) };
  });
}

/** A message's mark for the cache is that of its last part. */
function withCache(parts: NeutralPart[], cache: { cache?: JsonObject }): NeutralPart[] {
  const last = parts.at(-1);
  return cache.cache === undefined || last === undefined
    ? parts
    : [...parts.slice(0, -1), { ...last, ...cache } as NeutralPart];
}

/** Anthropic's mark, which a message, a part or a tool may have. */
export function cacheOf({ providerOptions }: JsonObject): { cache?: JsonObject } {
  const { anthropic } = isObject(providerOptions) ? providerOptions : {};
  const cache = isObject(anthropic) ? (anthropic.cacheControl ?? anthropic.cache_control) : undefined;
  return isObject(cache) ? { cache } : {};
}

function textOf(text: string, cache: { cache?: JsonObject }): NeutralPart[] {
  return text === '' ? [] : [{ type: 'text', text, ...cache }];
}

function partsOf(part: JsonObject): NeutralPart[] {
  const cache = cacheOf(part);
  switch (part.type) {
    case 'text':
      return textOf(stringOr(part.text, ''), cache);
    case 'reasoning':
      return [thoughtOf(part)];
    case 'file':
      return [{ ...mediaOf(part), ...cache } as NeutralPart];
    case 'tool-call': {
      const { id, proof } = withoutProof(stringOr(part.toolCallId, ''));
      const { input } = part;
      const argumentsJson = typeof input === 'string' ? input || '{}' : JSON.stringify(input ?? {});
      const signed = proof === null ? {} : { signature: proof.payload, vendor: proof.vendor };
      return [{ type: 'tool-call', id, name: stringOr(part.toolName, ''), argumentsJson, ...signed, ...cache }];
    }
    case 'tool-result':
      return [{ ...resultOf(part), ...cache }];
    default:
      return [{ type: 'vendor', vendor, block: part }];
  }
}

/** Proofs come back where they were put: in `providerOptions`. */
function thoughtOf({ text, providerOptions }: JsonObject): NeutralPart {
  const options = isObject(providerOptions) ? providerOptions : {};
  const gatewayOptions = isObject(options[ours]) ? options[ours] : {};
  const words = stringOr(text, '');
  const redacted = typeof gatewayOptions.redacted === 'string' ? unseal(gatewayOptions.redacted) : null;
  if (redacted !== null) return { type: 'redacted-reasoning', data: redacted.payload, vendor: redacted.vendor };
  const proof = typeof gatewayOptions.signature === 'string' ? unseal(gatewayOptions.signature) : null;
  if (proof !== null) return { type: 'reasoning', text: words, signature: proof.payload, vendor: proof.vendor };
  const { anthropic } = options;
  const signature = isObject(anthropic) ? anthropic.signature : null;
  if (typeof signature !== 'string') return { type: 'reasoning', text: words };
  return { type: 'reasoning', text: words, signature, vendor: 'anthropic-messages' };
}

/** A file of version 4 says what its data is; before, a text is an address or base64. */
function mediaOf({ data, mediaType, filename }: JsonObject): NeutralPart {
  const type = stringOr(mediaType, '').toLowerCase();
  const source = sourceOf(data, type);
  if (type.startsWith('image/') || type === 'image') return { type: 'image', source: withType(source, 'image/png') };
  if (type.startsWith('audio/') && source.kind === 'base64') {
    const format = type.slice('audio/'.length).replace('mpeg', 'mp3').replace('x-wav', 'wav');
    return { type: 'audio', format, base64: source.base64 };
  }
  return { type: 'document', source, ...(typeof filename === 'string' && { name: filename }) };
}

/** `image/*` and `image` leave the kind of a picture open. */
function withType(source: MediaSource, usual: string): MediaSource {
  const isOpen = source.kind === 'base64' && !/^image\/[a-z]/.test(source.mediaType);
  return isOpen ? { ...source, mediaType: usual } : source;
}

function sourceOf(data: JsonValue | undefined, mediaType: string): MediaSource {
  if (typeof data === 'string') {
    if (/^https?:/.test(data)) return { kind: 'url', url: data };
    const inline = /^data:([^;,]{1,100});base64,/.exec(data.slice(0, 200));
    return inline === null
      ? { kind: 'base64', mediaType, base64: data }
      : { kind: 'base64', mediaType: inline[1] ?? mediaType, base64: data.slice(inline[0].length) };
  }
  if (!isObject(data)) return { kind: 'base64', mediaType, base64: '' };
  if (data.type === 'text') {
    return { kind: 'base64', mediaType, base64: Buffer.from(stringOr(data.text, '')).toString('base64') };
  }
  if (data.type === 'reference') {
    const [id] = Object.values(isObject(data.reference) ? data.reference : {});
    return { kind: 'file-id', fileId: stringOr(id, '') };
  }
  return sourceOf(data.type === 'url' ? data.url : data.data, mediaType);
}

function resultOf({ toolCallId, output }: JsonObject): NeutralPart & { type: 'tool-result' } {
  const { type, value, reason } = isObject(output) ? output : {};
  const callId = withoutProof(stringOr(toolCallId, '')).id;
  const isError = type === 'error-text' || type === 'error-json' || type === 'execution-denied';
  if (type === 'content' && Array.isArray(value)) {
    return { type: 'tool-result', callId, parts: value.filter(isObject).flatMap(innerPart), isError };
  }
  const outputValue = type === 'execution-denied' ? (reason ?? 'The user does not allow this call.') : (value ?? null);
  const text = typeof outputValue === 'string' ? outputValue : JSON.stringify(outputValue);
  return { type: 'tool-result', callId, parts: [{ type: 'text', text }], isError };
}

/** `media`, `image-data` and others are names of earlier versions. */
function innerPart(part: JsonObject): NeutralPart[] {
  const { type, data, url, mediaType } = part;
  if (type === 'text') return textOf(stringOr(part.text, ''), {});
  const kind = jsonText(type).startsWith('image') ? 'image/png' : 'application/octet-stream';
  const given = data ?? url;
  if (given === undefined) return [{ type: 'vendor', vendor, block: part }];
  return [mediaOf({ ...part, data: given, mediaType: mediaType ?? kind })];
}
