import { useCallback, useEffect, useRef, useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { newId } from '../../parts/new-id.ts';
import { keep, storedOr } from '../../parts/stored/use-stored.ts';
import { type AssistantTurn, moreOf, type Picture, type Settings, type Turn, toolsOf } from './conversation.ts';
import type { Format } from './formats/format.ts';
import { runAnswer } from './run-answer.ts';

/** One model with its side of the conversation. */
export interface Lane {
  id: string;
  model: string;
  turns: readonly Turn[];
}

/** Side by side there is no room for more. */
export const lanesMax = 4;

const storageName = 'playground.lanes';

export interface Lanes {
  lanes: readonly Lane[];
  /** Ids of those whose answer comes. */
  running: ReadonlySet<string>;
  /** Throws a FieldFault, before anything is sent. */
  send: (text: string, pictures: readonly Picture[]) => void;
  stop: () => void;
  setModel: (id: string, model: string) => void;
  add: (model: string) => void;
  remove: (id: string) => void;
  /** The result of a tool; once the last one is there, the conversation goes on. */
  answerTool: (id: string, turnId: string, place: number, result: string) => void;
  /** Requests the last answer again. */
  again: (id: string) => void;
  /** Takes the turns from this one on away in every lane. */
  cutFrom: (turnId: string) => void;
  clear: () => void;
  /** Begins anew, with this model alone. */
  restart: (model: string) => void;
}

export function useLanes(caller: Caller | null | undefined, format: Format, settings: Settings): Lanes {
  const [lanes, setLanes] = useState<readonly Lane[]>(() => settled(storedOr<Lane[]>(storageName, [], 'session')));
  const [running, setRunning] = useState<ReadonlySet<string>>(new Set());
  const aborts = useRef(new Map<string, AbortController>());

  useEffect(() => {
    if (running.size === 0) keep(storageName, lanes, 'session');
  }, [lanes, running]);
  useEffect(() => {
    const all = aborts.current;
    return () => {
      for (const abort of all.values()) abort.abort();
    };
  }, []);

  const change = useCallback(
    (id: string, turns: (turns: readonly Turn[]) => readonly Turn[]) =>
      setLanes((before) => before.map((lane) => (lane.id === id ? { ...lane, turns: turns(lane.turns) } : lane))),
    [],
  );

  const ask = (lane: Lane, turns: readonly Turn[]) => {
    if (caller == null) return;
    const body = format.body(lane.model, turns.filter(hasText), settings);
    const abort = new AbortController();
    aborts.current.set(lane.id, abort);
    setRunning((before) => new Set(before).add(lane.id));
    change(lane.id, () => turns);
    const onAnswer = (answer: AssistantTurn) => change(lane.id, (before) => withAnswer(before, answer));
    void runAnswer({ format, caller, body, signal: abort.signal, onAnswer }).finally(() => {
      if (aborts.current.get(lane.id) === abort) aborts.current.delete(lane.id);
      setRunning((before) => new Set([...before].filter((id) => id !== lane.id)));
    });
  };

  return {
    lanes,
    running,
    send(text, pictures) {
      checkSettings(settings);
      const turn: Turn = { role: 'user', id: newId(), text, pictures };
      for (const lane of lanes) ask(lane, [...lane.turns, turn]);
    },
    stop() {
      for (const abort of aborts.current.values()) abort.abort();
    },
    setModel: (id, model) => setLanes((before) => before.map((lane) => (lane.id === id ? { ...lane, model } : lane))),
    add(model) {
      setLanes((before) => (before.length >= lanesMax ? before : [...before, { id: newId(), model, turns: [] }]));
    },
    remove(id) {
      aborts.current.get(id)?.abort();
      setLanes((before) => before.filter((lane) => lane.id !== id));
    },
    answerTool(id, turnId, place, result) {
      const lane = lanes.find((one) => one.id === id);
      if (lane === undefined) return;
      const turns = lane.turns.map((turn) =>
        turn.id !== turnId || turn.role !== 'assistant'
          ? turn
          : { ...turn, calls: turn.calls.map((call) => (call.place === place ? { ...call, result } : call)) },
      );
      const last = turns.at(-1);
      const open = last?.role === 'assistant' && last.calls.some((call) => call.result === null);
      if (open) change(id, () => turns);
      else ask(lane, turns);
    },
    again(id) {
      const lane = lanes.find((one) => one.id === id);
      if (lane !== undefined) ask(lane, withoutLastAnswer(lane.turns));
    },
    cutFrom(turnId) {
      for (const abort of aborts.current.values()) abort.abort();
      setLanes((before) =>
        before.map((lane) => {
          const at = lane.turns.findIndex((turn) => turn.id === turnId);
          return at < 0 ? lane : { ...lane, turns: lane.turns.slice(0, at) };
        }),
      );
    },
    clear() {
      for (const abort of aborts.current.values()) abort.abort();
      setLanes((before) => before.map((lane) => ({ ...lane, turns: [] })));
    },
    restart(model) {
      for (const abort of aborts.current.values()) abort.abort();
      setLanes([{ id: newId(), model, turns: [] }]);
    },
  };
}

/** Local faults appear at their fields; `Format.body` finds the rest. */
function checkSettings({ tools, more }: Settings): void {
  if (tools !== '') toolsOf(tools);
  if (more !== '') moreOf(more);
}

/** An answer in which nothing came is not sent to the model. */
function hasText(turn: Turn): boolean {
  return turn.role === 'user' || turn.text !== '' || turn.calls.length > 0;
}

function withAnswer(turns: readonly Turn[], answer: AssistantTurn): readonly Turn[] {
  const at = turns.findIndex(({ id }) => id === answer.id);
  if (at >= 0) return turns.with(at, keepResults(turns[at] as AssistantTurn, answer));
  // A conversation that was cleared meanwhile takes no cost of before.
  return answer.ending !== null && answer.facts.ms !== null ? turns : [...turns, answer];
}

/** The cost comes when a tool's result may be there already. */
function keepResults(before: AssistantTurn, answer: AssistantTurn): AssistantTurn {
  if (before.ending === null) return answer;
  return { ...before, facts: answer.facts };
}

function withoutLastAnswer(turns: readonly Turn[]): readonly Turn[] {
  return turns.at(-1)?.role === 'assistant' ? turns.slice(0, -1) : turns;
}

/** An answer that came while the page was left will not go on. */
function settled(lanes: readonly Lane[]): readonly Lane[] {
  return lanes.map((lane) => ({
    ...lane,
    turns: lane.turns.map((turn) =>
      turn.role === 'assistant' && turn.ending === null ? { ...turn, ending: { kind: 'stopped' } as const } : turn,
    ),
  }));
}
