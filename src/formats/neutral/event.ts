import { type JsonObject, type JsonValue, objectIn, parsedData, withOne } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import type { Citation } from './citation.ts';
import type { Fault } from './outcome.ts';
import type { ProducedMedia } from './produced-media.ts';
import type { ServerToolStep } from './server-tool.ts';
import type { Usage } from './usage.ts';

/**
 * The parts of an answer, in order, whatever its dialect. A whole answer is the fold of the same events. `choice` is
 * the index of the answer (0 unless n > 1); `call` is the index of a tool call within its choice, dense and ascending.
 * Content events: text, reasoning, refusal, audio, media and tool-call ones.
 */
export type NeutralEvent =
  /** Once, first. `model` is what the upstream calls itself. */
  | { type: 'start'; id: string | null; model: string | null; createdS: number | null; beside?: Beside }
  | { type: 'text-delta'; choice: number; text: string }
  | { type: 'reasoning-delta'; choice: number; text: string }
  /** Closes the reasoning part before it: the vendor's proof over its text. */
  | { type: 'reasoning-signature'; choice: number; signature: string; vendor: string }
  /** The same over a thought that was not shown, which led to the text before it. */
  | { type: 'text-signature'; choice: number; signature: string; vendor: string }
  | { type: 'redacted-reasoning'; choice: number; data: string; vendor: string }
  /** `ours`: the provider gave a reason and no words; these are none of its tokens. */
  | { type: 'refusal-delta'; choice: number; text: string; ours?: true }
  /** `signature` is `vendor`'s proof over the thought that led to the call, where it is on the call itself. */
  | {
      type: 'tool-call-start';
      choice: number;
      call: number;
      id: string;
      name: string;
      signature?: string;
      vendor?: string;
      /** A call of a tool that takes text: the text is the member `input` of the arguments. */
      custom?: true;
      /** That of the provider of the tool, with which `name` begins. */
      namespace?: string;
      beside?: Beside;
    }
  | { type: 'tool-call-delta'; choice: number; call: number; argumentsJson: string }
  /** A boundary between two parts of the same kind, where the wire shows one. */
  | { type: 'part-end'; choice: number }
  /** The beginning of a message, for a format whose answers have several. Texts before and behind it are one for others. */
  | { type: 'message-start'; choice: number; beside?: Beside }
  | { type: 'audio-delta'; choice: number; audio: JsonObject }
  | { type: 'media'; choice: number; media: ProducedMedia }
  | { type: 'citation'; choice: number; citation: Citation }
  /**
   * A part that only the dialect `vendor` knows, which repeats it. All others leave it out and tell so by `field`; null:
   * other events say the same. `apart`: a member of the answer, of which its texts show nothing and go on behind it.
   */
  | { type: 'vendor-part'; choice: number; vendor: string; field: string | null; block: JsonObject; apart?: true }
  /** A tool that this gateway runs for the model. No decoder makes it: it comes between two turns of a model. */
  | { type: 'server-tool'; choice: number; step: ServerToolStep }
  | { type: 'logprobs'; choice: number; logprobs: JsonValue }
  /**
   * Cumulative: replaces what an earlier one said, never adds. `impossible`: a count came that no request can have, so
   * that none is believed, the earlier ones neither; no encoder is given it.
   */
  | { type: 'usage'; usage: Usage; impossible?: true; beside?: Beside }
  /** `answered`: it is an answer though no event shows any: the provider ran its tools, or counted a silent turn. */
  | {
      type: 'finish';
      choice: number;
      reason: FinishReason;
      stopSequence: string | null;
      answered?: true;
      /** Findings of a content filter in prompt and answer: Azure's own members, which every format repeats as they are. */
      filters?: JsonObject;
      beside?: Beside;
    }
  /** The upstream's own terminal event ([DONE], message_stop); a stream that stops without it is truncated. */
  | { type: 'end' }
  /** An error inside the answer, or a decoder that cannot go on. Nothing follows. */
  | { type: 'failed'; fault: Fault };

/** Words and figures, no texts, that only the dialect `vendor` has: it repeats them for its callers. */
export interface Beside {
  vendor: string;
  members: JsonObject;
}

/** A member that no format of callers has a place for: each names it as lost. It shows nothing of the answer. */
export function lostMember(field: string, choice = 0): NeutralEvent {
  return { type: 'vendor-part', choice, vendor: '', field, block: {}, apart: true };
}

/** Whether a text of the choice goes on behind an event. */
export function isApart(event: NeutralEvent): boolean {
  return event.type === 'vendor-part' && event.apart === true;
}

/**
 * Members of `wire` by these names, or all; undefined: there are none. Texts among them, such as the explanation of a
 * refusal, are left out, since no guard reads them.
 */
