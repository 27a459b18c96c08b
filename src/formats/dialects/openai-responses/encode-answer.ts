import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { type Beside, type FinishReason, membersIn, type NeutralEvent } from '../../neutral/event.ts';
import type { ProducedMedia } from '../../neutral/produced-media.ts';
import { proofWithText } from '../../neutral/thought-proof.ts';
import type { AnswerFold, AnswerHead, StreamEncoder } from '../dialect.ts';
import { AnswerEvents } from './answer-events.ts';
import { CallItems, type CallStart } from './call-items.ts';
import { annotationOf } from './citations.ts';
import { type PackedThought, packThought } from './packed-thought.ts';
import * as object from './response-object.ts';
import { includedOf, ServerToolItems } from './server-tool-items.ts';
import { gatewayIdMark, openAiResponsesId } from './wire.ts';

/**
 * Events as the full sequence of Responses: created, in_progress, for each item added, its parts and deltas, done, and
 * last `response.completed` or `response.incomplete` with the whole output. After `failed` the caller of this writes
 * the error frame, which `mark` lets continue the count.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  const events = new AnswerEvents();
  const answer = new Answer(head, events);
  return {
    lost: answer.lost,
    step(event) {
      answer.add(event);
      return events.take();
    },
    items: () => answer.items(),
    mark: () => ({ id: answer.id, sequence: events.sequence }),
  };
}

/** Events as one whole `response`: the object that a stream's last event carries. */
export function fold(head: AnswerHead): AnswerFold {
  const answer = new Answer(head, null);
  return {
    lost: answer.lost,
    add: (event) => answer.add(event),
    items: () => answer.items(),
    result: () => answer.response(),
  };
}

/**
 * An answer in progress, made of neutral events. A stream is its events, a whole answer its final state: both come from
 * here, so that they cannot differ. One choice: others are not asked for and not read.
 */
class Answer {
  readonly id: string;
  readonly lost = new Set<string>();
  readonly #events: AnswerEvents | null;
  readonly #salt: string;
  readonly #head: AnswerHead;
  #model: string;
  #createdS: number;
  #begun = false;
  #usage: Extract<NeutralEvent, { type: 'usage' }> | null = null;
  #reason: FinishReason | null = null;
  #filters: JsonObject = {};
  /** Words of the response, and of the message that comes next. */
  #words: JsonObject = {};
  #nextWords: Pick<object.OutputItem, 'words'> = {};
  /** A message has a phase. Behind other messages, texts begin with empty lines for other formats. */
  #hasPhases = false;
  #emptyLines = 0;
  #state: object.ResponseState = { status: 'in_progress' };
  readonly #items: object.OutputItem[] = [];
  readonly #statuses: object.ItemStatus[] = [];
  /** The message or thought that may still grow. */
  #open: object.MessageItem | object.ThoughtItem | null = null;
  #textLength = 0;
  /** Offset in the answer's text of a message's last part. */
  #partStart = 0;
  readonly #calls: CallItems;
  /** A call that no event has named: such an item is added whole, and before all later ones. */
  #unnamed: object.CallItem | null = null;
  readonly #serverTools: ServerToolItems;

  /** `events` null makes no frames. */
  constructor(head: AnswerHead, events: AnswerEvents | null) {
    this.#head = head;
    this.#events = events;
    this.id = object.responseIdOf(head);
    this.#salt = object.saltOf(this.id);
    this.#model = head.model;
    this.#createdS = head.createdS;
    this.#serverTools = new ServerToolItems(
      { opened: (prefix, wire) => this.#opened(prefix, wire), done: (item) => this.#done(item, 'completed') },
      events,
      includedOf(head.echo),
    );
    this.#calls = new CallItems(this.#salt, head.echo, events);
  }

