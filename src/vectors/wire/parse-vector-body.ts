import { isUtf8 } from 'node:buffer';
import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, repeatedName, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { loneSurrogateIn } from '../../kernel/lone-surrogate.ts';
import { whereJsonFails } from '../../kernel/where-json-fails.ts';
import { keepPayloadDigits } from '../exact-json.ts';
import { measureNesting } from './measure-nesting.ts';

/** The body of a call: a JSON object that can be read in one way only. Throws a FailureError (400). */
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
    refuseBody(name, `The body has ${name === null ? 'two members with the same name' : `more than one '${name}'`}.`);
  }
  if (raw.includes('\\u') && halfOfPair.test(text)) {
    const path = loneSurrogateIn(value, '');
    if (path !== null) refuseBody(path, `Invalid '${path}': it holds half of a surrogate pair. Send valid Unicode.`);
  }
  keepPayloadDigits(value, text);
  return value;
}

// In valid UTF-8 only an escape can hold half of a pair.
const halfOfPair = /\\u[dD][89a-fA-F]/;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const bare = bareNumberIn(text);
    if (bare !== null) refuseBody(bare.path, `${bare.path}: ${bare.word} is not JSON. Send a finite number.`);
    return refuseBody(null, `The body is not valid JSON: ${whereJsonFails(error, text)}.`);
  }
}

function refuseBody(param: string | null, message: string): never {
  throw new FailureError(invalid(param, message));
}

/** A number that languages print and JSON does not have. */
interface BareNumber {
  /** Its path, such as `points[2].vector[7]`. */
  path: string;
  word: string;
}

const structureOrBare = /["[\]{},:]|-?(?:NaN|Infinity)/g;
const depthMax = 64;
const pathCharsMax = 200;

/**
 * The first NaN or Infinity of a text that `JSON.parse` refused: most often a program's output for a vector gone wrong.
 * Null when there is none, or the text before it is not JSON either.
 */
function bareNumberIn(text: string): BareNumber | null {
  if (!/NaN|Infinity/.test(text)) return null;
  // A step is a key, or the index of an array's element.
  const steps: (string | number)[] = [];
  let lastString = '';
  structureOrBare.lastIndex = 0;
  for (let match = structureOrBare.exec(text); match !== null; match = structureOrBare.exec(text)) {
    const word = match[0];
    const last = steps.at(-1);
    if (word === '{' || word === '[') {
      if (steps.length === depthMax) return null;
      steps.push(word === '{' ? '' : 0);
    } else if (word === '}' || word === ']') {
      steps.pop();
    } else if (word === ',') {
      if (typeof last === 'number') steps[steps.length - 1] = last + 1;
    } else if (word === ':') {
      if (typeof last === 'string') steps[steps.length - 1] = lastString;
    } else if (word === '"') {
      const close = closingQuote(text, match.index + 1);
      if (close < 0) return null;
      lastString = text.slice(match.index + 1, Math.min(close, match.index + 1 + pathCharsMax));
      structureOrBare.lastIndex = close + 1;
    } else {
      return { path: pathOf(steps), word };
    }
  }
  return null;
}

function closingQuote(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '"') return at;
    if (text[at] === '\\') at += 1;
  }
  return -1;
}

function pathOf(steps: readonly (string | number)[]): string {
  let path = '';
  for (const step of steps) path += typeof step === 'number' ? `[${step}]` : path === '' ? step : `.${step}`;
  return path.slice(0, pathCharsMax) || 'body';
}
