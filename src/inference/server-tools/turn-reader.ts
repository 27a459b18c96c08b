import type { FinishReason, NeutralEvent } from '../../formats/neutral/event.ts';
import type { NeutralPart } from '../../formats/neutral/request.ts';
import type { Usage } from '../../formats/neutral/usage.ts';

/** A call of a function of the gateway's, as the model made it. */
export interface TurnCall {
  id: string;
  name: string;
  argumentsJson: string;
}

/** Reads one turn of a model: what the caller may see, the calls to run, and the turn as the model gets it back. */
export class TurnReader {
  readonly calls: TurnCall[] = [];
  /** Calls of the caller's own functions. */
  callersCalls = 0;
  usage: Usage | null = null;
  reason: FinishReason | null = null;
  finish: Extract<NeutralEvent, { type: 'finish' }> | null = null;
  readonly #parts: NeutralPart[] = [];
  readonly #isOurs: (name: string) => boolean;
  /** Index of the turn's first call among all that the caller sees. */
  readonly #firstCall: number;
  /** By the upstream's index: ours, or the index that the caller sees. */
  readonly #byIndex = new Map<number, { ours: TurnCall } | { shown: number }>();
  readonly #partOfCall = new Map<number, Extract<NeutralPart, { type: 'tool-call' }>>();

  constructor(isOurs: (name: string) => boolean, firstCall: number) {
    this.#isOurs = isOurs;
    this.#firstCall = firstCall;
  }

  /** The turn, for the next request. */
  get parts(): readonly NeutralPart[] {
    return this.#parts.map((part) =>
      part.type === 'tool-call' && part.argumentsJson.trim() === '' ? { ...part, argumentsJson: '{}' } : part,
    );
  }

  /** The event as the caller may see it; null: not at all, or not yet. */
  read(event: NeutralEvent): NeutralEvent | null {
    this.#gather(event);
    switch (event.type) {
      case 'tool-call-start': {
        if (this.#isOurs(event.name)) {
          const ours: TurnCall = { id: this.#idOf(event), name: event.name, argumentsJson: '' };
          this.calls.push(ours);
          this.#byIndex.set(event.call, { ours });
          return null;
        }
        const shown = this.#firstCall + this.callersCalls;
        this.callersCalls += 1;
        this.#byIndex.set(event.call, { shown });
        return { ...event, call: shown };
      }
      case 'tool-call-delta': {
        const call = this.#byIndex.get(event.call);
        if (call === undefined) return null;
        if ('shown' in call) return { ...event, call: call.shown };
        call.ours.argumentsJson += event.argumentsJson;
        return null;
      }
      case 'usage':
        this.usage = event.usage;
        return null;
      case 'finish':
        this.finish ??= event;
        this.reason ??= event.reason;
        return null;
      case 'end':
      case 'failed':
        return null;
      default:
        return event;
    }
  }

  /** Results are joined to calls by it, and some servers leave it out. */
  #idOf({ id, call }: Extract<NeutralEvent, { type: 'tool-call-start' }>): string {
    return id === '' ? `call_${this.#firstCall}_${call}` : id;
  }

  #gather(event: NeutralEvent): void {
    const last = this.#parts.at(-1);
    switch (event.type) {
      case 'text-delta':
        if (last?.type === 'text') last.text += event.text;
        else if (event.text !== '') this.#parts.push({ type: 'text', text: event.text });
        return;
      case 'reasoning-delta':
        if (last?.type === 'reasoning' && last.signature === undefined) last.text += event.text;
        else if (event.text !== '') this.#parts.push({ type: 'reasoning', text: event.text });
        return;
      case 'reasoning-signature': {
        const { signature, vendor } = event;
        if (last?.type === 'reasoning' && last.signature === undefined) Object.assign(last, { signature, vendor });
        else this.#parts.push({ type: 'reasoning', text: '', signature, vendor });
        return;
      }
      case 'redacted-reasoning':
        this.#parts.push({ type: 'redacted-reasoning', data: event.data, vendor: event.vendor });
        return;
      case 'tool-call-start': {
        const { name, signature, vendor, custom } = event;
        const id = this.#idOf(event);
        const proof = signature === undefined || vendor === undefined ? {} : { signature, vendor };
        const part = { type: 'tool-call' as const, id, name, argumentsJson: '', ...proof, ...(custom && { custom }) };
        this.#partOfCall.set(event.call, part);
        this.#parts.push(part);
        return;
      }
      case 'tool-call-delta': {
        const part = this.#partOfCall.get(event.call);
        if (part !== undefined) part.argumentsJson += event.argumentsJson;
      }
    }
  }
}
