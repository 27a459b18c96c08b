import type { JsonObject } from '../../kernel/json.ts';
import type { MediaSource } from './request.ts';

/** A picture, sound or file that a model made as a part of its answer. */
export interface ProducedMedia {
  kind: 'image' | 'audio' | 'file';
  source: Exclude<MediaSource, { kind: 'file-id' }>;
  /** The prompt that the picture was drawn by, where the model wrote its own. */
  prompt?: string;
  /** `vendor`'s proof over the thought that led to it, which it wants back with the picture. */
  signature?: string;
  vendor?: string;
  /** The part as the dialect `vendor` tells it: that dialect repeats it, the others write their own. */
  vendorPart?: { vendor: string; block: JsonObject };
}

/** Bytes as base64. */
export function producedMedia(mediaType: string, base64: string): ProducedMedia {
  const type = mediaType.toLowerCase();
  const kind = type.startsWith('image/') ? 'image' : type.startsWith('audio/') ? 'audio' : 'file';
  return { kind, source: { kind: 'base64', mediaType: type, base64 } };
}

/** A picture by its address, which may be a data: URL. */
export function producedPicture(url: string): ProducedMedia {
  const data = /^data:([\w.+-]+\/[\w.+-]+)[^,]{0,100};base64,/.exec(url.slice(0, 300));
  if (data?.[1] === undefined) return { kind: 'image', source: { kind: 'url', url } };
  return producedMedia(data[1], url.slice(data[0].length));
}

/** The address of the result, a data: URL when it came as bytes. */
export function urlOfMedia({ source }: ProducedMedia): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.base64}`;
}
