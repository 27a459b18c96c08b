import type { CallerDialect } from '../dialect.ts';
import { encodeStream, fold } from './encode-answer.ts';
import { errorBody, errorFrame } from './errors.ts';
import { eventsOf } from './read-answer.ts';
import { objects, readRequest } from './read-request.ts';
import { requestSchema } from './request-fields.ts';
import { vendor } from './wire.ts';

/** Calls of the AI SDK, as its gateway client sends them. No provider speaks it. */
export const aiSdk: CallerDialect = {
  id: vendor,
  readRequest,
  requestSchema,
  objects,
  encodeStream,
  fold,
  eventsOf,
  readInPassing() {
    throw new Error('no provider answers in the format of the AI SDK');
  },
  errorBody,
  errorFrame,
};
