import { largeEventBytesMax } from '../../../kernel/limits.ts';
import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeStream, fold } from './encode-answer.ts';
import { encodeRequest, encoderFor } from './encode-request.ts';
import { errorBody, errorFrame, readError } from './errors.ts';
import { inlineFiles } from './inline-files.ts';
import { readInPassing } from './read-in-passing.ts';
import { objects, readForCount, readRequest } from './read-request.ts';
import { requestSchema } from './request-fields.ts';
import { vendor } from './wire.ts';

/** Anthropic's Messages format, as callers and as providers speak it. */
export const anthropicMessages: CallerDialect & UpstreamDialect = {
  id: vendor,
  readRequest,
  requestSchema,
  objects,
  inlineFiles,
  readForCount,
  encodeRequest,
  encoderFor,
  encodeStream,
  fold,
  errorBody,
  errorFrame,
  decodeStream,
  decodeWhole,
  readInPassing,
  usageFirst: true,
  readError,
  // A PDF that the model fetched comes whole.
  eventBytesMax: largeEventBytesMax,
};
