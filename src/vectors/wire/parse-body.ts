import { isUtf8 } from 'node:buffer';
import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { repeatedName, scanJson } from '../../kernel/json-scan.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { loneSurrogateIn } from '../../kernel/lone-surrogate.ts';
import { whereJsonFails } from '../../kernel/where-json-fails.ts';
import { bareNumberIn } from './bare-number.ts';
import { measureNesting } from './measure-nesting.ts';

/** The body of a call: a JSON object that there is one way to read. Throws a FailureError (400). */
export function parseBody(body: Uint8Array): JsonObject {
  const raw = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!isUtf8(raw)) refuseBody(null, 'The body is not valid UTF-8.');
  const { tooDeep, members } = measureNesting(raw, jsonDepthMax);
  if (tooDeep) refuseBody(null, `The body nests deeper than ${jsonDepthMax} levels.`);
  const text = raw.toString('utf8');
  const value = parse(text);
  if (!isObject(value)) refuseBody(null, 'The body must be a JSON object.');
  if (Object.keys(value).length !== members) {
    const name = repeatedName(raw, scanJson(raw, jsonDepthMax).members);
    refuseBody(name, `The body has more than one ${name === null ? 'member of one name' : `'${name}'`}.`);
  }
  if (raw.includes('\\u') && halfOfPair.test(text)) {
    const path = loneSurrogateIn(value, '');
    if (path !== null) {
      refuseBody(path, `Invalid '${path}': it holds half of a surrogate pair; send valid Unicode.`);
    }
  }
  return value;
}

// Only an escape can hold half of a pair in valid UTF-8.
const halfOfPair = /\\u[dD][89a-fA-F]/;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const bare = bareNumberIn(text);
    if (bare !== null) refuseBody(bare.path, `${bare.path}: ${bare.word} is not JSON; send a finite number.`);
    return refuseBody(null, `The body is not valid JSON: ${whereJsonFails(error)}.`);
  }
}

function refuseBody(param: string | null, message: string): never {
  throw new FailureError(invalid(param, message));
}
