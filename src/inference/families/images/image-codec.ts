import type { DecodedImage, ImageFormatId, ImageTokens, MaskedAs } from '../../../formats/media/images/format.ts';
import { imageFormats } from '../../../formats/media/images/index.ts';
import { type DrawnType, drawnTypeOf } from '../../../formats/media/images/picture-type.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { offLoopBodyBytes } from '../../../kernel/limits.ts';
import { parseAnswer } from '../../spine/answer-reader.ts';
import { createRestingThread } from '../../spine/resting-thread.ts';

/** Orders to the worker; every message is answered once, with the same `id`. */
export type ImageWork = { id: number; bytes: Uint8Array<ArrayBuffer> } & (
  | { task: 'read'; format: ImageFormatId; as: PictureForm }
  | { task: 'mask'; as: MaskedAs }
);

/** Reads upstreams' pictures: small answers here and now, those of many megabytes in a thread (faults.md F24). */
export type ImageCodec = ReturnType<typeof createImageCodec>;

/** Output form of an image: its own bytes, or the ASCII of their base64. */
export type PictureForm = 'bytes' | 'base64';

export interface ReadImages {
  images: readonly ReadImage[];
  usage: ImageTokens | null;
  reported: JsonObject;
}

/** A picture that was looked at, or the URL of one. */
export type ReadImage = (CheckedPicture | { url: string }) & { revisedPrompt: string | null };

export interface CheckedPicture {
  type: DrawnType;
  form: PictureForm;
  content: Uint8Array<ArrayBuffer>;
}

/** The concurrent calls that a request may have bound the thread's queue. */
export function createImageCodec() {
  const thread = createRestingThread(new URL('./image-worker.ts', import.meta.url), 'image worker');
  return {
    /** An upstream's 2xx body, whose memory may be taken away. */
    async read(tenant: string, bytes: Buffer, format: ImageFormatId, as: PictureForm): Promise<ReadImages | Fault> {
      if (bytes.length <= offLoopBodyBytes) return readImages(bytes, format, as);
      const movable = new Uint8Array(bytes);
      return thread.ask(tenant, (id) => ({
        message: { id, bytes: movable, task: 'read', format, as } satisfies ImageWork,
        transfer: [movable.buffer],
      }));
    },
    /** `blackMask`, always in a thread. */
    mask(tenant: string, png: Buffer, as: MaskedAs): Promise<Uint8Array<ArrayBuffer> | Fault> {
      const bytes = new Uint8Array(png);
      return thread.ask(tenant, (id) => ({
        message: { id, bytes, task: 'mask', as } satisfies ImageWork,
        transfer: [bytes.buffer],
      }));
    },
    close: thread.close,
  };
}

/** Synchronous: see `ImageCodec`. */
export function readImages(bytes: Buffer, format: ImageFormatId, as: PictureForm): ReadImages | Fault {
  const parsed = parseAnswer(bytes);
  const decoded = parsed.fault ?? imageFormats[format].decode(parsed.value);
  if ('class' in decoded) return decoded;
  const images: ReadImage[] = [];
  for (const image of decoded.images) {
    const read = readImage(image, as);
    if (read === null)
      return fault('malformed', 'returned something that is not a complete PNG, JPEG, WebP, GIF or SVG');
    images.push(read);
  }
  return { images, usage: decoded.usage, reported: decoded.reported };
}

function readImage(image: DecodedImage, as: PictureForm): ReadImage | null {
  const { revisedPrompt } = image;
  if ('url' in image) return { url: image.url, revisedPrompt };
  const picture = checkedPicture(Buffer.from(image.base64, 'base64'), as);
  return picture === null ? null : { ...picture, revisedPrompt };
}

/** Null when the bytes are not an image. */
export function checkedPicture(bytes: Buffer, as: PictureForm): CheckedPicture | null {
  const type = drawnTypeOf(bytes);
  if (type === null) return null;
  // New memory: that of small buffers is shared, and could not be handed over.
  const content =
    as === 'bytes' ? new Uint8Array(bytes) : new Uint8Array(Buffer.from(bytes.toString('base64'), 'latin1'));
  return { type, form: as, content };
}
