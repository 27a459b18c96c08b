import { largeEventBytesMax } from '../../../kernel/limits.ts';
import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { readByDecoder } from '../read-by-decoder.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeStream, fold } from './encode-answer.ts';
import { encodeRequest, encoderFor, withOperatorFields } from './encode-request.ts';
import { errorBody, errorFrame, errorHeaders, readError } from './errors.ts';
import { converseFrames } from './event-frames.ts';
import { objects, readRequest } from './read-request.ts';
import { requestSchema } from './request-fields.ts';
import { vendor } from './wire.ts';

/** Usage comes behind the end of the message; an answer without it is whole. */
const withoutUsage = ': no usage\n\n';

/** Amazon Bedrock's Converse and ConverseStream, as callers and as Bedrock itself speak them. */
export const bedrockConverse: CallerDialect & UpstreamDialect = {
  id: vendor,
  wire: converseFrames,
  readRequest,
  requestSchema,
  objects,
  encodeRequest,
  encoderFor,
  withOperatorFields,
  mediaByUrl: 'fetch',
  encodeStream,
  fold,
  errorBody,
  errorHeaders,
  errorFrame,
  decodeStream,
  decodeWhole,
  readInPassing: () => readByDecoder(decodeStream(), decodeWhole, withoutUsage),
  readError,
  eventBytesMax: largeEventBytesMax,
};
