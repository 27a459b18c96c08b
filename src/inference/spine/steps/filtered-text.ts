import {
  exactly,
  isPieceOfText,
  type TextChange,
  type TextKind,
  type TextPart,
  type TextPath,
  textsIn,
  withTexts,
} from '../../../formats/neutral/json-texts.ts';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import type { AnswerTextPlace, AnswerTexts, TextFilter } from '../../models/steps.ts';
import { given, JoinedParts, segmentsIn, throughFilter, throughFilterInParts, throughWhole } from './through-filter.ts';

/** A JSON text whose strings have passed their filters. `root`: kind of those that say no more. */
export function filteredJson(texts: AnswerTexts, json: string, value: JsonValue, root: TextKind, choice = 0): string {
  const { parts } = textsIn(value, root, root === 'tool-arguments' ? 'free' : 'known');
  const pieced = root === 'assistant' ? inPieces(value) : [];
  const pieces = new Set(pieced.map((path) => JSON.stringify(path)));
  // Members of the answer, and of its segments and choices.
  const isPiece = ({ path }: TextChange) => [1, 3].some((steps) => pieces.has(JSON.stringify(path.slice(0, steps))));
  const segments = root === 'assistant' ? segmentsIn(value, parts) : null;
  const runs = segments === null ? piecesIn(parts) : [segments];
  const passedOf = new Map(
    runs.flatMap(({ of, parts: pieces, joins }) => {
      const passed = throughFilterInParts(texts, { kind: of[0]?.kind ?? root, choice }, pieces, joins);
      return of.map((part, at) => [part, passed[at]] as const);
    }),
  );
  const changes = parts.flatMap((part) => {
    if (isPiece(part)) return [];
    const segment = passedOf.get(part);
    if (segment !== undefined) return segment === part.text ? [] : [{ ...part, text: segment }];
    const isBeside = segments !== null && part.path[0] === 'segments';
    const about = { ...(part.as === 'name' && { isName: true as const }), ...(isBeside && { isBeside }) };
    const filter = texts({ kind: part.kind, choice, ...about });
    const text = filter === null ? part.text : given(filter.push(part.text)) + given(filter.end());
    if (text === part.text) return [];
    const isNumber = root === 'tool-arguments' && part.as !== 'name' && filter?.isNumber?.(part.text) === true;
    return [{ ...part, ...(isNumber && { as: 'number' as const }), text }];
  });
  return changes.length === 0 ? json : withoutPieces(withTexts(json, changes), pieced);
}

/** Texts that go on in the next one of their list and kind. */
function piecesIn(found: readonly TextPart[]) {
  const lists = Map.groupBy(found.filter(isPieceOfText), ({ kind, path }) => [kind, ...path.slice(0, -2)].join());
  const runs = [...lists.values()].filter(({ length }) => length > 1);
  return runs.map((of) => ({ of, parts: of.map(({ text }) => text), joins: of.map(() => '') }));
}

/** Members that repeat the text next to them in pieces. No filter finds there what it finds in the text. */
const repeating = ['words', 'tokens', 'logprobs'];

/** Places of such members: of a transcript, of its segments, and of a completion's choices. */
function inPieces(answer: JsonValue): TextPath[] {
  if (!isObject(answer)) return [];
  const { segments, choices } = answer;
  const inside = (name: string, list: JsonValue | undefined) =>
    Array.isArray(list) ? list.flatMap((one, at) => piecesOf(one, [name, at])) : [];
  return [...piecesOf(answer, []), ...inside('segments', segments), ...inside('choices', choices)];
}

function piecesOf(holder: JsonValue, path: TextPath): TextPath[] {
  if (!isObject(holder) || (typeof holder.text !== 'string' && holder.type !== 'transcript.text.delta')) return [];
  return repeating.filter((name) => (holder[name] ?? null) !== null).map((name) => [...path, name]);
}

/** The JSON text without these members. Choices have log probabilities of null. */
function withoutPieces(json: string, pieced: readonly TextPath[]): string {
  if (pieced.length === 0) return json;
  const answer = exactly(json);
  for (const path of pieced) {
    const holder = path.slice(0, -1).reduce((value, step) => (value as JsonObject)[step]!, answer) as JsonObject;
    const name = String(path.at(-1));
    if (path[0] === 'choices') holder[name] = null;
    else delete holder[name];
  }
  return JSON.stringify(answer);
}

interface HeldEvent<C> {
  json: string;
  carry: C;
  /** Texts under way whose last piece is here. */
  holds: number;
}

interface OpenText<C> {
  filter: TextFilter;
  /** The event of its last piece, which gets what the filter still holds at its end. */
  at: HeldEvent<C>;
  path: TextPath;
  piece: string;
}

/** Event with a segment of a transcript, in its member `text`. */
const segmentType = 'transcript.text.segment';

/** Maximum size that unfinished texts may hold back. */
const heldMax = 4_096;

/**
 * Passes the texts in events of a stream through their filters, in whatever format: a member `delta`, or the `text` of a
 * choice, is a piece of a text, all other strings are whole. The last piece of each text waits for the next one, so that
 * its filter has a place for what it still holds; events keep their order.
 */
export class FilteredStream<C> {
  readonly #texts: AnswerTexts;
  readonly #emit: (json: string, carry: C) => void;
  readonly #queue: HeldEvent<C>[] = [];
  readonly #open = new Map<string, OpenText<C>>();
  /** Filters of texts that have ended, which may go on. */
  readonly #ended = new Map<string, TextFilter>();
  /** Segments of a transcript, and the events of those that have not come back. */
  #segments: JoinedParts | null = null;
  readonly #segmentEvents: HeldEvent<C>[] = [];

