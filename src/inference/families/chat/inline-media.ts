import { randomBytes } from 'node:crypto';
import type { FetchedMedia } from '../../../formats/neutral/media-urls.ts';
import { createTurns } from '../../../kernel/sharing/turns.ts';

/** Fetched content as it came, by URL. */
export type FetchedBytes = Readonly<Record<string, { mediaType: string; bytes: Buffer }>>;

/** A multiple of three, so that no piece ends in padding: half a millisecond of the loop. */
const pieceBytes = 384 * 1024;
/** Characters of base64: engines take a text of so many for content. */
const markBytes = 64;

/** Pieces that are written in one turn of the loop; of one tenant a single one. */
const turns = createTurns({ name: 'Pictures to send', places: 2, waitingMax: Number.POSITIVE_INFINITY });

/**
 * Media of one request. Bodies are encoded with a mark in place of each content, which no caller can guess, and filled
 * afterwards: 20 MB of base64 in a body that is written as JSON hold up the loop for 60 ms.
 */
export class InlineMedia {
  /** For encoders: marks. Texts are there, since encoders read them. */
  readonly media: FetchedMedia;
  readonly #contents = new Map<string, Buffer>();

  constructor(fetched: FetchedBytes) {
    const media: Record<string, FetchedMedia[string]> = Object.create(null);
    for (const [url, { mediaType, bytes }] of Object.entries(fetched)) {
      const isText = mediaType.startsWith('text/');
      const base64 = isText ? bytes.toString('base64') : randomBytes((markBytes / 4) * 3).toString('base64');
      if (!isText) this.#contents.set(base64, bytes);
      media[url] = { mediaType, base64 };
    }
    this.media = media;
  }

  /** The body with content in place of the marks, written in pieces with turns of the loop between. */
  async fill(body: Buffer | string, tenant: string): Promise<Buffer> {
    const marked = Buffer.from(body as string);
    const places = this.#placesIn(marked);
    const grownBytes = places.reduce((sum, { content }) => sum + Math.ceil(content.length / 3) * 4 - markBytes, 0);
    const filled = Buffer.allocUnsafeSlow(marked.length + grownBytes);
    let read = 0;
    let written = 0;
    for (const { at, content } of places) {
      written += marked.copy(filled, written, read, at);
      read = at + markBytes;
      for (let done = 0; done < content.length; done += pieceBytes) {
        const turn = await turns.take(tenant, null);
        written += filled.write(content.toString('base64', done, done + pieceBytes), written, 'latin1');
        setImmediate(turn.giveBack);
      }
    }
    marked.copy(filled, written, read);
    return filled;
  }

  /** In the order of the body, which may name one more than once. */
  #placesIn(marked: Buffer): { at: number; content: Buffer }[] {
    const places: { at: number; content: Buffer }[] = [];
    for (const [mark, content] of this.#contents)
      for (let at = marked.indexOf(mark); at !== -1; at = marked.indexOf(mark, at + markBytes))
        places.push({ at, content });
    return places.sort((a, b) => a.at - b.at);
  }
}