  add(event: NeutralEvent): void {
    if (this.#state.status !== 'in_progress' || ('choice' in event && event.choice !== 0)) return;
    switch (event.type) {
      case 'start':
        this.#model = event.model ?? this.#model;
        this.#createdS = event.createdS ?? this.#createdS;
        return this.#begin();
      case 'text-delta':
        return this.#text('text', event.text);
      case 'refusal-delta':
        return this.#text('refusal', event.text);
      case 'reasoning-delta':
        return this.#thought(event.text);
      case 'reasoning-signature':
        return this.#proof({ kind: 'signed', vendor: event.vendor, proof: event.signature });
      case 'text-signature':
        this.#close();
        return this.#proof({ kind: 'signed', vendor: event.vendor, proof: event.signature });
      case 'redacted-reasoning':
        this.#close();
        return this.#proof({ kind: 'redacted', vendor: event.vendor, proof: event.data });
      case 'part-end':
        // Two thoughts have a proof each; two texts are parts of one message.
        if (this.#open?.kind === 'thought') this.#close();
        else if (this.#open !== null) this.#closePart(this.#open);
        return;
      case 'message-start':
        return this.#startMessage(event.beside);
      case 'tool-call-start':
        return this.#call(event);
      case 'tool-call-delta':
        return this.#calls.arguments(event.call, event.argumentsJson);
      case 'media':
        return this.#media(event.media);
      case 'citation':
        return this.#annotate((part) => annotationOf(event.citation, this.#partStart, part.text.length));
      case 'vendor-part':
        return this.#vendorPart(event);
      case 'server-tool':
        this.#close();
        return this.#serverTools.take(event.step);
      case 'logprobs':
        return this.#logprobs(event.logprobs);
      case 'usage':
        this.#usage = event;
        return;
      case 'finish':
        this.#reason ??= event.reason;
        this.#words = { ...this.#words, ...membersIn(event.beside, openAiResponsesId) };
        this.#filters = event.filters ?? this.#filters;
        return;
      case 'end':
        return this.#end();
      case 'audio-delta':
        return this.#transcript(event.audio);
      // The caller of this writes the error frame.
      case 'failed':
        return;
    }
  }

  /** The `response` object so far, or at the end. */
  response(): JsonObject {
    return this.#responseOf(this.items());
  }

  items(): JsonObject[] {
    return this.#items.map((item, index) => object.wireItem(item, this.#statuses[index] ?? 'in_progress'));
  }

  #responseOf(output: JsonValue[]): JsonObject {
    const { createdS, elapsedMs } = this.#head;
    const isComplete = this.#state.status === 'completed' && elapsedMs !== undefined;
    return object.responseObject(
      {
        id: this.id,
        createdS: this.#createdS,
        completedS: isComplete ? createdS + Math.round(elapsedMs() / 1_000) : undefined,
        model: this.#model,
        echo: this.#head.echo,
        output,
        usage: this.#usage?.usage ?? null,
        counted: this.#usage?.beside,
        words: { ...this.#words, ...this.#filters },
      },
      this.#state,
    );
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#events?.begun(this.#responseOf([]));
  }

  #id(prefix: string): string {
    return `${prefix}_${gatewayIdMark}${this.#salt}_${this.#items.length}`;
  }

  #added(item: object.OutputItem): void {
    this.#begin();
    this.#nameCall();
    // Clients keep items in the order in which they are done.
    if (this.#calls.any) for (const call of this.#calls.close('whole')) this.#done(call, 'completed');
    this.#items.push(item);
    this.#statuses.push('in_progress');
    if (item.kind === 'client') this.#unnamed = item;
    else this.#events?.itemAdded(item);
  }

  #nameCall(): void {
    if (this.#unnamed !== null) this.#events?.itemAdded(this.#unnamed);
    this.#unnamed = null;
  }

  #done(item: object.OutputItem, status: object.ItemStatus): void {
    this.#statuses[item.index] = status;
    this.#events?.itemDone(item, status);
  }

  #startMessage(beside: Beside | undefined): void {
    this.#close();
    this.#nextWords = wordsIn(beside);
    this.#hasPhases ||= typeof this.#nextWords.words?.phase === 'string';
    this.#emptyLines = this.#hasPhases && this.#textLength > 0 ? 2 : 0;
  }

  /** The text without the empty lines before it. */
  #behindLines(text: string): string {
    let lines = 0;
    while (lines < this.#emptyLines && text[lines] === '\n') lines++;
    this.#textLength += lines;
    this.#emptyLines = lines === text.length ? this.#emptyLines - lines : 0;
    return text.slice(lines);
  }

