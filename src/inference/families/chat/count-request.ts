import type { CallerDialect, CallerDialectId, CountedRequest } from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { NamedObject } from '../../../formats/dialects/named-objects.ts';
import type { NeutralPart, NeutralRequest } from '../../../formats/neutral/request.ts';
import { estimatedTokens } from '../../../formats/neutral/usage.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { parseBody } from '../../../kernel/parse-object.ts';
import { namedIn } from './conversation-body.ts';

/** A checked body whose tokens were counted. */
export interface Counted {
  model: string;
  inputTokens: number;
}

/** A body to count, with the ids in it of objects at a provider. */
export type NamingCount = CountedRequest & { named: readonly NamedObject[] };

/** Checks a body that is to be counted. */
export function readForCount(raw: Buffer, dialectId: CallerDialectId): NamingCount | Failure {
  const parsed = parseBody(raw);
  if (isFailure(parsed)) return parsed;
  const dialect: CallerDialect = dialects[dialectId];
  const { body, scan } = parsed;
  const read =
    dialect.readForCount === undefined ? dialect.readRequest(raw, body, scan) : dialect.readForCount(raw, body, scan);
  if (isFailure(read)) return read;
  const named = namedIn(body, dialectId, scan);
  return isFailure(named) ? named : { ...read, named };
}

/** Reason why a body has no neutral form: the provider alone judges it. Null: it has one. */
export function uncheckedIn({ extras }: CountedRequest): Failure | null {
  return extras?.nativeFor === 'judge' ? extras.nativeOnly : null;
}

/** Tokens of every message and tool apart from its text. */
const wrappingTokens = 4;
/** A picture or a page: 1,092 × 1,092 pixels by Anthropic's rule, the largest it does not shrink. */
const mediaTokens = 1_590;

export function countRequest(request: NeutralRequest, countText: (text: string) => number): number {
  const texts: string[] = [];
  let others = 0;
  const take = (part: NeutralPart): void => {
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        texts.push(part.text);
        return;
      case 'tool-call':
        texts.push(part.name, part.argumentsJson);
        return;
      case 'tool-result':
        for (const inner of part.parts) take(inner);
        return;
      case 'document':
        if (part.source.kind === 'base64' && part.source.mediaType.startsWith('text/')) {
          texts.push(Buffer.from(part.source.base64, 'base64').toString('utf8'));
          return;
        }
        others += mediaTokens;
        return;
      case 'image':
        others += mediaTokens;
        return;
      case 'audio':
        others += estimatedTokens(part.base64.length / 16);
        return;
      case 'vendor':
        texts.push(JSON.stringify(part.block));
        return;
      case 'redacted-reasoning':
        return;
    }
  };
  for (const { parts } of request.messages) {
    others += wrappingTokens;
    for (const part of parts) take(part);
  }
  for (const { name, description, parameters } of request.tools ?? []) {
    others += wrappingTokens;
    texts.push(name, description ?? '', parameters === undefined ? '' : JSON.stringify(parameters));
  }
  return others + countText(texts.join('\n'));
}

/** A tokenizer's time grows with the square of a run without a boundary: longer ones are counted in pieces. */
const runCharsMax = 256;
const longRuns = /(\S{257,}|\s{257,})/;
/** More text than any model reads. The rest is estimated. */
const countedCharsMax = 8 * 1024 * 1024;

/** Tokens of `text` by a tokenizer, in time that grows with its length alone. */
export function countInPieces(text: string, countTokens: (text: string) => number): number {
  const head = text.length > countedCharsMax ? text.slice(0, countedCharsMax) : text;
  const rest = estimatedTokens(text.length - head.length);
  if (!longRuns.test(head)) return countTokens(head) + rest;
  let tokens = 0;
  for (const [i, piece] of head.split(longRuns).entries()) {
    // Every second one is a run.
    const chars = i % 2 === 1 ? runCharsMax : piece.length;
    for (let at = 0; at < piece.length; at += chars) tokens += countTokens(piece.slice(at, at + chars));
  }
  return tokens + rest;
}
