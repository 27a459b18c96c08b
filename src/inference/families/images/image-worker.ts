import { answerOrders } from '../../../kernel/threads/thread-port.ts';
import { blackMask } from './black-mask.ts';
import { type ImageWork, readImages } from './image-codec.ts';

answerOrders(
  ({ bytes, ...order }: ImageWork) => {
    const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return order.task === 'mask' ? blackMask(given, order.as) : readImages(given, order.format, order.as);
  },
  (result) =>
    'images' in result ? result.images.flatMap((image) => ('content' in image ? [image.content.buffer] : [])) : [],
);
