import { parentPort } from 'node:worker_threads';
import type { ImageFormatId, MaskedAs } from '../dialects/images/format.ts';
import { blackMask } from './black-mask.ts';
import { type PictureForm, type ReadImages, readImages } from './image-codec.ts';

/** Orders to the worker; every message is answered once, with the same `id`. */
export type ImageWork = { id: number; bytes: Uint8Array<ArrayBuffer> } & (
  | { task: 'read'; format: ImageFormatId; as: PictureForm }
  | { task: 'mask'; as: MaskedAs }
);

parentPort!.on('message', ({ id, bytes, ...order }: ImageWork) => {
  try {
    const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (order.task === 'mask') {
      parentPort!.postMessage({ id, result: blackMask(given, order.as) });
      return;
    }
    const result = readImages(given, order.format, order.as);
    parentPort!.postMessage({ id, result }, 'class' in result ? [] : memoryOf(result));
  } catch (error) {
    parentPort!.postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

function memoryOf({ images }: ReadImages): ArrayBuffer[] {
  return images.flatMap((image) => ('content' in image ? [image.content.buffer] : []));
}
