import { useCallback, useEffect, useRef, useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { send } from '../../api/request.ts';
import { type RequestRecord, recordOf } from '../../api/request-record.ts';

/** Facts of a call in addition to its answer. */
export interface CallFacts {
  ms: number;
  requestId: string | null;
  provider: string | null;
  dropped: string | null;
  /** Units of its plan's windows; null when no header said so. */
  units: number | null;
  /** A moment later; null where the books said nothing. */
  record: RequestRecord | null;
}

export interface CallState<Answer> {
  running: boolean;
  answer: Answer | null;
  error: Error | null;
  facts: CallFacts | null;
  /** The answer before stays until the next one is there. `bodyOf` may throw a FieldFault: nothing is sent then. */
  run: (path: string, bodyOf: () => unknown) => void;
  stop: () => void;
}

/** Escape stops what runs. */
export function useStopKey(running: boolean, stop: () => void): void {
  useEffect(() => {
    if (!running) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') stop();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [running, stop]);
}

/** One call at a time, with its time and cost. `read` turns the response into the shown result. */
export function useCall<Answer>(caller: Caller, read: (response: Response) => Promise<Answer>): CallState<Answer> {
  const [state, setState] = useState<Pick<CallState<Answer>, 'running' | 'answer' | 'error' | 'facts'>>({
    running: false,
    answer: null,
    error: null,
    facts: null,
  });
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const stop = useCallback(() => abort.current?.abort(), []);
  const run = async (path: string, bodyOf: () => unknown) => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    const startedMs = Date.now();
    setState((before) => ({ ...before, running: true, error: null }));
    try {
      const body = bodyOf();
      const response = await send('POST', path, { body, headers: caller.headers, signal: controller.signal });
      const answer = await read(response);
      const header = (name: string) => response.headers.get(name);
      const facts: CallFacts = {
        ms: Date.now() - startedMs,
        requestId: header('x-culvert-request-id'),
        provider: header('x-culvert-provider'),
        dropped: header('x-culvert-dropped'),
        units: unitsOf(header('x-culvert-cost')),
        record: null,
      };
      setState({ running: false, answer, error: null, facts });
      if (facts.requestId === null) return;
      const record = await recordOf(facts.requestId, caller);
      setState((before) =>
        before.facts?.requestId === facts.requestId ? { ...before, facts: { ...facts, record } } : before,
      );
    } catch (error) {
      if (abort.current !== controller) return;
      setState((before) => ({ ...before, running: false, error: controller.signal.aborted ? null : (error as Error) }));
    }
  };
  return { ...state, run: (path, bodyOf) => void run(path, bodyOf), stop };
}

function unitsOf(text: string | null): number | null {
  const units = Number(text ?? Number.NaN);
  return Number.isFinite(units) ? units : null;
}
