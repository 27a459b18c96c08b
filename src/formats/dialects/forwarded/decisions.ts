import { estimatedInput } from '../../neutral/usage.ts';
import { arrayOf, asFailure, object, required, textOr } from '../../neutral/value-checks.ts';
import { neutralUsage } from '../openai-responses/read-usage.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { readUnstreamed, schemaBesideModel } from './read-fields.ts';
import { faultInList, readWholeInPassing } from './read-whole.ts';

const objects = (noun: string) => arrayOf(object, 1, Number.POSITIVE_INFINITY, noun);
const fields = { input: textOr(objects('messages')), questions: objects('questions') };
const send = { input: 'a text or messages', questions: 'an array of questions' };
const read = readUnstreamed((raw, body) => estimatedInput(body, raw.length));

/** Classes, scores and likelihoods of one input, by question: OpenAI's format. */
export const decisions: ForwardedEndpoint = {
  id: 'decisions',
  cost: 'chat',
  path: '/v1/decisions',
  summary: 'Answer questions about an input with probabilities',
  readRequest(raw, body, scan) {
    const wrong =
      required(body, 'input', fields.input, send.input) ??
      required(body, 'questions', fields.questions, send.questions);
    return wrong === null ? read(raw, body, scan) : asFailure(wrong);
  },
  requestSchema: () => schemaBesideModel(fields, send),
  readInPassing: () => readWholeInPassing((body) => faultInList(body, ['answers'], 1), neutralUsage),
};
