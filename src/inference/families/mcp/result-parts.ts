import { mediaTypeOf } from '../../../formats/neutral/media-type.ts';
import type { NeutralPart } from '../../../formats/neutral/request.ts';
import type { McpResult } from '../../../tools/mcp/session.ts';

/** A tool's result in parts for a model, in the order of the server. */
export interface ResultParts {
  parts: NeutralPart[];
  /** Kinds of media that no model would read; each has a word in its place. */
  lost: ReadonlySet<'image' | 'audio'>;
}

/** Types that every provider of models with vision reads. */
const pictureTypes: ReadonlySet<string | null> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
/** Characters of Base64 that hold all of the bytes by which a picture is recognized. */
const headChars = 24;

/** The texts have at most `textCharsMax` characters together. */
export function resultParts({ content, structuredContent }: McpResult, textCharsMax: number): ResultParts {
  const parts: NeutralPart[] = [];
  const lost = new Set<'image' | 'audio'>();
  let charsLeft = textCharsMax;
  const addText = (added: string) => {
    const before = parts.at(-1);
    const joint = before?.type === 'text' ? `${before.text}\n\n` : '';
    // A model's provider may refuse half of a character.
    const text = added.slice(0, charsLeft).toWellFormed();
    charsLeft -= text.length;
    if (text === '' && added !== '') return;
    if (before?.type === 'text') before.text = joint + text;
    else parts.push({ type: 'text', text });
  };
  for (const part of content) {
    const media = mediaOf(part);
    if (media === null) addText(textOf(part));
    else if (media.part !== null) parts.push(media.part);
    else {
      lost.add(media.kind);
      addText(`[${media.kind}]`);
    }
  }
  if (parts.length === 0) addText(structuredContent === undefined ? '' : JSON.stringify(structuredContent));
  return { parts, lost };
}

/** The same in words alone, for callers. */
export function textOfParts(parts: readonly NeutralPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n\n');
}

function textOf(part: McpResult['content'][number]): string {
  if (part.type === 'text') return part.text;
  if (part.type === 'resource' && 'text' in part.resource) return part.resource.text;
  return part.type === 'resource_link' ? `${part.name}: ${part.uri}` : `[${part.type}]`;
}

interface Media {
  kind: 'image' | 'audio';
  /** Null: no model would read it. */
  part: NeutralPart | null;
}

/** Null: the part is neither a picture nor sound. Only the kind of a part has been checked before. */
function mediaOf(part: McpResult['content'][number]): Media | null {
  if (part.type === 'image') return { kind: 'image', part: pictureOf(part.data) };
  if (part.type === 'audio') return { kind: 'audio', part: soundOf(part.data, part.mimeType) };
  if (part.type !== 'resource' || !('blob' in part.resource)) return null;
  const { blob, mimeType } = part.resource;
  return /^image\//i.test(String(mimeType)) ? { kind: 'image', part: pictureOf(blob) } : null;
}

function pictureOf(data: unknown): NeutralPart | null {
  if (!isBase64(data)) return null;
  const mediaType = mediaTypeOf(Buffer.from(data.slice(0, headChars), 'base64'));
  if (mediaType === null || !pictureTypes.has(mediaType)) return null;
  return { type: 'image', source: { kind: 'base64', mediaType, base64: data } };
}

function soundOf(data: unknown, mimeType: unknown): NeutralPart | null {
  const format = /^audio\/(?:x-)?([a-z0-9]{1,16})$/i.exec(String(mimeType))?.[1]?.toLowerCase();
  if (format === undefined || !isBase64(data)) return null;
  return { type: 'audio', format: format === 'mpeg' ? 'mp3' : format, base64: data };
}

function isBase64(data: unknown): data is string {
  return typeof data === 'string' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}
