import { threadPort } from '../../../kernel/threads/thread-port.ts';
import { blackMask } from './black-mask.ts';
import { type ImageWork, type ReadImages, readImages } from './image-codec.ts';

threadPort().on('message', ({ id, bytes, ...order }: ImageWork) => {
  try {
    const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (order.task === 'mask') {
      threadPort().postMessage({ id, result: blackMask(given, order.as) });
      return;
    }
    const result = readImages(given, order.format, order.as);
    threadPort().postMessage({ id, result }, 'class' in result ? [] : memoryOf(result));
  } catch (error) {
    threadPort().postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

function memoryOf({ images }: ReadImages): ArrayBuffer[] {
  return images.flatMap((image) => ('content' in image ? [image.content.buffer] : []));
}
