import type { Caller } from '../../api/caller.ts';
import { ApiError, send } from '../../api/request.ts';
import { recordOf } from '../../api/request-record.ts';
import { serverEvents } from '../../api/server-events.ts';
import { type AssistantTurn, afterStep, type Ending, type Json, newAnswer } from './conversation.ts';
import type { Format } from './formats/format.ts';

/** The page is drawn anew so often at most while an answer comes. */
const drawEveryMs = 50;

interface Run {
  format: Format;
  caller: Caller;
  body: Json;
  signal: AbortSignal;
  /** Called with the answer so far, and a moment after its end once more with its cost. */
  onAnswer: (answer: AssistantTurn) => void;
}

/** One call and its answer. Resolves at the end of the answer, however it ends; received parts are kept. */
export async function runAnswer({ format, caller, body, signal, onAnswer }: Run): Promise<void> {
  let answer = newAnswer(Date.now());
  let drawing: ReturnType<typeof setTimeout> | null = null;
  const draw = () => {
    drawing = null;
    onAnswer(answer);
  };
  onAnswer(answer);
  try {
    const response = await send('POST', format.path, { body, headers: caller.headers, signal });
    const header = (name: string) => response.headers.get(name);
    const requestId = header('x-culvert-request-id');
    const facts = { requestId, provider: header('x-culvert-provider'), dropped: header('x-culvert-dropped') };
    answer = { ...answer, facts: { ...answer.facts, ...facts } };
    for await (const { data } of serverEvents(response)) {
      const event = data === '[DONE]' ? null : parsed(data);
      if (event === undefined) continue;
      for (const step of format.read(event)) answer = afterStep(answer, step, Date.now());
      drawing ??= setTimeout(draw, drawEveryMs);
    }
    if (answer.ending === null) answer = { ...answer, ending: { kind: 'cut' } };
  } catch (error) {
    answer = {
      ...answer,
      ending: answer.ending ?? endingOf(error, { begun: answer.facts.requestId !== null, signal }),
    };
  }
  if (drawing !== null) clearTimeout(drawing);
  answer = { ...answer, facts: { ...answer.facts, ms: Date.now() - answer.facts.startedMs } };
  onAnswer(answer);
  void addCost(answer, caller, onAnswer);
}

function endingOf(error: unknown, { begun, signal }: { begun: boolean; signal: AbortSignal }): Ending {
  if (signal.aborted) return { kind: 'stopped' };
  if (begun && !(error instanceof ApiError)) return { kind: 'cut' };
  return { kind: 'failed', message: (error as Error).message };
}

function parsed(data: string): Json | undefined {
  try {
    return JSON.parse(data) as Json;
  } catch {
    return undefined;
  }
}

async function addCost(answer: AssistantTurn, caller: Caller, onAnswer: Run['onAnswer']): Promise<void> {
  const { requestId, inputTokens, outputTokens, dropped } = answer.facts;
  if (requestId === null) return;
  const record = await recordOf(requestId, caller);
  if (record === null) return;
  const { usage, cost_usd: costUsd, route } = record;
  onAnswer({
    ...answer,
    facts: {
      ...answer.facts,
      costUsd,
      inputTokens: inputTokens ?? usage.input_tokens ?? null,
      outputTokens: outputTokens ?? usage.output_tokens ?? null,
      dropped: dropped ?? (route?.losses?.map(({ field }) => field).join(', ') || null),
    },
  });
}
