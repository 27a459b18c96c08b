import { hasText, isObject, type JsonObject, type JsonValue, jsonText, objectIn } from '../../../kernel/json.ts';
import { lostMember, type NeutralEvent } from '../../neutral/event.ts';
import { UniqueIds } from '../../neutral/unique-ids.ts';
import { ArgumentsText } from '../arguments-text.ts';
import { signatureIn } from './thoughts.ts';

/** Beyond any model's parallel calls; further ones are skipped and counted. */
const callsMax = 256;

/** Begins ids that must be made up, so that they are unlike those of other answers in the same conversation. */
export function idPrefix(answerId: JsonValue | undefined, choice: JsonValue | undefined): string {
  return `call_${typeof answerId === 'string' ? answerId.replace(/\W/g, '').slice(-12) : ''}_${jsonText(choice)}_`;
}

export interface Call {
  /** Dense place among the announced calls; -1 until its name is known. */
  place: number;
  /** The provider's, or made up. */
  id: string;
  /** The one that callers get. */
  unique: string;
  /** Arguments that came before the name. */
  held: string;
  /** End of the arguments so far. */
  lastPiece: string;
  /** Null: a custom tool takes text, which is the member `input` of the arguments. */
  text: ArgumentsText | null;
}

/**
 * Joins the pieces of one choice's tool calls. OpenAI numbers them with `index` and sends id and name once; others
 * leave the index out, repeat it for every whole call, or send the id with each piece.
 */
export class ToolCallReader {
  /** Calls whose names are known. */
  announced = 0;
  readonly #choice: number;
  readonly #idPrefix: string;
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  /** Two calls with one id could not be answered apart. */
  readonly #ids = new UniqueIds();
  #last: Call | null = null;
  /** Calls of custom tools whose arguments go on. */
  #custom: Call[] = [];
  #known = 0;
  #dropped = 0;

  constructor(choice: number, answerId: JsonValue | undefined) {
    this.#choice = choice;
    this.#idPrefix = idPrefix(answerId, choice);
  }

  /** Appends the events of a piece. Null: its call is one too many. */
  read(piece: JsonObject, events: NeutralEvent[]): Readonly<Call> | null {
    const called = calledIn(piece);
    const id = typeof piece.id === 'string' ? piece.id : '';
    const name = typeof called.name === 'string' ? called.name : '';
    const call = this.#callOf(piece, id, name);
    if (call === null) {
      this.#dropped += 1;
      events.push(lostMember('tool_calls', this.#choice));
      return null;
    }
    this.#last = call;
    if (call.id === '') call.id = id;
    const choice = this.#choice;
    const text = call.text === null ? insideOfString(called.input) : call.text.next(argumentsOf(called));
    if (text !== '') call.lastPiece = text;
    if (call.place < 0) {
      call.held += text;
      if (name === '') return call;
      call.place = this.announced;
      this.announced += 1;
      if (call.id === '') call.id = `${this.#idPrefix}${call.place}`;
      const custom = call.text === null;
      call.unique = this.#ids.take(call.id);
      const start = { type: 'tool-call-start' as const, choice, call: call.place, id: call.unique, name };
      const proof = piece.extra_content === undefined ? null : signatureIn(piece);
      events.push({ ...start, ...(custom && { custom }), ...proof });
      const argumentsJson = custom ? `{"input":"${call.held}` : call.held;
      if (argumentsJson !== '') events.push({ type: 'tool-call-delta', choice, call: call.place, argumentsJson });
      call.held = '';
    } else if (text !== '') events.push({ type: 'tool-call-delta', choice, call: call.place, argumentsJson: text });
    return call;
  }

  /** Ends the arguments of calls of custom tools. To be called at the end of the choice. */
  close(events: NeutralEvent[]): void {
    for (const { place } of this.#custom)
      if (place >= 0) events.push({ type: 'tool-call-delta', choice: this.#choice, call: place, argumentsJson: '"}' });
    this.#custom = [];
  }

  /** Pieces that could not be placed: calls without a name, or beyond the bound. */
  unfinished(): number {
    return this.#dropped + this.#known - this.announced;
  }

  /** True if the last call's arguments end as an object does, or there are none. */
  areWhole(): boolean {
    const last = this.#last;
    return this.unfinished() === 0 && (last?.text === null || /^$|\}\s*$/.test(last?.lastPiece ?? ''));
  }

  /** True if there are calls, all are known, and the last one's arguments end as an object does. */
  endInObject(): boolean {
    return this.announced > 0 && this.unfinished() === 0 && /\}\s*$/.test(this.#last?.lastPiece ?? '');
  }

  #callOf(piece: JsonObject, id: string, name: string): Call | null {
    const index = typeof piece.index === 'number' ? piece.index : null;
    const existing =
      index !== null ? this.#byIndex.get(index) : id !== '' ? this.#byId.get(id) : name === '' ? this.#last : undefined;
    // The same index with another id and a name again is another call, sent whole.
    const another = existing && id !== '' && existing.id !== '' && existing.id !== id && name !== '';
    if (existing && !another) return existing;
    if (this.#known >= callsMax) return null;
    this.#known += 1;
    const call: Call = {
      place: -1,
      id,
      unique: '',
      held: '',
      lastPiece: '',
      text: isObject(piece.custom) ? null : new ArgumentsText(),
    };
    if (call.text === null) this.#custom.push(call);
    if (index !== null) this.#byIndex.set(index, call);
    if (id !== '') this.#byId.set(id, call);
    return call;
  }
}

const calledIn = ({ function: called, custom }: JsonObject): JsonObject =>
  isObject(called) ? called : objectIn(custom);

const insideOfString = (text: JsonValue | undefined): string =>
  typeof text === 'string' ? JSON.stringify(text).slice(1, -1) : '';

/** Gives a forwarded piece the place and the id by which clients join it. True if it changed. */
export function mendPiece(piece: JsonObject, { place, unique }: Readonly<Call>): boolean {
  if (place < 0) return false;
  const misplaced = piece.index !== place;
  piece.index = place;
  const named = hasText(calledIn(piece).name);
  const id = named || hasText(piece.id) ? unique : piece.id;
  return mendCall(piece, id, named ? '' : undefined) || misplaced;
}

/** True for the piece that begins a function's call and has none of its arguments yet. */
export function lacksArguments({ function: called }: JsonObject): boolean {
  return isObject(called) && hasText(called.name) && (called.arguments ?? '') === '';
}

/** Gives a forwarded call its id, and its arguments as the text that clients read: `none` for none. True if it changed. */
export function mendCall(call: JsonObject, id: JsonValue | undefined, none?: string): boolean {
  const called = isObject(call.function) ? call.function : null;
  const given = called?.arguments ?? null;
  const args = isObject(given) ? JSON.stringify(given) : given === null || given === '' ? (none ?? given) : given;
  if (call.id === id && args === given) return false;
  if (id !== undefined) call.id = id;
  if (called !== null && args !== given) called.arguments = args;
  return true;
}

/** Arguments are a string of JSON; some servers send the object itself. */
function argumentsOf({ input, arguments: value = input }: JsonObject): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
