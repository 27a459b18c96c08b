import type { CallerDialectId } from '../../formats/dialects/dialect.ts';
import { exactly } from '../../formats/neutral/json-texts.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { didYouMean } from '../../kernel/nearest.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import {
  type BodyAddition,
  mayNamePrompt,
  type PromptNamed,
  promptNamed,
  withAddition,
} from '../models/prompted-body.ts';
import { filled, type PromptTable } from '../models/prompts.ts';
import type { BodyLooks } from './body-reader.ts';
import type { ModelCall } from './model-call.ts';

/** The input of an endpoint of conversations, into which a prompt or a variant puts what it has. */
export interface AddableInput<I> {
  /** Null: it names none, or is no object that can be read. */
  named(): PromptNamed | null | Failure | Promise<PromptNamed | null | Failure>;
  with(addition: BodyAddition): I | Failure | Promise<I | Failure>;
}

/** An input that is the bytes of a body. */
export function addableBody(
  bodies: BodyLooks,
  { principal: { tenant } }: Pick<ModelCall, 'principal'>,
  raw: Buffer,
  kind: string,
): AddableInput<Buffer> {
  return {
    named: () => (mayNamePrompt(raw) ? bodies.look(tenant, raw, kind, { get: 'prompt' }) : null),
    with: (addition) => bodies.look(tenant, raw, kind, { get: 'added', addition }),
  };
}

/** Null: it names none, or is no object that can be read. */
export function promptIn(raw: Buffer, dialect: CallerDialectId): PromptNamed | null | Failure {
  const parsed = parseObject(raw);
  const named = isFailure(parsed) ? null : promptNamed(parsed.body, dialect);
  if (named === null || !('fault' in named)) return named;
  return invalid(named.param, `${named.param}: ${named.fault}.`);
}

/** Body with additions: one that `promptIn` could read, or that was read before. */
export function withAdded(raw: Buffer, dialect: CallerDialectId, addition: BodyAddition): Buffer | Failure {
  const added = withAddition(exactly(raw.toString('utf8')) as JsonObject, dialect, addition);
  return Buffer.from(JSON.stringify(added));
}

/** The input with the prompt that it names; the same where it names none of ours. `onNamed` gets it as `name@3`. */
export async function throughPrompt<I>(
  prompts: PromptTable,
  input: I,
  body: AddableInput<I>,
  onNamed: ((prompt: string) => void) | null = null,
): Promise<I | Failure> {
  const named = await body.named();
  if (isFailure(named)) return named;
  if (named === null) return input;
  const { by, name, ref, variables } = named;
  const prompt = prompts.find(name, ref);
  if (prompt === null) return by === 'prompt' ? input : unknownPrompt(name, prompts.names);
  if (isFailure(prompt)) return prompt;
  if (by === 'model' && prompt.model === undefined) {
    const message = `The prompt '${name}' names no model. Send a model, and "prompt":{"id":"${name}"}.`;
    return invalid('model', message);
  }
  const messages = filled(prompt, variables);
  if (isFailure(messages)) return messages;
  onNamed?.(`${name}@${prompt.number}`);
  const { parameters, model } = prompt;
  return await body.with({ messages, parameters, over: false, model: model ?? null });
}

function unknownPrompt(name: string, names: readonly string[]): Failure {
  const shown = name.slice(0, 64);
  return { kind: 'not-found', message: `There is no prompt '${shown}'${didYouMean(shown, names)}.`, param: 'model' };
}
