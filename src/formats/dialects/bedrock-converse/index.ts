import { largeEventBytesMax } from '../../../kernel/limits.ts';
import type { UpstreamDialect } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeRequest, withOperatorFields } from './encode-request.ts';
import { readError } from './errors.ts';
import { vendor } from './wire.ts';

/** Amazon Bedrock's Converse and ConverseStream. No caller speaks it. */
export const bedrockConverse: UpstreamDialect = {
  id: vendor,
  encodeRequest,
  withOperatorFields,
  mediaByUrl: 'fetch',
  decodeStream,
  decodeWhole,
  readError,
  eventBytesMax: largeEventBytesMax,
};
