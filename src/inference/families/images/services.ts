import type { StorageBook } from '../../../books/metering/storage/storage-book.ts';
import type { BodyReader } from '../../spine/body-reader.ts';
import type { SpineServices } from '../../spine/services.ts';
import type { PictureFetcher } from './fetch-picture.ts';
import type { HostedFiles } from './hosted-files.ts';
import type { ImageBody } from './image-body.ts';
import type { ImageCodec } from './image-codec.ts';

export interface ImageServices extends SpineServices {
  bodies: BodyReader<{ images: ImageBody }>;
  imageCodec: ImageCodec;
  /** For upstreams that give their image by URL. */
  pictures: PictureFetcher;
  /** Generated files that callers fetch by a link. */
  files: HostedFiles;
  /** How much accounts keep. */
  storage: StorageBook;
}