  /** `emit` gets each event as JSON, with what came with it. */
  constructor(texts: AnswerTexts, emit: (json: string, carry: C) => void) {
    this.#texts = texts;
    this.#emit = emit;
  }

  /** Throws a FailureError. */
  take(json: string, event: JsonObject, carry: C): void {
    const pieced = inPieces(event);
    if (pieced.length > 0) {
      // The text goes on in the next events: nobody knows yet what will be found.
      const without = withoutPieces(json, pieced);
      return this.take(without, JSON.parse(without) as JsonObject, carry);
    }
    const held: HeldEvent<C> = { json, carry, holds: 0 };
    const type = typeof event.type === 'string' ? event.type : '';
    const artifact = artifactIn(event);
    const isEnd = /\b(done|completed|failed|created)$/.test(type);
    if (isEnd || (event.jsonrpc !== undefined && artifact?.isMore !== true)) this.#close();
    else if (this.#queue.length >= heldMax) this.#close(this.#queue[0]);
    const changes: TextChange[] = [];
    const isSegment = type === segmentType;
    if (isEnd || artifact?.isMore === false) this.#ended.clear();
    for (const { kind, path, as, text } of textsIn(event, 'assistant').parts) {
      if (kind === 'label') continue;
      const choice = choiceOf(event, path);
      if (isSegment && path.length === 1 && path[0] === 'text') {
        this.#segment(held, text);
        continue;
      }
      const isOfChoice = path[0] === 'choices' && (path.at(-1) === 'text' || path.at(-2) === 'delta');
      const isOfArtifact = artifact !== null && path.at(-1) === 'text' && path.at(-3) === 'parts';
      const isPiece = path.at(-1) === 'delta' || isOfChoice || isOfArtifact;
      const key = [type, artifact?.id ?? event.item_id, choice, path.at(-1)].join();
      if (isPiece) this.#piece(held, key, { kind, choice }, path, text);
      else {
        const about = {
          ...(as === 'name' && { isName: true as const }),
          ...(isSegment && { isBeside: true as const }),
        };
        const passed = throughFilter(this.#texts, { kind, choice, ...about }, text);
        if (passed !== text) changes.push({ path, kind, ...(as !== undefined && { as }), text: passed });
      }
    }
    if (changes.length > 0) held.json = withTexts(held.json, changes);
    this.#queue.push(held);
    if (artifact?.isLast === true) this.#close();
    this.#flush();
  }

  /** No further events. Throws a FailureError. */
  end(): void {
    this.#close();
    this.#flush();
  }

  #piece(held: HeldEvent<C>, key: string, place: AnswerTextPlace, path: TextPath, text: string): void {
    const before = this.#open.get(key);
    // What another part of the event holds stays in it.
    if (before?.at === held) this.#endText(key, before);
    const known = this.#open.get(key);
    if (known !== undefined) known.at.holds -= 1;
    const filter = known?.filter ?? this.#ended.get(key)?.resumed?.() ?? this.#texts(place);
    if (filter === null) return;
    const piece = given(filter.push(text));
    if (piece !== text) held.json = withTexts(held.json, [{ path, text: piece }]);
    held.holds += 1;
    this.#open.set(key, { filter, at: held, path, piece });
  }

  #segment(held: HeldEvent<C>, text: string): void {
    if (this.#segments === null) {
      const filter = this.#texts({ kind: 'assistant', choice: 0 });
      const parts = filter?.parts?.();
      if (parts === undefined) {
        held.json = withTexts(held.json, [{ path: ['text'], text: throughWhole(filter, text) }]);
        return;
      }
      this.#segments = new JoinedParts(parts);
    }
    held.holds += 1;
    this.#segmentEvents.push(held);
    this.#place(this.#segments.take(text));
  }

  /** Gives events their segments, in their order. */
  #place(passed: readonly string[]): void {
    for (const text of passed) {
      const held = this.#segmentEvents.shift()!;
      held.json = withTexts(held.json, [{ path: ['text'], text }]);
      held.holds -= 1;
    }
  }

  /** Ends the texts whose last piece is in this event; absent: all. */
  #close(last?: HeldEvent<C>): void {
    for (const [key, open] of this.#open) if (last === undefined || open.at === last) this.#endText(key, open);
    if (this.#segments === null || (last !== undefined && !this.#segmentEvents.includes(last))) return;
    this.#place(this.#segments.end());
    this.#segments = null;
  }

  #endText(key: string, { filter, at, path, piece }: OpenText<C>): void {
    this.#open.delete(key);
    this.#ended.set(key, filter);
    const rest = given(filter.end());
    if (rest !== '') at.json = withTexts(at.json, [{ path, text: piece + rest }]);
    at.holds -= 1;
  }

  #flush(): void {
    const waiting = this.#queue.findIndex(({ holds }) => holds > 0);
    const free = this.#queue.splice(0, waiting < 0 ? this.#queue.length : waiting);
    for (const { json, carry } of free) this.#emit(json, carry);
  }
}

function choiceOf(event: JsonObject, path: TextPath): number {
  if (path[0] !== 'choices' || !Array.isArray(event.choices)) return 0;
  const choice = event.choices[Number(path[1])] as JsonObject | undefined;
  return typeof choice?.index === 'number' ? choice.index : 0;
}

/** The artifact of an agent that an event begins or goes on with, in either version of A2A; null: none. */
function artifactIn({ result }: JsonObject): { id: string; isMore: boolean; isLast: boolean } | null {
  const { artifact, append, lastChunk } = objectIn(objectIn(result).artifactUpdate ?? result);
  if (!isObject(artifact)) return null;
  return { id: String(artifact.artifactId), isMore: append === true, isLast: lastChunk === true };
}
