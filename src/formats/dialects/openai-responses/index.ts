import { largeEventBytesMax } from '../../../kernel/limits.ts';
import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { decodeStream, decodeWhole } from './decode-answer.ts';
import { encodeStream, fold } from './encode-answer.ts';
import { encodeRequest } from './encode-request.ts';
import { errorBody, errorFrame, readError } from './errors.ts';
import { inlineFiles } from './inline-files.ts';
import { objects } from './named-objects.ts';
import { gatherWhole, readInPassing } from './read-in-passing.ts';
import { readRequest } from './read-request.ts';
import { requestSchema } from './request-fields.ts';
import { openAiResponsesId } from './wire.ts';

/** OpenAI's Responses, as callers and as providers speak them. */
export const openAiResponses: CallerDialect & UpstreamDialect = {
  id: openAiResponsesId,
  readRequest,
  requestSchema,
  objects,
  inlineFiles,
  encodeRequest,
  encodeStream,
  fold,
  errorBody,
  errorFrame,
  decodeStream,
  decodeWhole,
  readInPassing,
  gatherWhole,
  readError,
  eventBytesMax: largeEventBytesMax,
};
