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
import { type Failure, failureIn, isFailure } from '../../kernel/failure.ts';
import type { AnswerTexts, JudgedText } from '../models/steps.ts';
import type { ModelCall } from '../spine/model-call.ts';
import { filteredJson } from '../spine/steps/filtered-text.ts';
import { collecting, replacing } from '../spine/steps/gated-events.ts';

/** The steps of a request that look at what is added to it. */
type Looks = Pick<ModelCall, 'turns' | 'withhold'>;
type Answered = Pick<ModelCall, 'answerTexts' | 'gate'>;

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

/** The result as the caller may see it, once the judge and the filters of its answer have read it. */
export async function readResult(call: Answered, result: ServerResult): Promise<ServerResult | Failure> {
  const { failure, sources, text } = result;
  const read = await throughAnswerSteps(call, { failure, sources, text }, 'tool-result');
  return isFailure(read) ? read : { ...result, ...read };
}

/** Arguments that came with the request, with the values that guards have taken out of it: as if the model made the call. */
export function readArguments({ answerTexts }: Pick<Answered, 'answerTexts'>, argumentsJson: string): string | Failure {
  const value = answerTexts === undefined ? null : jsonIn(argumentsJson);
  if (answerTexts === undefined || value === null) return argumentsJson;
  return failureOr(() => filteredJson(answerTexts, argumentsJson, value, 'tool-arguments'));
}

/** The list of a server's tools as the caller may see it. */
export async function readList(call: Answered, step: ServerToolStep): Promise<ServerToolStep | Failure> {
  if (step.at !== 'listed') return step;
  const read = await throughAnswerSteps(call, { tools: step.tools }, 'tool-definition');
  return isFailure(read) ? read : { ...step, ...read };
}

async function throughAnswerSteps<T extends { text: string } | { tools: unknown }>(
  { answerTexts, gate }: Answered,
  shown: T,
  kind: TextKind,
): Promise<T | Failure> {
  const through = (texts: AnswerTexts, json: string) =>
    filteredJson((place) => texts({ ...place, isBeside: true, isOfTool: true }), json, JSON.parse(json), kind);
  let json = JSON.stringify(shown);
  const judge = gate?.judge ?? null;
  if (judge !== null) {
    const texts: JudgedText[] = [];
    through(collecting(texts), json);
    const judged = await judge(texts);
    if (isFailure(judged)) return judged;
    json = through(replacing(judged), json);
  }
  return failureOr(() => JSON.parse(answerTexts === undefined ? json : through(answerTexts, json)) as T);
}

function failureOr<T>(filter: () => T): T | Failure {
  try {
    return filter();
  } catch (error) {
    return failureIn(error);
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
