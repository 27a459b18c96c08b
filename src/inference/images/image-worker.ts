import { parentPort } from 'node:worker_threads';
import type { ImageFormatId } from '../dialects/images/format.ts';
import { type PictureForm, type ReadImages, readImages } from './image-codec.ts';

/** Orders to the worker; every message is answered once, with the same `id`. */
export interface ImageWork {
  id: number;
  bytes: Uint8Array<ArrayBuffer>;
  format: ImageFormatId;
  as: PictureForm;
}

parentPort!.on('message', ({ id, bytes, format, as }: ImageWork) => {
  try {
    const result = readImages(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), format, as);
    parentPort!.postMessage({ id, result }, 'class' in result ? [] : memoryOf(result));
  } catch (error) {
    parentPort!.postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

function memoryOf({ images }: ReadImages): ArrayBuffer[] {
  return images.flatMap((image) => ('content' in image ? [image.content.buffer] : []));
}
