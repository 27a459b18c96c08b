import os from 'node:os';
import { createEmbedder } from './embed-locally.ts';
import type { FromHost, ToHost } from './host-messages.ts';
import { type EngineLoad, loadTransformers, type Transformers } from './load-transformers.ts';
import { createKokoro } from './speak-kokoro.ts';
import { createWhisper } from './transcribe-whisper.ts';

/** One order after another, since a model uses all cores for each; the gateway sends the next when one is answered. */
type Work = (order: never) => Promise<unknown>;

const makers: Readonly<Record<EngineLoad['extra'], (transformers: Transformers, load: EngineLoad) => Promise<Work>>> = {
  embeddings: createEmbedder,
  speech: createKokoro,
  transcription: createWhisper,
};

let work: Promise<Work> | null = null;

// The gateway died, so nobody is left to work for.
process.on('disconnect', () => process.exit());

process.on('message', (message: ToHost) => {
  if (message.kind === 'load') {
    behindTheGateway();
    const load = message.load as EngineLoad;
    work = loadTransformers(load).then((transformers) => makers[load.extra](transformers, load));
    work.then(
      () => send({ kind: 'loaded' }),
      (error: unknown) =>
        send({ kind: 'not-loaded', message: `${load.model} could not be loaded: ${messageOf(error)}` }),
    );
    return;
  }
  const { id, order } = message;
  work
    ?.then((run) => run(order as never))
    .then(
      (answer) => send({ kind: 'done', id, answer }),
      (error: unknown) => send({ kind: 'failed', id, message: messageOf(error) }),
    );
});

function send(message: FromHost): void {
  process.send?.(message);
}

/** The gateway's own work goes first. */
function behindTheGateway(): void {
  try {
    os.setPriority(5);
  } catch {
    // Without the right to lower its priority, it runs at the same one.
  }
}

function messageOf(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  return line.slice(0, 500);
}
