import type { Version } from '../../../formats/dialects/ai-sdk/wire.ts';
import { lossHeaderName } from '../../../formats/neutral/loss.ts';
import type { AnswerForm, Bytes, Delivery, HeaderList, Pace } from '../../../inference/spine/sink.ts';
import { PassedDelivery } from '../passed-delivery.ts';

/** Warnings as answers of language models have them before they are filled in. */
const none = '"warnings":[]';

/**
 * The caller of a language model, who reads the fields that were left out in `warnings` of the answer: applications of
 * the AI SDK see no header of a stream. A refusal has none.
 */
export class WarnedDelivery extends PassedDelivery {
  readonly #version: Version;
  #form: AnswerForm = 'whole';
  /** Warnings that wait for their place; null: there are none, or they are written. */
  #warnings: string | null = null;

  constructor(next: Delivery, version: Version) {
    super(next);
    this.#version = version;
  }

  override start(form: AnswerForm, headers: HeaderList, status?: number): void {
    const at = headers.indexOf(lossHeaderName);
    this.#form = form;
    if (at !== -1) this.#warnings = warningsOf((headers[at + 1] ?? '').split(', '), this.#version);
    this.next.start(form, headers, status);
  }

  override chunk(chunk: Bytes): Pace {
    if (this.#warnings === null) return this.next.chunk(chunk);
    const text = typeof chunk === 'string' ? chunk : chunk.toString('utf8');
    // They are in the first part of a stream, and behind the content of a whole answer.
    const at = this.#form === 'whole' ? text.lastIndexOf(none) : text.indexOf(none);
    if (at === -1) return this.next.chunk(chunk);
    const filled = `${text.slice(0, at)}"warnings":${this.#warnings}${text.slice(at + none.length)}`;
    this.#warnings = null;
    return this.next.chunk(filled);
  }
}

function warningsOf(lost: readonly string[], version: Version): string {
  return JSON.stringify(
    lost.map((field) =>
      version === 2 ? { type: 'unsupported-setting', setting: field } : { type: 'unsupported', feature: field },
    ),
  );
}
