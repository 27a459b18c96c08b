import type { SpooledFile } from '../../net/spool.ts';
import type { ImageSource } from '../dialects/images/format.ts';
import type { PictureType } from '../dialects/images/picture-type.ts';

/** Pictures to be changed, on disk while their request runs. */
export interface ImageEdit {
  pictures: readonly UploadedPicture[];
  /** Its transparent parts are those to be made anew. */
  mask: UploadedPicture | null;
}

export interface UploadedPicture {
  type: PictureType;
  file: Pick<SpooledFile, 'bytes' | 'read'>;
}

/** Of a request, when an upstream takes pictures inside its JSON. */
export const inlineBytesMax = 20 * 1024 * 1024;

export function bytesOf({ pictures, mask }: ImageEdit): number {
  return [...pictures, ...(mask === null ? [] : [mask])].reduce((sum, { file }) => sum + file.bytes, 0);
}

/** Read into memory: for formats that take them inside their JSON, up to `inlineBytesMax`. */
export async function inlineSource({ pictures, mask }: ImageEdit): Promise<ImageSource> {
  const read = [];
  for (const picture of pictures) read.push(await inline(picture));
  return { pictures: read, mask: mask === null ? null : await inline(mask) };
}

async function inline({ type, file }: UploadedPicture): Promise<{ mediaType: string; base64: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.read()) chunks.push(chunk);
  return { mediaType: type, base64: Buffer.concat(chunks).toString('base64') };
}
