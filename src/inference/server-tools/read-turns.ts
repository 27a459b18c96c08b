import {
  jsonIn,
  type TextKind,
  type TextPath,
  type Texts,
  textsIn,
  withTexts,
} from '../../formats/neutral/json-texts.ts';
import type { NeutralMessage, NeutralPart, NeutralTool } from '../../formats/neutral/request.ts';
import type { ServerResult, ServerToolStep } from '../../formats/neutral/server-tool.ts';
import { type Failure, FailureError, isFailure } from '../../kernel/failure.ts';
import type { AnswerTexts } from '../models/steps.ts';
import type { ModelCall } from '../spine/model-call.ts';
import { filteredJson } from '../spine/steps/filtered-text.ts';

/** The steps of a request that look at what is added to it. */
type Looks = Pick<ModelCall, 'turns' | 'withhold'>;
type Answered = Pick<ModelCall, 'answerTexts'>;

/** Turns as the model may get them, once the steps of the request have read them. */
export async function readTurns(
  looks: Looks,
  messages: readonly NeutralMessage[],
): Promise<readonly NeutralMessage[] | Failure> {
  const read = await throughLooks(looks, { messages }, (added) => textsOfMessages(added.messages));
  return isFailure(read) ? read : read.messages;
}

/** Functions as the model may be offered them. Their names stay. */
export async function readTools(
  looks: Looks,
  tools: readonly NeutralTool[],
): Promise<readonly NeutralTool[] | Failure> {
  const textsOf = (added: { tools: readonly NeutralTool[] }) => textsIn(JSON.parse(JSON.stringify(added)));
  const read = await throughLooks(looks, { tools }, textsOf);
  return isFailure(read) ? read : read.tools;
}

/** The result as the caller may see it, once the filters of its answer have read it. */
export function readResult(call: Answered, result: ServerResult): ServerResult | Failure {
  const { failure, sources, text } = result;
  const read = throughFilters(call, { failure, sources, text }, 'tool-result');
  return isFailure(read) ? read : { ...result, ...read };
}

/** Arguments that came with the request, with the values that guards have taken out of it: as if the model made the call. */
export function readArguments({ answerTexts }: Answered, argumentsJson: string): string | Failure {
  const value = answerTexts === undefined ? null : jsonIn(argumentsJson);
  if (answerTexts === undefined || value === null) return argumentsJson;
  return failureOr(() => filteredJson(answerTexts, argumentsJson, value, 'tool-arguments'));
}

/** The list of a server's tools as the caller may see it. */
export function readList(call: Answered, step: ServerToolStep): ServerToolStep | Failure {
  if (step.at !== 'listed') return step;
  const read = throughFilters(call, { tools: step.tools }, 'tool-definition');
  return isFailure(read) ? read : { ...step, ...read };
}

function throughFilters<T extends { text: string } | { tools: unknown }>(
  { answerTexts }: Answered,
  shown: T,
  kind: TextKind,
): T | Failure {
  if (answerTexts === undefined) return shown;
  const json = JSON.stringify(shown);
  const texts: AnswerTexts = (place) => answerTexts({ ...place, isBeside: true });
  return failureOr(() => JSON.parse(filteredJson(texts, json, JSON.parse(json), kind)) as T);
}

function failureOr<T>(filter: () => T): T | Failure {
  try {
    return filter();
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
}

async function throughLooks<T extends { messages: unknown } | { tools: unknown }>(
  { turns = [], withhold }: Looks,
  added: T,
  textsOf: (added: T) => Texts,
): Promise<T | Failure> {
  let current = added;
  for (const look of turns) {
    const texts = textsOf(current);
    const verdict = await look({ texts: async () => texts, canonical: async () => null });
    if (verdict === null) continue;
    withhold?.();
    if ('refused' in verdict) return verdict.refused;
    current = JSON.parse(withTexts(JSON.stringify(current), verdict.changes)) as T;
  }
  return current;
}

function textsOfMessages(messages: readonly NeutralMessage[]): Texts {
  const found: Texts = { parts: [], unread: [] };
  for (const [at, { role, parts }] of messages.entries()) {
    addTexts(parts, ['messages', at, 'parts'], role === 'tool' ? 'tool-result' : 'assistant', found);
  }
  return found;
}

function addTexts(parts: readonly NeutralPart[], path: TextPath, kind: TextKind, found: Texts): void {
  for (const [at, part] of parts.entries()) {
    const place = [...path, at];
    switch (part.type) {
      case 'text':
        found.parts.push({ path: [...place, 'text'], kind, text: part.text });
        break;
      case 'refusal':
      case 'reasoning':
        found.parts.push({ path: [...place, 'text'], kind: part.type, text: part.text });
        break;
      case 'tool-call': {
        const { parts: inside, unread } = textsIn({ arguments: part.argumentsJson });
        const within = (inner: TextPath) => [...place, 'argumentsJson', ...inner.slice(1)];
        found.parts.push(...inside.map((one) => ({ ...one, path: within(one.path) })));
        found.unread.push(...unread.map((one) => ({ ...one, path: within(one.path) })));
        break;
      }
      case 'tool-result':
        addTexts(part.parts, [...place, 'parts'], 'tool-result', found);
        break;
      case 'image':
      case 'audio':
      case 'document':
        found.unread.push({ path: place, kind: 'bytes' });
        break;
      // What only its provider can read, and has written.
      case 'redacted-reasoning':
      case 'vendor':
        break;
    }
  }
}
