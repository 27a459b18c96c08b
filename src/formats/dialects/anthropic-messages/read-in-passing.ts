import { isObject, type JsonObject, type JsonValue, objectIn, parsedData, stringOr } from '../../../kernel/json.ts';
import { contentCharsOf } from '../../neutral/event.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { estimatedTokens } from '../../neutral/usage.ts';
import type { DecodeOptions, PassingFacts, PassingReader, PassingVerdict } from '../dialect.ts';
import { brokenLine, contentOnly, isEndMark, looksWhole, nothing } from '../event-data.ts';
import type { GivenId } from '../named-objects.ts';
import { decodeWhole, UsageCounts } from './decode-answer.ts';
import { faultOfError, readError } from './errors.ts';

// Text around the delta in an event of Anthropic's spelling.
const deltaFrameChars = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}'.length;
/** A block that starts with more than this carries something; it need not be parsed to know. */
const smallBlockChars = 4_096;

/**
 * Reads usage, errors and the terminal event out of an answer that is forwarded as bytes. Deltas, nearly all of a
 * stream, are parsed only until the first content was seen.
 */
export function readInPassing({ usageOf }: DecodeOptions = {}): PassingReader {
  const counts = new UsageCounts();
  const given: GivenId[] = [];
  const seen: PassingFacts = { usage: null, terminal: false, outputTokensSeen: 0, given };
  let contentSeen = false;
  let stopped = false;
  let failed = false;
  let textChars = 0;

  function takeUsage(body: JsonObject, isLast: boolean): void {
    if (counts.take(usageOf?.(body) ?? body.usage, isLast)) seen.usage = counts.usage();
    else if (counts.impossible) seen.usage = null;
  }

  function takeStop(message: JsonObject): void {
    if (typeof message.stop_reason !== 'string') return;
    stopped = true;
    seen.finishReason = message.stop_reason;
  }

  function fails(found: Fault): PassingVerdict {
    failed = true;
    return { ...nothing, fault: found };
  }

  function firstContent(): PassingVerdict {
    contentSeen = true;
    return contentOnly;
  }

  /** An event whose data counts, by its type. */
  function read(type: string, data: string): PassingVerdict {
    const event = parsedData(data);
    if (event === null) return fails(type === 'error' ? faultOfError({}) : brokenLine);
    switch (type) {
      case 'content_block_delta':
        return hasContent(event.delta) ? firstContent() : nothing;
      case 'content_block_start':
        given.push(...filesGiven(event.content_block));
        return contentSeen || data.length > smallBlockChars || hasContent(event.content_block)
          ? firstContent()
          : nothing;
      case 'message_start':
        if (!isObject(event.message)) return nothing;
        takeUsage(event.message, false);
        takeStop(event.message);
        // Servers that count the input at the end, or never, say 0 here.
        if (!stopped && seen.usage?.inputTokens === 0) seen.usage = null;
        seen.answeredAs = stringOr(event.message.model, null);
        given.push(...answerGiven(event.message));
        if (seen.usage !== null || counts.impossible) return nothing;
        return withUsage(event, event.message, { ...objectIn(event.message.usage), ...impossible });
      case 'message_delta':
        takeUsage(event, !stopped);
        if (isObject(event.delta)) {
          takeStop(event.delta);
          given.push(...containerGiven(event.delta));
        }
        return isObject(event.usage) ? nothing : withUsage(event, event, { output_tokens: seen.outputTokensSeen });
      default:
        return fails(faultOfError(event));
    }
  }

  return {
    seen,
    step({ event, data }) {
      if (failed || data === '') return nothing;
      const type = event === '' || event === 'message' ? typeIn(data) : event;
      if (event === '' && type) return named(type, this.step({ event: type, data }), data);
      switch (type) {
        case 'content_block_delta':
          textChars += Math.max(0, data.length - deltaFrameChars);
          seen.outputTokensSeen = estimatedTokens(textChars);
          return contentSeen && looksWhole(data) && endsNested(data) ? contentOnly : read(type, data);
        case 'content_block_start':
          return contentSeen && looksWhole(data) && endsNested(data) && !data.includes('"file_id"')
            ? contentOnly
            : read(type, data);
        case 'message_start':
        case 'message_delta':
        case 'error':
          return read(type, data);
        case 'message_stop':
          // Without a reason nobody can tell a whole answer from a cut one.
          if (!stopped) return fails(fault('truncated', 'the answer ended without a stop reason'));
          seen.terminal = true;
          return nothing;
        case null:
          return isEndMark(data) ? nothing : fails(brokenLine);
        default:
          return nothing;
      }
    },
    whole(body): Fault | null {
      if (!isObject(body)) return fault('malformed', 'the answer is not a JSON object');
      if (readError(body) !== null) return faultOfError(body);
      if (!Array.isArray(body.content)) return fault('malformed', 'the answer has no content');
      takeUsage(body, false);
      body.usage ??= { ...impossible };
      given.push(...answerGiven(body), ...filesGiven(body.content));
      takeStop(body);
      seen.terminal = stopped;
      seen.answeredAs = stringOr(body.model, null);
      if (counts.impossible || counts.output === 0)
        seen.outputTokensSeen = estimatedTokens(contentCharsOf(decodeWhole(body)));
      return null;
    },
  };
}

