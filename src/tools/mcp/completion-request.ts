import { isObject, type JsonObject } from '../../kernel/json.ts';
import { ToolFields } from '../tool-fields.ts';

/** A request for values of an argument that a prompt, or a template of resources, has. */
export interface CompletionRequest {
  kind: 'prompt' | 'resource';
  /** The prompt's name, or the template's address. */
  of: string;
  /** The argument with its text so far, and the arguments that have their value already. */
  rest: JsonObject;
}

const nameChars = { min: 1, max: 256 };
const uriChars = { min: 1, max: 8_192 };
const valueChars = { min: 0, max: 8_192 };

/** Reads the parameters of MCP's `completion/complete`. Wrong ones throw a FailureError. */
export function completionRequestOf(params: JsonObject): CompletionRequest {
  const fields = new ToolFields(params, 'params');
  const ref = fields.object('ref') ?? fields.refuse('ref', 'an object');
  const argument = fields.object('argument') ?? fields.refuse('argument', 'an object');
  const name = argument.text('name', nameChars) ?? argument.refuse('name', 'the name of an argument');
  const value = argument.text('value', valueChars) ?? argument.refuse('value', 'the text so far');
  const known = fields.object('context')?.value('arguments');
  const rest = { argument: { name, value }, ...(isObject(known) && { context: { arguments: known } }) };
  if (ref.oneOf('type', ['ref/prompt', 'ref/resource'] as const) === 'ref/resource')
    return { kind: 'resource', of: ref.text('uri', uriChars) ?? ref.refuse('uri', 'the address of a template'), rest };
  return { kind: 'prompt', of: ref.text('name', nameChars) ?? ref.refuse('name', 'the name of a prompt'), rest };
}
