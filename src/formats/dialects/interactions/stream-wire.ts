import { isObject, type JsonObject, listIn, objectsIn, parsedData } from '../../../kernel/json.ts';
import type { SseEvent, StreamWire } from '../dialect.ts';
import { callOf, citationOf, headOf, signatureOf, statusOf, stepsOf, usageOf } from './from-response.ts';

/** A stream of Responses as one of Interactions, behind the event of that id: state of one stream. */
export function interactionWire(afterId = 0): StreamWire {
  const steps = new Steps(afterId);
  return {
    type: 'text/event-stream; charset=utf-8',
    frameOf: (event) => steps.frameOf(event),
    end: () => 'event: done\ndata: [DONE]\n\n',
  };
}

class Steps {
  readonly #afterId: number;
  #frames = '';
  #eventId = 0;
  /** Steps so far: an item may be two, or none. */
  #count = 0;
  /** Place of the step of each item that grows, by its place in the output. */
  readonly #places = new Map<unknown, number>();
  readonly #calls: JsonObject[] = [];

  constructor(afterId: number) {
    this.#afterId = afterId;
  }

  frameOf({ event, data }: SseEvent): Buffer | null {
    const parsed = parsedData(data);
    if (parsed === null) return null;
    // An error of this gateway is in the caller's format already.
    if (parsed.event_type === 'error') return Buffer.from(`event: ${event}\ndata: ${data}\n\n`);
    this.#read(parsed);
    const frames = this.#frames;
    this.#frames = '';
    return frames === '' ? null : Buffer.from(frames);
  }

  #read(event: JsonObject): void {
    const { item, response, output_index: index, delta } = event;
    switch (event.type) {
      case 'response.created':
        if (isObject(response)) this.#put('interaction.created', { interaction: headOf(response, 'in_progress') });
        return;
      case 'response.in_progress':
        if (isObject(response))
          this.#put('interaction.status_update', { interaction_id: response.id ?? null, status: 'in_progress' });
        return;
      case 'response.output_item.added':
        if (isObject(item)) this.#begin(index, item);
        return;
      case 'response.output_item.done':
        if (isObject(item)) this.#end(index, item);
        return;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#delta(index, { type: 'text', text: delta ?? '' });
      case 'response.output_text.annotation.added': {
        const citation = citationOf(event.annotation);
        if (citation !== null) this.#delta(index, { type: 'text_annotation_delta', annotations: [citation] });
        return;
      }
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#delta(index, { type: 'thought_summary', content: { type: 'text', text: delta ?? '' } });
      case 'response.function_call_arguments.delta':
        return this.#delta(index, { type: 'arguments_delta', arguments: delta ?? '' });
      case 'response.completed':
      case 'response.incomplete':
      case 'response.cancelled':
        if (isObject(response)) this.#finish(response);
        return;
      case 'response.failed':
        if (isObject(response) && isObject(response.error)) {
          if (this.#eventId === 0) this.#takeUp(response);
          const { code, message } = response.error;
          this.#put('error', { error: { code: code ?? null, message: message ?? null } });
        }
    }
  }

  #begin(index: unknown, item: JsonObject): void {
    const step =
      item.type === 'message'
        ? { type: 'model_output' }
        : item.type === 'reasoning'
          ? { type: 'thought' }
          : item.type === 'function_call'
            ? callOf(item)
            : null;
    // Others come whole, once they are done.
    if (step === null) return;
    this.#places.set(index, this.#count);
    this.#put('step.start', { index: this.#count++, step });
  }

  #end(index: unknown, item: JsonObject): void {
    if (item.type === 'function_call') this.#calls.push(item);
    const place = this.#places.get(index);
    if (place !== undefined) {
      const signature = item.type === 'reasoning' ? signatureOf(item) : {};
      if ('signature' in signature) this.#delta(index, { type: 'thought_signature', ...signature });
      this.#put('step.stop', { index: place });
      return;
    }
    for (const step of stepsOf(item)) {
      this.#put('step.start', { index: this.#count, step });
      this.#put('step.stop', { index: this.#count++ });
    }
  }

  #delta(index: unknown, delta: JsonObject): void {
    const place = this.#places.get(index);
    if (place !== undefined) this.#put('step.delta', { index: place, delta });
  }

  #finish(response: JsonObject): void {
    if (this.#eventId === 0) this.#takeUp(response);
    const usage = isObject(response.usage) ? { usage: usageOf(response.usage) } : {};
    const interaction = { ...headOf(response, statusOf(response, this.#calls)), ...usage };
    this.#put('interaction.completed', { interaction });
  }

  /** Only the end was kept: who has nothing yet gets each step in one piece, and others the end. */
  #takeUp(response: JsonObject): void {
    this.#eventId = this.#afterId;
    if (this.#afterId > 0) return;
    this.#put('interaction.created', { interaction: headOf(response, 'in_progress') });
    for (const [output_index, item] of objectsIn(response.output).entries()) {
      const read = (event: JsonObject) => this.#read({ output_index, item, ...event });
      read({ type: 'response.output_item.added' });
      for (const { text, refusal, annotations } of item.type === 'message' ? objectsIn(item.content) : []) {
        read({ type: 'response.output_text.delta', delta: text ?? refusal ?? '' });
        for (const annotation of listIn(annotations))
          read({ type: 'response.output_text.annotation.added', annotation });
      }
      for (const { text } of objectsIn(item.summary)) {
        read({ type: 'response.reasoning_summary_text.delta', delta: text ?? '' });
      }
      if (item.type === 'function_call')
        read({ type: 'response.function_call_arguments.delta', delta: item.arguments ?? '' });
      read({ type: 'response.output_item.done' });
    }
  }

  #put(type: string, members: JsonObject): void {
    this.#eventId += 1;
    if (this.#eventId <= this.#afterId) return;
    const data = JSON.stringify({ event_type: type, event_id: String(this.#eventId), ...members });
    this.#frames += `event: ${type}\ndata: ${data}\n\n`;
  }
}