/** The message itself, for those who ask that it be kept, and the container that it ran in. */
function answerGiven(message: JsonObject): GivenId[] {
  const messageId: GivenId[] = typeof message.id === 'string' ? [{ id: message.id, nameable: 'if-kept' }] : [];
  return [...messageId, ...containerGiven(message)];
}

/** The event with its name, by which alone Anthropic's SDKs and Claude Code know it. */
function named(type: string, verdict: PassingVerdict, data: string): PassingVerdict {
  return { ...verdict, before: `event: ${type}\n`, data: verdict.data ?? data.replaceAll('\n', ' ') };
}

/** Counts of answers that have none: behind the reader those of this process take their place. */
const impossible = { input_tokens: -1, output_tokens: -1 };

/** The event with a usage in `place`: without one Anthropic's SDKs throw. */
function withUsage(event: JsonObject, place: JsonObject, usage: JsonObject): PassingVerdict {
  place.usage = usage;
  return { ...nothing, data: JSON.stringify(event) };
}

/** For servers that leave out the `event:` line; null when the data cannot be read. */
function typeIn(data: string): string | null {
  const event = parsedData(data);
  if (event === null) return null;
  return typeof event.type === 'string' ? event.type : '';
}

/** The delta or block comes last, as Anthropic writes it: an event that was cut at its brace ends once only. */
function endsNested(data: string): boolean {
  return data.charCodeAt(data.length - 2) === 0x7d;
}

/** Text, thinking, arguments or a call's beginning; not a signature, not an empty block. */
function hasContent(part: unknown): boolean {
  if (!isObject(part)) return false;
  switch (part.type) {
    case 'tool_use':
    case 'redacted_thinking':
      return true;
    default:
      return [part.text, part.thinking, part.partial_json].some((value) => typeof value === 'string' && value !== '');
  }
}

/** The container of an answer, or of the event that ends one. */
function containerGiven({ container }: JsonObject): GivenId[] {
  return isObject(container) && typeof container.id === 'string' ? [{ id: container.id, nameable: 'always' }] : [];
}

/** Files that tools made, in a block of an answer. */
function filesGiven(value: JsonValue | undefined): GivenId[] {
  if (Array.isArray(value)) return value.flatMap(filesGiven);
  // The caller's server may say anything.
  if (!isObject(value) || value.type === 'mcp_tool_result') return [];
  const fileId: GivenId[] = typeof value.file_id === 'string' ? [{ id: value.file_id, nameable: 'always' }] : [];
  return [...fileId, ...filesGiven(value.content)];
}
