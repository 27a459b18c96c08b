import { isObject, type JsonObject, type JsonValue, stringOr } from '../../../kernel/json.ts';
import type { MediaSource, NeutralMessage, NeutralPart, NeutralTool } from '../../neutral/request.ts';
import { proofOver } from '../../neutral/thought-proof.ts';
import { type Sealed, unseal, withoutProof } from '../anthropic-messages/sealed-proof.ts';
import { mediaTypeOf } from './media-types.ts';
import { vendor } from './wire.ts';

/** Checked turns in the neutral form; a cache point marks the part before it. */
export function decodeTurns(messages: readonly JsonObject[]): NeutralMessage[] {
  return messages.map(({ role, content }) => ({
    role: role as 'user' | 'assistant' | 'system',
    parts: withCachePoints(content as JsonObject[], partsOf),
  }));
}

/** The instructions, as one message; none when they are empty. */
export function decodeSystem(system: JsonValue | undefined): NeutralMessage[] {
  const parts = withCachePoints(Array.isArray(system) ? system.filter(isObject) : [], partsOf);
  return parts.length === 0 ? [] : [{ role: 'system', parts }];
}

/** The tools that a caller runs. */
export function decodeTools(tools: readonly JsonObject[]): NeutralTool[] {
  return withCachePoints(tools, ({ toolSpec }) => {
    if (!isObject(toolSpec)) return [];
    const { name, description, inputSchema, strict } = toolSpec;
    const schema = isObject(inputSchema) && isObject(inputSchema.json) ? inputSchema.json : undefined;
    return [
      {
        name: stringOr(name, ''),
        ...(typeof description === 'string' && { description }),
        ...(schema !== undefined && { parameters: schema }),
        ...(strict === true && { strict }),
      },
    ];
  });
}

function withCachePoints<T extends object>(blocks: readonly JsonObject[], decode: (block: JsonObject) => T[]): T[] {
  const decoded: T[] = [];
  for (const block of blocks) {
    const { cachePoint } = block;
    if (!isObject(cachePoint)) decoded.push(...decode(block));
    else if (decoded.length > 0) {
      const cache: JsonObject = { type: 'ephemeral', ...(cachePoint.ttl === '1h' && { ttl: '1h' }) };
      decoded[decoded.length - 1] = { ...(decoded.at(-1) as T), cache };
    }
  }
  return decoded;
}

function partsOf(block: JsonObject): NeutralPart[] {
  const { text, image, document, audio, toolUse, toolResult, reasoningContent, searchResult } = block;
  const { citationsContent, guardContent, json } = block;
  if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }];
  if (isObject(image)) return [{ type: 'image', source: sourceOf(image, `image/${stringOr(image.format, 'png')}`) }];
  if (isObject(document)) return [...textsOf([{ text: document.context ?? null }]), documentOf(document)];
  if (isObject(audio) && isObject(audio.source)) {
    return [{ type: 'audio', format: stringOr(audio.format, 'wav'), base64: stringOr(audio.source.bytes, '') }];
  }
  // Those of a tool that Bedrock ran have a type.
  if (isObject(toolUse) && toolUse.type == null) return [callOf(toolUse)];
  if (isObject(toolResult) && (toolResult.type ?? 'tool_result') === 'tool_result') return [resultOf(toolResult)];
  if (isObject(reasoningContent)) return thoughtsOf(reasoningContent);
  if (isObject(searchResult)) return [foundOf(searchResult)];
  // Sources of an earlier answer say nothing to a model.
  if (isObject(citationsContent)) return textsOf(citationsContent.content);
  if (isObject(guardContent))
    return isObject(guardContent.image) ? partsOf(guardContent) : textsOf([guardContent.text ?? null]);
  if (json !== undefined) return [{ type: 'text', text: JSON.stringify(json) }];
  return [{ type: 'vendor', vendor, block }];
}

function textsOf(texts: JsonValue | undefined): NeutralPart[] {
  return (Array.isArray(texts) ? texts : []).flatMap((one): NeutralPart[] =>
    isObject(one) && typeof one.text === 'string' && one.text !== '' ? [{ type: 'text', text: one.text }] : [],
  );
}

function sourceOf({ source }: JsonObject, mediaType: string): MediaSource {
  const { bytes, s3Location } = isObject(source) ? source : {};
  if (isObject(s3Location)) return { kind: 'file-id', fileId: stringOr(s3Location.uri, '') };
  return { kind: 'base64', mediaType, base64: stringOr(bytes, '') };
}

