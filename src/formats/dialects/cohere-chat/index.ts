import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { readError } from '../openai-chat/errors.ts';
import { readByDecoder } from '../read-by-decoder.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeStream, fold } from './encode-answer.ts';
import { encodeRequest, encoderFor } from './encode-request.ts';
import { errorBody, errorFrame } from './errors.ts';
import { objects, readRequest } from './read-request.ts';
import { requestSchema } from './request-fields.ts';
import { vendor } from './wire.ts';

/** Cohere's Chat v2, as callers and as its provider speak it. */
export const cohereChat: CallerDialect & UpstreamDialect = {
  id: vendor,
  readRequest,
  requestSchema,
  objects,
  encodeRequest,
  encoderFor,
  encodeStream,
  fold,
  errorBody,
  errorFrame,
  decodeStream,
  decodeWhole,
  readInPassing: () => readByDecoder(decodeStream(), decodeWhole),
  readError,
};