  #text(kind: object.MessagePart['kind'], whole: string): void {
    const text = this.#emptyLines > 0 && kind === 'text' ? this.#behindLines(whole) : whole;
    if (text === '') return;
    const { item, part } = this.#partFor(kind);
    part.text += text;
    if (kind === 'text') this.#textLength += text.length;
    this.#events?.textDelta(item, kind, text);
  }

  #partFor(kind: object.MessagePart['kind']): { item: object.MessageItem; part: object.MessagePart } {
    let item = this.#open;
    if (item === null || item.kind !== 'message') {
      this.#close();
      const place = { id: this.#id('msg'), index: this.#items.length };
      item = { kind: 'message', ...place, parts: [], partOpen: false, ...this.#nextWords };
      this.#nextWords = {};
      this.#added(item);
      this.#open = item;
    }
    const last = item.parts.at(-1);
    if (last !== undefined && item.partOpen && last.kind === kind) return { item, part: last };
    this.#closePart(item);
    const part: object.MessagePart = { kind, text: '', annotations: [], logprobs: [] };
    item.parts.push(part);
    item.partOpen = true;
    this.#partStart = this.#textLength;
    this.#events?.partAdded(item, part);
    return { item, part };
  }

  #closePart(item: object.MessageItem): void {
    const part = item.parts.at(-1);
    if (part === undefined || !item.partOpen) return;
    item.partOpen = false;
    this.#events?.partDone(item, part);
  }

  #thoughtItem(): object.ThoughtItem {
    if (this.#open?.kind === 'thought') return this.#open;
    this.#close();
    const item: object.ThoughtItem = {
      kind: 'thought',
      id: this.#id('rs'),
      index: this.#items.length,
      text: null,
      encrypted: null,
    };
    this.#added(item);
    this.#open = item;
    return item;
  }

  #thought(text: string): void {
    if (text === '') return;
    const item = this.#thoughtItem();
    if (item.text === null) {
      item.text = '';
      this.#events?.summaryAdded(item);
    }
    item.text += text;
    this.#events?.summaryDelta(item, text);
  }

  /** The provider's encryption stays unchanged; others' proofs are packed, so that they find their way back. */
  #proof(thought: PackedThought): void {
    const item = this.#thoughtItem();
    const { vendor, kind } = thought;
    const proof = kind === 'signed' ? proofWithText(thought.proof, vendor, item.text ?? '') : thought.proof;
    item.encrypted = vendor === openAiResponsesId ? proof : packThought({ ...thought, proof });
    this.#close();
  }

  /** Ends the message or thought that is open. */
  #close(status: object.ItemStatus = 'completed'): void {
    const item = this.#open;
    if (item === null) return;
    this.#open = null;
    if (item.kind === 'message') this.#closePart(item);
    else if (item.text !== null) this.#events?.summaryDone(item, item.text);
    this.#done(item, status);
  }

  #call(event: CallStart): void {
    this.#close();
    if (event.signature !== undefined && event.vendor !== undefined) {
      this.#proof({ kind: 'call', vendor: event.vendor, proof: event.signature });
    }
    const item = this.#calls.begin(event, this.#items.length, (prefix) => this.#id(prefix));
    this.#added(Object.assign(item, wordsIn(event.beside)));
  }

  #annotate(annotationIn: (part: object.MessagePart) => JsonObject): void {
    const { item, part } = this.#partFor('text');
    const annotation = annotationIn(part);
    part.annotations.push(annotation);
    this.#events?.annotationAdded(item, part.annotations.length - 1, annotation);
  }

  /** The format has a place for pictures that are in the answer itself. */
  #media({ kind, source, prompt, vendorPart }: ProducedMedia): void {
    if (kind !== 'image' || source.kind !== 'base64') {
      this.lost.add(kind);
      return;
    }
    if (vendorPart?.vendor === openAiResponsesId) return this.#whole(vendorPart.block);
    const format = source.mediaType.slice('image/'.length);
    const drawn = {
      result: source.base64,
      output_format: format,
      ...(prompt !== undefined && { revised_prompt: prompt }),
    };
    this.#whole({ type: 'image_generation_call', status: 'completed', ...drawn });
  }

  #vendorPart({ vendor, field, block }: Extract<NeutralEvent, { type: 'vendor-part' }>): void {
    if (vendor !== openAiResponsesId) {
      if (field !== null) this.lost.add(field);
      return;
    }
    const { annotation } = block;
    if (isObject(annotation)) this.#annotate(() => annotation);
    else this.#whole(block);
  }

  /** An item that is there at once. */
  #whole(wire: JsonObject): void {
    this.#close();
    const id = typeof wire.id === 'string' ? wire.id : this.#id('ig');
    const item: object.WholeItem = { kind: 'whole', id, index: this.#items.length, wire };
    this.#added(item);
    if (wire.type === 'image_generation_call') this.#events?.drawn(item);
    this.#done(item, 'completed');
  }

  /** An item whose content may yet change. */
  #opened(prefix: string, wire: JsonObject): object.WholeItem {
    const item: object.WholeItem = { kind: 'whole', id: this.#id(prefix), index: this.#items.length, wire };
    this.#added(item);
    return item;
  }

  /** The words of a spoken answer. */
  #transcript({ transcript, data }: JsonObject): void {
    if (typeof transcript === 'string') this.#text('text', transcript);
    if (typeof data === 'string') this.lost.add('audio');
  }

  /** Sends them with the end of the part: the deltas they belong to are out already. */
  #logprobs(logprobs: JsonValue): void {
    const content = isObject(logprobs) ? logprobs.content : null;
    if (!Array.isArray(content) || content.length === 0) return;
    const { part } = this.#partFor('text');
    for (const one of content) if (isObject(one)) part.logprobs.push({ bytes: [], top_logprobs: [], ...one });
  }

  #end(): void {
    this.#begin();
    this.#state = object.stateAtEnd(this.#reason ?? (this.#calls.any ? 'tool-calls' : 'stop'));
    const status: object.ItemStatus = this.#state.status === 'incomplete' ? 'incomplete' : 'completed';
    this.#close(status);
    this.#nameCall();
    for (const item of this.#calls.close('all')) this.#done(item, status);
    this.#events?.ended(this.#state.status, this.response());
  }
}

function wordsIn(beside: Beside | undefined): Pick<object.OutputItem, 'words'> {
  const words = membersIn(beside, openAiResponsesId);
  return words === undefined ? {} : { words };
}
