import { directMember } from '../../kernel/known-entry.ts';
import type { MediaSource, NeutralMessage, NeutralPart, NeutralRequest } from './request.ts';

/** An image, a sound, a video or a file at a URL. */
export interface MediaUrl {
  url: string;
  /** The part that names it, in the caller's body. */
  param: string;
  kind: 'image' | 'audio' | 'video' | 'document';
}

/** Fetched content, by URL. */
export type FetchedMedia = Readonly<Record<string, { mediaType: string; base64: string }>>;

/** All URLs that the messages name, in order. */
export function mediaUrlsIn({ messages }: NeutralRequest): MediaUrl[] {
  const found: MediaUrl[] = [];
  messages.forEach((message, m) => {
    let content = 0;
    for (const part of message.parts) {
      if (part.type === 'tool-result') {
        for (const [i, inner] of part.parts.entries()) look(inner, `messages[${m}].content[${i}]`);
      } else if (!besideContent(part)) look(part, `messages[${m}].content[${content++}]`);
    }
  });
  return found;

  function look(part: NeutralPart, param: string): void {
    if (part.type !== 'image' && part.type !== 'document') return;
    if (part.source.kind === 'url') found.push({ url: part.source.url, param, kind: part.type });
  }
}

function besideContent(part: NeutralPart): boolean {
  return part.type === 'tool-call' || part.type === 'reasoning' || part.type === 'redacted-reasoning';
}

/** The same request with fetched content in place of its URLs; others stay. */
export function withMediaInline(request: NeutralRequest, fetched: FetchedMedia): NeutralRequest {
  return { ...request, messages: request.messages.map((message) => inlined(message, fetched)) };
}

function inlined(message: NeutralMessage, fetched: FetchedMedia): NeutralMessage {
  return { ...message, parts: message.parts.map((part) => inlinedPart(part, fetched)) };
}

function inlinedPart(part: NeutralPart, fetched: FetchedMedia): NeutralPart {
  switch (part.type) {
    case 'image':
    case 'document':
      return { ...part, source: inlinedSource(part.source, fetched) };
    case 'tool-result':
      return { ...part, parts: part.parts.map((inner) => inlinedPart(inner, fetched)) };
    default:
      return part;
  }
}

function inlinedSource(source: MediaSource, fetched: FetchedMedia): MediaSource {
  const media = source.kind === 'url' ? directMember(fetched, source.url) : undefined;
  return media === undefined ? source : { kind: 'base64', ...media };
}
