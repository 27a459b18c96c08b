import { setImmediate as nextTurn } from 'node:timers/promises';
import { newRequestId } from '../../kernel/ids.ts';
import { Unopenable } from '../../kernel/unopenable.ts';
import { readBatchLine } from './batch-line.ts';
import { type BatchRun, resultContext } from './batch-parts.ts';
import { resultLine } from './line-result.ts';
import { linesOf } from './lines-of.ts';
import type { StoredFile } from './stored-files.ts';
import { lineBytesMax } from './upstream/upstream-client.ts';

/** Purposes of files that batches make. */
const outputPurpose = 'batch_output';
export const resultsPurpose = 'message_batch';

const resultsAtOnce = 32;

export type Which = 'succeeded' | 'errored' | 'all';

interface Results {
  which: Which;
  /** At the end of the file's name. */
  name: string;
  gaps: Gaps;
}

/** Lines that were never asked, and why; null: the results tell of those alone that were answered. */
export type Gaps = { why: 'cancelled' | 'expired'; input: StoredFile } | null;

/** Writes a file of results, and gives its id. */
export async function writeResults(run: BatchRun, results: Results): Promise<string> {
  const { batch, files } = run;
  const file = {
    purpose: batch.format === 'anthropic' ? resultsPurpose : outputPurpose,
    name: `${batch.id}_${results.name}.jsonl`,
    lifetimeMs: batch.outputKeptForMs,
  };
  const { id } = await files.write(batch.tenant, file, resultsOf(run, results));
  return id;
}

/** In the order of the lines. */
async function* resultsOf(run: BatchRun, { which, gaps }: Results): AsyncGenerator<Buffer> {
  const { batch, files, clock } = run;
  const isIncluded = (state: 'succeeded' | 'errored') => which === 'all' || which === state;
  const answered = answeredLines(run);
  if (gaps === null || which === 'succeeded') {
    for await (const { state, text } of answered) if (isIncluded(state)) yield text;
    return;
  }
  let next = await answered.next();
  let seq = 0;
  for await (const bytes of linesOf(files.read(gaps.input), lineBytesMax)) {
    seq += 1;
    if (!next.done && next.value.seq === seq) {
      if (isIncluded(next.value.state)) yield next.value.text;
      next = await answered.next();
      continue;
    }
    const { customId } = readBatchLine(batch, bytes);
    const context = { requestId: newRequestId(clock.wallMs()), nowMs: clock.wallMs() };
    yield Buffer.from(`${resultLine(batch.format, customId, { kind: 'unasked', why: gaps.why }, context).text}\n`);
  }
}

async function* answeredLines({ batch, store, sealer }: BatchRun) {
  for (let after = 0; ; ) {
    const rows = await store.results(batch.id, after, resultsAtOnce);
    for (const { seq, state, result } of rows) {
      const text = sealer.open(result, resultContext(batch, seq));
      if (text === null) throw new Unopenable(`An answer of the batch '${batch.id}'`);
      yield { seq, state, text: Buffer.concat([text, lineEnd]) };
      after = seq;
    }
    if (rows.length < resultsAtOnce) return;
    await nextTurn();
  }
}

const lineEnd = Buffer.from('\n');