export function besideOf(vendor: string, wire: JsonValue | undefined, names?: readonly string[]) {
  const all = Object.entries(objectIn(wire));
  const named = names === undefined ? all : all.filter(([name]) => names.includes(name));
  const members = pruned(Object.fromEntries(named), (text) => word.test(text)) as JsonObject;
  return Object.keys(members).length === 0 ? undefined : { beside: { vendor, members } };
}

/** An id, a date or a name of three words at most. */
const word = /^[\w.:/+-]{0,128}$|^[\w.-]{1,40}(?: [\w.-]{1,40}){1,2}$/;

/** The value with the strings that `keeps` takes alone; undefined: it is none, or a list or an object below `levels` others. */
export function pruned(
  value: JsonValue | undefined,
  keeps: (text: string) => boolean,
  levels = jsonDepthMax,
): JsonValue | undefined {
  if (typeof value === 'string') return keeps(value) ? value : undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return undefined;
  if (Array.isArray(value))
    return value.map((item) => pruned(item, keeps, levels - 1)).filter((item) => item !== undefined);
  const members = Object.entries(value).map(([name, member]) => [name, pruned(member, keeps, levels - 1)] as const);
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}

/** Undefined: they are another dialect's. */
export function membersIn(beside: Beside | undefined, vendor: string): JsonObject | undefined {
  return beside?.vendor === vendor ? beside.members : undefined;
}

/** Why a choice ended: a superset of the dialects' words. */
export type FinishReason =
  | 'stop'
  | 'stop-sequence'
  | 'length'
  | 'tool-calls'
  | 'content-filter'
  | 'pause'
  | 'context-full';

/**
 * A vendor's word → neutral. An unknown word is a plain stop: vendors add reasons over time, and the answer is whole.
 * `toolCalls`: tool calls that the answer made; they decide where the word does not say so, because OpenAI's clients run
 * tools by the finish reason. `unwrapped`: forced calls that carried structured output.
 */
export function finishReasonOf(
  word: string,
  reasons: Readonly<Record<string, FinishReason>>,
  { toolCalls, unwrapped }: { toolCalls: number; unwrapped: number },
): FinishReason {
  const reason = Object.hasOwn(reasons, word) ? reasons[word] : undefined;
  if (reason === undefined) return toolCalls > 0 ? 'tool-calls' : 'stop';
  // The forced call is the answer's text, not a call.
  return reason === 'tool-calls' && toolCalls === 0 && unwrapped > 0 ? 'stop' : reason;
}

/** True for what a person would see as the answer's beginning; it commits the response headers. */
export function isContent(event: NeutralEvent): boolean {
  return contentChars(event) !== null;
}

/** The text in such an event that the provider wrote; null: it is no content. */
export function contentChars(event: NeutralEvent): number | null {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return event.text === '' ? null : event.text.length;
    case 'refusal-delta':
      return event.text === '' ? null : event.ours === true ? 0 : event.text.length;
    case 'tool-call-delta':
      return event.argumentsJson.length;
    case 'tool-call-start':
    case 'audio-delta':
    case 'media':
    case 'redacted-reasoning':
      return 0;
    default:
      return null;
  }
}

/** The same of a whole answer. */
export function contentCharsOf(events: readonly NeutralEvent[]): number {
  return events.reduce((sum, event) => sum + (contentChars(event) ?? 0), 0);
}

/**
 * True for what makes an answer whole that has no content: a source, an action of the provider's tool, or an end that says
 * why nothing need have been said: it came before the answer was done, or after one without a word.
 */
export function standsForContent(event: NeutralEvent): boolean {
  if (event.type === 'finish') return event.reason !== 'stop' || event.answered === true;
  return event.type === 'citation' || (event.type === 'vendor-part' && event.apart !== true);
}

/** Reads an answer event by event, and gives what each of them says. */
export abstract class EventDecoder {
  malformedLines = 0;
  /** Events of the data that is being read. */
  protected events: NeutralEvent[] = [];
  protected over = false;
  /** Its format where callers speak it, too; undefined: they speak another one. */
  protected callers: string | undefined;

  protected beside(wire: JsonValue | undefined, names?: readonly string[]) {
    return this.callers === undefined ? undefined : besideOf(this.callers, wire, names);
  }

  step({ event, data }: { event: string; data: string }): NeutralEvent[] {
    this.events = [];
    // OpenAI's end mark: some servers write it in other formats too.
    if (this.over || data === '' || data.trim() === '[DONE]') return this.events;
    const parsed = parsedData(data);
    if (parsed === null || !this.read(parsed, event)) this.malformedLines += 1;
    return this.events;
  }

  abstract finish(): NeutralEvent[];

  /** Reads one event; false when it is none of this format. Never throws, whatever it gets. */
  protected abstract read(data: JsonObject, event: string): boolean;

  protected emit(event: NeutralEvent): void {
    this.events = withOne(this.events, event);
  }

  protected fail(found: Fault): void {
    this.over = true;
    this.emit({ type: 'failed', fault: found });
  }
}
