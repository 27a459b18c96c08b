import { createReadStream } from 'node:fs';
import type { JsonWidth } from '../kernel/json.ts';
import { parseExact } from '../vectors/exact-json.ts';
import { CommandFailed, codeOf, unreadable } from './command-failed.ts';

/** A line of `culvert vectors export` that holds something; lines are counted from 1. */
export type ExportLine = { number: number; chars: number; width: JsonWidth; collection: string } & (
  | { kind: 'collection'; described: Record<string, unknown> }
  | { kind: 'point'; point: Record<string, unknown> }
);

/** A payload is at most 32 MB, as the API takes it, and a vector 65,536 numbers. */
const lineCharsMax = 64 * 1024 * 1024;

/** Throws a sentence when it is not an export, or, at its end, when it is cut short. */
export async function* readExportFile(file: string): AsyncGenerator<ExportLine> {
  let number = 0;
  let collection: string | null = null;
  let ended = false;
  for await (const text of linesOf(file)) {
    number++;
    const value = parsed(text, file, number);
    if (number === 1) {
      if (value.culvert_vectors !== 1) throw new CommandFailed(`${file} is not an export of culvert vectors.`);
    } else if (ended) throw broken(file, number);
    else if ('end' in value) ended = true;
    else if ('collection' in value) {
      const described = value.collection as Record<string, unknown> | null;
      if (typeof described !== 'object' || typeof described?.name !== 'string') throw broken(file, number);
      collection = described.name;
      yield { kind: 'collection', number, chars: text.length, width: widthOf(text), collection, described };
    } else {
      if (collection === null) throw broken(file, number);
      yield { kind: 'point', number, chars: text.length, width: widthOf(text), collection, point: value };
    }
  }
  if (!ended) throw new CommandFailed(`${file} is cut short after line ${number}.`);
}

/** At least what the server counts in it, since this counts signs within texts too. */
function widthOf(text: string): JsonWidth {
  const width = { structure: 0, commas: 0 };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === ',') width.commas++;
    else if (sign === ':' || sign === '{' || sign === '[') width.structure++;
  }
  return width;
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const pieces: string[] = [];
  let waitingChars = 0;
  try {
    for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
      let from = 0;
      for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
        pieces.push(chunk.slice(from, at));
        yield pieces.join('');
        pieces.length = 0;
        waitingChars = 0;
        from = at + 1;
      }
      pieces.push(chunk.slice(from));
      waitingChars += chunk.length - from;
      if (waitingChars > lineCharsMax) throw new CommandFailed(`${file} is not an export of culvert vectors.`);
    }
  } catch (error) {
    throw /^E[A-Z]/.test(codeOf(error)) ? unreadable(file, error) : error;
  }
  if (waitingChars > 0) yield pieces.join('');
}

function parsed(text: string, file: string, number: number): Record<string, unknown> {
  try {
    const value = parseExact(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw number === 1 ? new CommandFailed(`${file} is not an export of culvert vectors.`) : broken(file, number);
}

function broken(file: string, number: number): CommandFailed {
  return new CommandFailed(`${file} is cut short or damaged in line ${number}.`);
}
