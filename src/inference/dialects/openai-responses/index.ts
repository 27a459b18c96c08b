import type { CallerDialect, UpstreamDialect } from '../dialect.ts';
import { decodeStream } from './decode-stream.ts';
import { decodeWhole } from './decode-whole.ts';
import { encodeRequest } from './encode-request.ts';
import { encodeStream } from './encode-stream.ts';
import { errorBody, errorFrame } from './errors.ts';
import { fold, gatherWhole } from './gather-whole.ts';
import { objectsIn } from './named-objects.ts';
import { readError } from './read-error.ts';
import { readInPassing } from './read-in-passing.ts';
import { readRequest } from './read-request.ts';
import { openAiResponsesId, responsesEventBytesMax } from './wire.ts';

/** OpenAI's Responses, as callers and as providers speak them. */
export const openAiResponses: CallerDialect & UpstreamDialect = {
  id: openAiResponsesId,
  readRequest,
  objectsIn,
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
  eventBytesMax: responsesEventBytesMax,
};
