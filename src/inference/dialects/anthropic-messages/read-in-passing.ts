import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { Fault } from '../../neutral/outcome.ts';
import { fault } from '../../neutral/outcome.ts';
import { estimatedTokens } from '../../neutral/token-count.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { PassingReader, PassingVerdict } from '../dialect.ts';
import type { GivenId } from '../named-objects.ts';
import { faultOfError, readError } from './errors.ts';
import { containerGiven, filesGiven } from './named-objects.ts';
import { noCounts, takeCounts, usageOf } from './usage.ts';

// What surrounds the text in a delta event of Anthropic's own spelling.
const deltaFrameChars = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}'.length;
/** A block that starts with more than this carries something; it need not be parsed to know. */
const smallBlockChars = 4_096;

// Most events say nothing but that: one object for all of them.
const nothing: PassingVerdict = { content: false, fault: null, usageOnly: false };
const content: PassingVerdict = { content: true, fault: null, usageOnly: false };

/**
 * Reads usage, errors and the terminal event out of an answer that is forwarded as bytes. Deltas, nearly all of a
 * stream, are parsed only until the first content was seen.
 */
export function readInPassing(): PassingReader {
  const counts = noCounts();
  const given: GivenId[] = [];
  const seen = { usage: null as Usage | null, terminal: false, outputTokensSeen: 0, given };
  let contentSeen = false;
  let textChars = 0;

  function takeUsage(usage: JsonObject[string]): void {
    if (takeCounts(counts, usage)) seen.usage = usageOf(counts);
  }

  function firstContent(): PassingVerdict {
    contentSeen = true;
    return content;
  }

  return {
    seen,
    step(event) {
      const data = event.data;
      switch (event.event === '' ? typeIn(data) : event.event) {
        case 'content_block_delta':
          textChars += Math.max(0, data.length - deltaFrameChars);
          seen.outputTokensSeen = estimatedTokens(textChars);
          if (contentSeen) return content;
          return saysSomething(parse(data)?.delta) ? firstContent() : nothing;
        case 'content_block_start':
          if (data.includes('"file_id"')) given.push(...filesGiven(parse(data)?.content_block));
          if (contentSeen) return content;
          return data.length > smallBlockChars || saysSomething(parse(data)?.content_block) ? firstContent() : nothing;
        case 'message_start': {
          const message = parse(data)?.message;
          if (isObject(message)) {
            takeUsage(message.usage);
            given.push(...answerGiven(message));
          }
          return nothing;
        }
        case 'message_delta': {
          const event = parse(data);
          takeUsage(event?.usage);
          if (isObject(event?.delta)) given.push(...containerGiven(event.delta));
          return nothing;
        }
        case 'message_stop':
          seen.terminal = true;
          return nothing;
        case 'error':
          return { content: false, fault: faultOfError(parse(data) ?? {}), usageOnly: false };
        default:
          return nothing;
      }
    },
    whole(body): Fault | null {
      if (!isObject(body)) return fault('malformed', 'the answer is not a JSON object');
      if (readError(body) !== null) return faultOfError(body);
      if (!Array.isArray(body.content)) return fault('malformed', 'the answer has no content');
      takeUsage(body.usage);
      given.push(...answerGiven(body), ...filesGiven(body.content));
      seen.terminal = typeof body.stop_reason === 'string';
      seen.outputTokensSeen = counts.output;
      return null;
    },
  };
}

/** The message itself, for those who ask that it be kept, and the container that it ran in. */
function answerGiven(message: JsonObject): GivenId[] {
  const own: GivenId[] = typeof message.id === 'string' ? [{ id: message.id, nameable: 'if-kept' }] : [];
  return [...own, ...containerGiven(message)];
}

/** For servers that leave out the `event:` line. */
function typeIn(data: string): string {
  const type = parse(data)?.type;
  return typeof type === 'string' ? type : '';
}

/** Text, thinking, arguments or a call's beginning; not a signature, not an empty block. */
function saysSomething(part: unknown): boolean {
  if (!isObject(part)) return false;
  switch (part.type) {
    case 'tool_use':
    case 'redacted_thinking':
      return true;
    default:
      return [part.text, part.thinking, part.partial_json].some((value) => typeof value === 'string' && value !== '');
  }
}

function parse(data: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
