import type { EmbeddingEngine } from '../../../engines/embedding-engine.ts';
import type { BodyReader } from '../../spine/body-reader.ts';
import type { SpineServices } from '../../spine/services.ts';
import type { EmbeddingBody, EmbeddingBodyKind } from './embedding-body.ts';
import type { EmbeddingCodec } from './embedding-codec.ts';

export interface EmbeddingServices extends SpineServices {
  bodies: BodyReader<Record<EmbeddingBodyKind, EmbeddingBody>>;
  embeddingCodec: EmbeddingCodec;
  /** Models of this process that make vectors, by their id. */
  engines: ReadonlyMap<string, EmbeddingEngine>;
}
