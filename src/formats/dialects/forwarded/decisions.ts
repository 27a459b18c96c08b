import { estimatedInput } from '../../neutral/usage.ts';
import { arrayOf, object, textOr } from '../../neutral/value-checks.ts';
import { neutralUsage } from '../openai-responses/read-usage.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { readUnstreamed, schemaBesideModel } from './read-fields.ts';
import { faultInList, readWholeInPassing } from './read-whole.ts';

const objects = (noun: string) => arrayOf(object, 1, Number.POSITIVE_INFINITY, noun);

/** Classes, scores and likelihoods of one input, by question: OpenAI's format. */
export const decisions: ForwardedEndpoint = {
  id: 'decisions',
  cost: 'chat',
  path: '/v1/decisions',
  summary: 'Answer questions about an input with probabilities',
  readRequest: readUnstreamed((raw, body) => estimatedInput(body, raw.length)),
  requestSchema: () =>
    schemaBesideModel(
      { input: textOr(objects('messages')), questions: objects('questions') },
      { input: 'a text or messages', questions: 'an array of questions' },
    ),
  readInPassing: () => readWholeInPassing((body) => faultInList(body, ['answers'], 1), neutralUsage),
};
