import type { Failure } from '../../kernel/failure.ts';
import type { Reservation } from '../../metering/admission.ts';
import type { Caller } from './caller.ts';
import type { ConversationBody } from './conversation-body.ts';
import { type EmbeddingWay, embeddingJob } from './embed.ts';
import { embeddingBody } from './embedding-body.ts';
import type { JobProgress } from './job.ts';
import type { ModelCall } from './model-call.ts';
import { runAttempts } from './run-attempts.ts';
import type { Services, Snapshot } from './services.ts';
import { WholeCaller } from './whole-caller.ts';

/** Texts that become vectors for another endpoint than `/v1/embeddings`. */
export interface TextsToEmbed {
  /** Alias. */
  model: string;
  purpose: 'document' | 'query';
  texts: readonly string[];
}

/** One vector for each text. */
export interface EmbeddedTexts {
  /** Length of each. */
  size: number;
  /** Row after row, in the order of the texts. */
  vectors: Float32Array<ArrayBuffer>;
}

/** For whom: what every admitted request knows of itself. */
export type TextsCall = Pick<
  ModelCall,
  'requestId' | 'clientRequestId' | 'principal' | 'admitted' | 'atMs' | 'startedMs'
> & {
  /** Whose leaving ends the work. */
  caller?: Pick<Caller, 'gone' | 'onGone'>;
};

/** Texts in the form of a request, for `embeddingWay` and `embedTexts`. */
export function textsBody({ model, purpose, texts }: TextsToEmbed): ConversationBody {
  return embeddingBody({
    model,
    inputs: { kind: 'texts', texts },
    dimensions: null,
    inputType: null,
    purpose,
    encoding: 'float',
    answerForm: 'openai',
    user: null,
    extra: {},
  });
}

/**
 * Embeds texts for a call that holds a reservation, by the same routing as `/v1/embeddings`. The reservation stays open:
 * whoever holds it settles it with `progress`.
 */
export async function embedTexts(
  services: Services,
  snapshot: Snapshot,
  call: TextsCall,
  { body, way, reserved }: { body: ConversationBody; way: EmbeddingWay; reserved: Reservation },
): Promise<{ outcome: EmbeddedTexts | Failure; progress: JobProgress }> {
  const caller = new TextsCaller(call.caller);
  const asked: ModelCall = {
    ...call,
    endpoint: 'embeddings',
    body: Buffer.alloc(0),
    caller,
    callerHeaders: {},
    wishes: { timeoutMs: null, fallback: 'allowed', session: null },
    idempotencyKey: null,
  };
  let vectors: EmbeddedTexts | null = null;
  const job = embeddingJob(services, snapshot, asked, body, way, reserved, 'single', ({ rows, size }) => {
    vectors = { size, vectors: rows as Float32Array<ArrayBuffer> };
  });
  await runAttempts(services, job);
  return { outcome: vectors ?? caller.refused ?? { kind: 'internal' }, progress: job.progress };
}

/** Stands in for the caller of the embedding: what is refused is told to whoever asked. */
class TextsCaller extends WholeCaller {
  readonly committed = false;
  refused: Failure | null = null;
  readonly #caller: TextsCall['caller'];

  constructor(caller: TextsCall['caller']) {
    super();
    this.#caller = caller;
  }

  get gone(): boolean {
    return this.#caller?.gone ?? false;
  }

  onGone(listener: () => void): void {
    this.#caller?.onGone(listener);
  }

  answer(): void {}

  refuse(failure: Failure): void {
    this.refused = failure;
  }
}
