import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { memberValue, parsedJson, scanJson } from '../../../kernel/json.ts';
import { jsonDepthMax } from '../../../kernel/limits.ts';
import { readInvokeBody } from './invoke-body.ts';
import { withPathMembers } from './path-members.ts';

/** Formats of conversations whose tokens AWS's CountTokens counts. */
export type CountedForm = 'anthropic-messages' | 'openai-chat' | 'bedrock-converse';

/** Conversation of a CountTokens call, with the model of the path. */
export interface CountedBody {
  form: CountedForm;
  body: Buffer;
}

/** More than any real request has: a body is looked through before it is known to be large. */
const widthMax = { structure: 200_000, commas: 2_000_000 };
const expected =
  "input: expected 'converse' with a conversation, or 'invokeModel' with the body of an InvokeModel in base64.";

/** Takes the conversation out of the body of AWS's CountTokens. Its bytes stay as they came. */
export function readCountBody(raw: Buffer, model: string): CountedBody | Failure {
  const input = memberOf(raw, 'input');
  const converse = input === null ? null : memberOf(input, 'converse');
  if (converse !== null) return counted('bedrock-converse', withPathMembers(converse, model, false));
  const invoke = input === null ? null : memberOf(input, 'invokeModel');
  const encoded = invoke === null ? null : memberOf(invoke, 'body');
  const body = encoded === null ? null : textOf(encoded);
  if (body === null) return invalid('input', expected);
  const read = readInvokeBody(Buffer.from(body, 'base64'), model, false);
  if (isFailure(read)) return read;
  const { form } = read;
  if (form === 'embeddings' || form === 'rerank') {
    const message =
      'Only conversations are counted. Bodies of texts to embed or to rank have no count before they run.';
    return invalid('input', message);
  }
  return counted(form, read.body);
}

function counted(form: CountedForm, body: Buffer): CountedBody | Failure {
  return { form, body };
}

/** Bytes of a member's value; null: there is none, or this is no object that can be looked through. */
function memberOf(object: Buffer, name: string): Buffer | null {
  const scan = scanJson(object, jsonDepthMax, widthMax);
  if (scan.tooWide || scan.afterBrace < 0) return null;
  const range = memberValue(object, scan.members, name);
  return range === null ? null : object.subarray(range.start, range.end);
}

function textOf(json: Buffer): string | null {
  const value = parsedJson(json.toString('utf8'));
  return typeof value === 'string' ? value : null;
}
