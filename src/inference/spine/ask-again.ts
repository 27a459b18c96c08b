import { isFailure } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import type { PromptMessage } from '../models/prompted-body.ts';
import type { JudgedText } from '../models/steps.ts';
import { BufferedAnswer } from './buffered-answer.ts';
import type { Plan } from './endpoint.ts';
import { admittedBefore, type ModelCall } from './model-call.ts';
import type { RequestBody } from './request-body.ts';
import { type DerivedRun, runDerived } from './run-derived.ts';

/**
 * Asks the model of a conversation once more, with `turns` after it. It is a call of its caller with a separate row,
 * which names the first one. Null: there is no answer, or it uses tools of this server. Never rejects.
 */
export async function askAgain<I, R extends RequestBody, P extends Plan>(
  run: DerivedRun<I, R, P>,
  callers: ModelCall,
  input: I,
  turns: readonly PromptMessage[],
): Promise<string | null> {
  const { endpoint, services } = run;
  const addition = { messages: [], after: turns, parameters: {}, over: false, model: null };
  const added = await endpoint.addable?.(callers, input).with(addition);
  if (added === undefined || isFailure(added)) return null;
  const client = new BufferedAnswer();
  callers.client.onDisconnect(() => client.leave());
  if (callers.client.disconnected) return null;
  const [atMs, startedMs] = [services.clock.wallMs(), services.clock.monotonicMs()];
  const { timeoutMs } = callers.preferences;
  const left = timeoutMs === null ? null : Math.max(1, timeoutMs - (startedMs - callers.startedMs));
  let text = '';
  const judge = async (texts: readonly JudgedText[]) => {
    text = answerIn(texts);
    return texts.map((one) => one.text);
  };
  const { keeping: _, answerTexts: __, stepHeaders: ___, cacheUse: ____, ...rest } = callers;
  const call: ModelCall = {
    ...rest,
    requestId: newRequestId(atMs),
    clientRequestId: callers.requestId,
    admitted: { ...admittedBefore },
    delivery: client,
    client,
    sink: client,
    atMs,
    startedMs,
    preferences: { ...callers.preferences, timeoutMs: left },
    idempotencyKey: null,
    trace: null,
    gate: { request: null, judge, whole: true },
  };
  try {
    await runDerived(run, call, added, (request) => (endpoint.keeps?.(request) ?? null) !== null);
  } catch {
    return null;
  }
  const { outcome } = client;
  return outcome?.kind === 'answered' && outcome.status === 200 && text !== '' ? text : null;
}

/** The answer's text, without its reasoning and its sources. */
export function answerIn(texts: readonly JudgedText[], choice = 0): string {
  const answerTexts = texts.filter((one) => one.choice === choice && one.kind === 'assistant' && one.isBeside !== true);
  return answerTexts.map(({ text }) => text).join('');
}