function documentOf(document: JsonObject): NeutralPart {
  const { source, format, name, citations } = document;
  const { text, content } = isObject(source) ? source : {};
  const words = typeof text === 'string' ? text : Array.isArray(content) ? joinedTexts(content) : null;
  return {
    type: 'document',
    source: words === null ? sourceOf(document, mediaTypeOf(stringOr(format, 'txt'))) : textSource(words),
    ...(typeof name === 'string' && name !== '' && { name }),
    ...(isObject(citations) && citations.enabled === true && { cited: true as const }),
  };
}

function foundOf({ source, title, content, citations }: JsonObject): NeutralPart {
  return {
    type: 'document',
    source: textSource(joinedTexts(content)),
    name: [title, source].filter((text) => typeof text === 'string' && text !== '').join(' — '),
    ...(isObject(citations) && citations.enabled === true && { cited: true as const }),
  };
}

function joinedTexts(texts: JsonValue | undefined): string {
  return textsOf(texts)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n');
}

function textSource(text: string): MediaSource {
  return { kind: 'base64', mediaType: 'text/plain', base64: Buffer.from(text).toString('base64') };
}

function callOf({ toolUseId, name, input }: JsonObject): NeutralPart {
  const { id, proof } = withoutProof(stringOr(toolUseId, ''));
  return {
    type: 'tool-call',
    id,
    name: stringOr(name, ''),
    argumentsJson: JSON.stringify(input ?? {}),
    ...(proof !== null && { signature: proof.payload, vendor: proof.vendor }),
  };
}

function resultOf({ toolUseId, content, status }: JsonObject): NeutralPart {
  return {
    type: 'tool-result',
    callId: withoutProof(stringOr(toolUseId, '')).id,
    parts: withCachePoints(content as JsonObject[], partsOf),
    isError: status === 'error',
  };
}

function thoughtsOf({ reasoningText, redactedContent }: JsonObject): NeutralPart[] {
  if (typeof redactedContent === 'string') {
    const { vendor: of, payload: data } = unsealBlob(redactedContent) ?? { vendor, payload: redactedContent };
    return [{ type: 'redacted-reasoning', data, vendor: of }];
  }
  if (!isObject(reasoningText)) return [];
  const { text, signature } = reasoningText;
  const words = stringOr(text, '');
  if (typeof signature !== 'string' || signature === '') return [{ type: 'reasoning', text: words }];
  const proof = unseal(signature) ?? { vendor, payload: signature };
  return [{ type: 'reasoning', text: words, signature: proof.payload, vendor: proof.vendor }];
}

/** AWS's clients take a redacted thought for base64: another vendor's goes through them in it. */
function unsealBlob(base64: string): Sealed | null {
  return base64.startsWith(sealedBlob) ? unseal(Buffer.from(base64, 'base64').toString('latin1')) : null;
}

/** `culvert.` in base64, as far as what follows does not change it. */
const sealedBlob = 'Y3VsdmVydC';

/** True if a body may hold proofs of other vendors: cheap enough for every request. */
export function mayHoldSealed(raw: Buffer): boolean {
  return raw.includes('"culvert.') || raw.includes('__cv_') || raw.includes(sealedBlob);
}

/** The turns for Bedrock itself: proofs of other vendors mean nothing to it, nor do those over another text. */
export function withoutSealed(messages: readonly JsonObject[]): JsonObject[] {
  return messages.map((message) => ({ ...message, content: (message.content as JsonObject[]).flatMap(withoutProofs) }));
}

function withoutProofs(block: JsonObject): JsonObject[] {
  for (const name of ['toolUse', 'toolResult'] as const) {
    const one = block[name];
    if (isObject(one)) {
      return [{ ...block, [name]: { ...one, toolUseId: withoutProof(stringOr(one.toolUseId, '')).id } }];
    }
  }
  const { reasoningContent } = block;
  if (!isObject(reasoningContent)) return [block];
  const [thought] = thoughtsOf(reasoningContent);
  if (thought === undefined || !('vendor' in thought)) return [block];
  if (thought.vendor !== vendor) return [];
  if (thought.type !== 'reasoning' || !thought.signature) return [block];
  const signature = proofOver(thought.signature, thought.text);
  return signature === null ? [] : [{ reasoningContent: { reasoningText: { text: thought.text, signature } } }];
}
